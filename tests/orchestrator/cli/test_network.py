"""`wm verify --url`: a suspect behind a real server, honest, broken or sly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests import suspects
from tests.suspects import Suspect
from wm.forest import Forest

WORD = "secret-word"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def suspect(model) -> Iterator[Suspect]:
    forest = Forest.load(model.forest)
    with Suspect(lambda rows: {"votes": forest.votes(rows).tolist()}) as server:
        yield server


@pytest.fixture
def ask(wm, model, suspect):
    """Judge the suspect, its trigger rows hidden; each request is tried twice at most."""

    def call(*options: object):
        hidden = ("--decoys", model.decoys, "--order-seed", 5)
        return wm("verify", model.claim, "--url", suspect.url, *hidden, "--attempts", 2, *options, "--json")

    return call


def test_the_verdict_is_that_of_the_model_itself(wm, model, suspect, ask) -> None:
    ran = ask("--batch-size", 50, "--transcript", "transcript.txt")
    assert (ran.code, ran.err) == (0, "")
    verdict = ran.json()
    by_model = wm("verify", model.claim, "--model", model.forest, "--json").json()
    for name in ("verdict", "matched_bits", "total_bits", "log10_p", "p_value", "errors"):
        assert verdict[name] == by_model[name]
    assert (verdict["decoys"], verdict["asked_twice"], verdict["answered_differently"]) == (140, 5, 0)
    assert [len(rows) for rows in suspect.asked] == [50, 50, 50, 2]
    assert "asked 152 rows in the order of seed 5" in Path("transcript.txt").read_text()
    # The trigger rows are all there, scattered among the others.
    asked = np.vstack(suspect.asked).tolist()
    places = [asked.index(row) for row in np.float32(model.content["trigger_set"]["rows"]).tolist()]
    assert max(places) - min(places) > 7


def test_another_owners_model_is_not_verified(model, suspect, ask) -> None:
    forest = Forest.load(model.foreign_forest)
    suspect.answer = lambda rows: {"votes": forest.votes(rows).tolist()}
    ran = ask()
    assert (ran.code, ran.json()["stopped_by"]) == (1, ["p-value"])


@pytest.mark.parametrize("kind", ["probabilities", "labels"])
def test_a_suspect_that_gives_less_is_judged_by_that(wm, model, suspect, ask, kind: str) -> None:
    forest = Forest.load(model.forest)
    answers = {
        "probabilities": lambda rows: forest.vote_shares(rows).round(3).tolist(),
        # With as many ones as zeros the trees are tied on trigger rows; then this suspect answers class 1.
        "labels": lambda rows: [
            model.content["class_names"][int(share >= 0.5)] for share in forest.vote_shares(rows)[:, 1]
        ],
    }
    suspect.answer = lambda rows: {kind: answers[kind](rows)}
    ran = ask("--level", "0.01")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json()["source"] == kind
    bare = wm("verify", model.claim, "--url", suspect.url)
    assert (bare.code, bare.out) == (2, "")
    assert f"{kind} only: decoys" in bare.err


def test_a_warning_without_decoys(wm, model, suspect) -> None:
    ran = wm("verify", model.claim, "--url", suspect.url, "--json")
    assert ran.code == 0
    assert ran.err.startswith("No --decoys: the suspect may recognize")
    assert ran.json()["decoys"] == 0


def test_answers_that_change_are_reported(model, suspect, ask) -> None:
    forest, rng = Forest.load(model.forest), np.random.default_rng(0)

    def moody(rows):
        votes = forest.votes(rows)
        return {"votes": (votes ^ (rng.random(votes.shape) < 0.01)).tolist()}

    suspect.answer = moody
    ran = ask("--repeats", 60, "--transcript", "transcript.txt")
    differ = ran.json()["answered_differently"]
    assert 0 < differ <= 60
    assert f"60 rows, {differ} with different answers" in Path("transcript.txt").read_text()


def test_a_passing_fault_changes_nothing(suspect, ask) -> None:
    suspect.faults = [suspects.status(503, Retry_After="0")]
    assert ask().code == 0


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (suspects.status(503, Retry_After="0"), "503"),
        (suspects.status(429, Retry_After="9999"), "asks to wait 9999 s"),
        (suspects.stuck, "within 0.2 s"),
    ],
)
def test_a_suspect_that_does_not_answer_is_no_verdict(suspect, ask, fault, word: str) -> None:
    suspect.faults = [fault] * 2
    ran = ask("--request-limit-s", 0.2)
    assert (ran.code, ran.out) == (4, "")
    (line,) = ran.err.splitlines()
    assert line.startswith(f"wm: {suspect.url}: ")
    assert word in line


def test_an_address_without_a_server(wm, model) -> None:
    with Suspect(lambda rows: {}) as gone:
        pass
    ran = wm("verify", model.claim, "--url", gone.url, "--decoys", model.decoys, "--attempts", 1)
    assert (ran.code, ran.out) == (4, "")
    assert "cannot be reached" in ran.err


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (suspects.body(b"busy"), "did not answer with JSON"),
        (suspects.body(b'{"votes": [[0, 1]]}'), "100 instances with 1 votes"),
        (suspects.body(b'{"votes": %s}' % str([[0] * 23] * 100).encode()), "votes of 24 trees"),
        (suspects.status(404), "404"),
        (suspects.status(307, Location="http://127.0.0.1:1/"), "redirects are not followed"),
    ],
)
def test_an_invalid_answer_is_one_clear_line(suspect, ask, fault, word: str) -> None:
    suspect.faults = [fault]
    assert word in ask().refusal()


def test_votes_of_another_number_of_trees_are_refused(suspect, ask) -> None:
    suspect.answer = lambda rows: {"votes": [[0] * 23] * len(rows)}
    assert "votes have 23 trees, the signature has 24 bits" in ask().refusal()


def test_the_token_is_read_from_a_file_or_a_variable(suspect, ask, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token").write_text(f"{WORD}\n")
    ran = ask("--token-file", "token")
    assert ran.code == 0
    assert set(suspect.tokens) == {f"Bearer {WORD}"}
    assert WORD not in ran.out + ran.err
    monkeypatch.setenv("WM_ENDPOINT_TOKEN", "another-word")
    assert ask().code == 0
    assert suspect.tokens[-1] == "Bearer another-word"
    suspect.faults = [suspects.status(401)]
    assert "the token is missing or wrong" in ask().refusal()
    Path("token").write_text("")
    assert "is empty" in ask("--token-file", "token").refusal()


@pytest.mark.parametrize("url", ["", "host", "ftp://host/", "http://user:word@host/", "http://host/ x"])
def test_an_invalid_address_is_refused(wm, model, url: str) -> None:
    assert "address" in wm("verify", model.claim, "--url", url).refusal()
