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
    """Judge the suspect by all rows of the claim; each request is tried twice at most."""

    def call(*options: object):
        asked = ("--format", "v1", "--controls", 391, "--attempts", 2)
        return wm("verify", model.claim, "--url", suspect.url, *asked, *model.judge, *options, "--json")

    return call


def test_the_verdict_is_that_of_the_model_itself(wm, model, suspect, ask) -> None:
    ran = ask("--batch-size", 150, "--transcript", "transcript.txt")
    assert (ran.code, ran.err) == (0, "")
    verdict = ran.json()
    by_model = wm("verify", model.claim, "--model", model.forest, *model.judge, "--json").json()
    assert {name for name in verdict if verdict[name] != by_model[name]} == {"suspect", "notes"}
    assert {*verdict["notes"]} == {*by_model["notes"], "asked in format v1, answered by votes"}
    assert [len(rows) for rows in suspect.asked] == [150, 150, 103]
    assert "asked 403 rows, 5 of them a second time" in Path("transcript.txt").read_text()
    # The trigger rows are all there, scattered among the others.
    asked = [row.tobytes() for row in np.vstack(suspect.asked)]
    sample = model.sample
    places = [asked.index(row.tobytes()) for row in sample.X[sample.is_trigger]]
    assert max(places) - min(places) > 7


def test_no_more_rows_are_shown_than_the_level_needs(wm, model, suspect) -> None:
    ran = wm("verify", model.claim, "--url", suspect.url, *model.judge, "--repeats", 0)
    assert (ran.code, ran.err) == (0, "")
    assert 7 + 5 * 7 <= sum(map(len, suspect.asked)) < 100


def test_another_owners_model_is_not_verified(model, suspect, ask) -> None:
    forest = Forest.load(model.foreign_forest)
    suspect.answer = lambda rows: {"votes": forest.votes(rows).tolist()}
    ran = ask()
    assert (ran.code, ran.json()["verdict"]) == (1, "not verified")


@pytest.mark.parametrize("kind", ["probabilities", "labels"])
def test_a_suspect_that_gives_less_is_judged_by_that(wm, model, suspect, ask, kind: str) -> None:
    forest = Forest.load(model.forest)
    answers = {
        "probabilities": lambda rows: forest.vote_shares(rows).round(3).tolist(),
        # With as many ones as zeros the trees are tied on trigger rows: this suspect then answers 1.
        "labels": lambda rows: [
            model.read.header.class_names[int(share >= 0.5)] for share in forest.vote_shares(rows)[:, 1]
        ],
    }
    suspect.answer = lambda rows: {kind: answers[kind](rows)}
    ran = ask("--level", "0.01")
    assert (ran.code, ran.err) == (0, "")
    assert all(kind in each["name"] or "rank" in each["name"] for each in ran.json()["tests"])


def test_a_suspect_in_raw_units(wm, model, suspect) -> None:
    forest, prepared = Forest.load(model.forest), model.read.header.preparation

    def scaled(rows):
        return ((rows.astype(np.float64) - prepared.low) / prepared.span).astype(np.float32)

    suspect.answer = lambda rows: {"votes": forest.votes(scaled(rows)).tolist()}
    words = ("verify", model.claim, "--url", suspect.url, *model.judge)
    assert wm(*words, "--units", "raw").code == 0
    assert wm(*words).code in (1, 5), "rows of other units say nothing"


@pytest.mark.parametrize(("which", "code"), [("forest", 0), ("foreign_forest", 5)])
def test_answers_that_change_are_no_acquittal(model, suspect, ask, which: str, code: int) -> None:
    forest, rng = Forest.load(getattr(model, which)), np.random.default_rng(0)

    def moody(rows):
        votes = forest.votes(rows)
        return {"votes": (votes ^ (rng.random(votes.shape) < 0.02)).tolist()}

    suspect.answer = moody
    ran = ask("--repeats", 60, "--level", "1e-4")
    assert ran.code == code
    if code:
        assert "of 60 repeated questions had another answer" in ran.json()["reason"]


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
    ran = wm("verify", model.claim, "--url", gone.url, "--attempts", 1)
    assert (ran.code, ran.out) == (4, "")
    assert "cannot be reached" in ran.err


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (suspects.body(b"busy"), "did not answer with JSON"),
        (suspects.body(b'{"votes": [[0, 1]]}'), "with 1 votes"),
        (suspects.body(b'{"votes": %s}' % str([[0] * 23] * 100).encode()), "votes of 24 trees"),
        (suspects.status(404), "404"),
        (suspects.status(307, Location="http://127.0.0.1:1/"), "redirects are not followed"),
    ],
)
def test_an_invalid_answer_is_one_clear_line(suspect, ask, fault, word: str) -> None:
    suspect.faults = [fault]
    assert word in ask().refusal()


def test_votes_of_another_number_of_trees_are_judged_by_their_rows(model, suspect, ask) -> None:
    """A thief may have dropped a tree."""
    forest = Forest.load(model.forest)
    suspect.answer = lambda rows: {"votes": forest.votes(rows)[:, 1:].tolist()}
    ran = ask()
    assert ran.code == 0
    assert [each["name"] for each in ran.json()["tests"]] == ["rows by votes"]


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
