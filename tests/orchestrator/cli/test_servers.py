"""`wm verify --url` finds out how a server is asked, with controls only; imitations of such servers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.imitations import SERVERS, Imitation, Served, crashing
from wm.forest import Forest


@pytest.fixture
def served(model):
    header = model.read.header
    return Served(Forest.load(model.forest).vote_shares, header.feature_names, header.class_names)


@pytest.fixture
def ask(wm, model):
    def call(url, *options):
        return wm("verify", model.claim, "--url", url, "--controls", 300, *model.judge, *options, "--json")

    return call


@pytest.mark.parametrize("name", SERVERS)
def test_a_copy_behind_any_server_is_judged_by_its_address(model, served, ask, name):
    answer, path, format_name, kind = SERVERS[name]
    with Imitation(served, answer, path) as server:
        ran = ask(server.url, "--transcript", "transcript.txt")
        sent = server.requests
    verdict = ran.json()
    assert (ran.code, ran.err) == ({"probabilities": 0, "labels": 1}[kind], "")
    assert f"asked in format {format_name}, answered by {kind}" in verdict["notes"]
    assert f"format {format_name}, asked 312 rows" in Path("transcript.txt").read_text()
    assert "treeproof" not in json.dumps(sent)


@pytest.mark.parametrize("name", SERVERS)
def test_no_secret_row_is_sent_before_the_format_is_found(model, served, ask, name):
    answer, path, _, _ = SERVERS[name]
    with Imitation(served, answer, path) as server:
        ask(server.url, "--batch-size", 50)
        documents = [json.dumps(document) for _, _, document in server.requests]
    secret = model.sample.X[model.sample.is_trigger].astype(float).tolist()
    shows = [any(all(repr(value) in text for value in row) for row in secret) for text in documents]
    first = shows.index(True)
    rows = [len(rows) for rows in served.asked]
    assert set(rows[: rows.index(50)]) <= {3}, "probes"
    assert first >= len(documents) - 7, "all batches, and nothing before, hold the questions"


def test_the_rows_of_the_search_are_no_questions(model, served, ask):
    """Who is shown controls first may answer them honestly, and all others with a coin."""
    answer, path, _, _ = SERVERS["kserve v1"]
    with Imitation(served, answer, path) as server:
        ask(server.url, "--controls", 391)
    shown = {row.tobytes() for row in served.asked[0]}
    asked = {row.tobytes() for rows in served.asked[1:] for row in rows}
    assert len(shown) == 3
    assert not shown & asked
    assert len(asked) == 7 + 391 - 3


def test_places_of_rows_and_answers(served, ask):
    with Imitation(served, crashing, "/model") as server:
        line = ask(server.url).refusal()
        assert "understood no format" in line
        ran = ask(server.url, "--json-rows", "payload.rows", "--json-path", "result[*].scores")
        assert ran.code == 0
        assert "asked in format list, answered by probabilities" in ran.json()["notes"]
        assert (
            "has no 'other'"
            in ask(server.url, "--json-rows", "payload.rows", "--json-path", "other").refusal()
        )
        assert "is no place in JSON" in ask(server.url, "--json-path", "a..b").refusal()
        assert "list and records only" in ask(server.url, "--format", "v1", "--json-rows", "a").refusal()


def test_a_claim_with_one_control_cannot_spare_any(wm, model, served):
    opened = ("--key", model.key, "--draw", 7, "--controls", 1, "--challenge", "x", "-o", "opening.json")
    assert wm("open", model.claim, *opened).code == 0
    answer, path, format_name, _ = SERVERS["kserve v1"]
    words = ("verify", "opening.json", "--challenge", "x", "--open", 7, *model.judge)
    with Imitation(served, answer, path) as server:
        assert "no control to spare" in wm(*words, "--url", server.url).err
        assert wm(*words, "--url", server.url, "--format", format_name).code == 5


@pytest.mark.parametrize("options", [("--format", "v2"), ("--json-path", "a"), ("--json-rows", "a")])
def test_options_of_an_address_need_one(wm, model, options):
    ran = wm("verify", model.claim, "--model", model.forest, *options)
    assert (ran.code, ran.out) == (2, "")
    assert "say how to ask a --url" in ran.err


def test_columns_go_by_their_names(model, served, ask):
    """A server of data frames has them in an order of its own."""
    order = np.random.default_rng(0).permutation(len(served.names))
    moved = Served(
        lambda rows: served.shares(rows[:, np.argsort(order)]),
        tuple(served.names[place] for place in order),
        served.classes,
    )
    answer, path, _, _ = SERVERS["seldon v1"]
    with Imitation(moved, answer, path) as server:
        assert ask(server.url).code == 0
