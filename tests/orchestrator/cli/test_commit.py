"""`wm commit`: the public document, and the log of them, that a judge reads later."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest


def test_the_document_is_printed_and_written(wm, model) -> None:
    ran = wm("commit", model.claim, "--at", "2025-06-30", "-o", "commitment.json", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = ran.json()
    assert document == json.loads(Path("commitment.json").read_text())
    assert document["commitment"] == model.content["commitment"]
    assert (document["trigger_size"], document["n_trees"]) == (7, 24)
    assert document["published"] == "2025-06-30T00:00:00+00:00"
    for secret in ("signature", "trigger_set", "nonce"):
        assert secret not in document
    plain = wm("commit", model.claim, "--at", "2025-06-30")
    assert dict(line.split(maxsplit=1) for line in plain.out.splitlines()) == {
        key: str(value) for key, value in document.items()
    }


def test_it_is_dated_now_by_default(wm, model) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    published = datetime.fromisoformat(wm("commit", model.claim, "--json").json()["published"])
    assert before <= published <= datetime.now(UTC)


def test_a_log_grows_line_by_line(wm, model, quick_embed) -> None:
    assert wm(*quick_embed, "--seed", 9, "-o", "second").code == 0
    Path("whole.json").write_text("")
    assert wm("commit", model.claim, "--append", "log.jsonl", "--at", "2025-01-01").code == 0
    log = Path("log.jsonl")
    log.write_text(log.read_text().rstrip("\n"))  # a log whose end an editor has cut
    assert wm("commit", "second/claim.json", "--append", "log.jsonl").code == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["commitment"] for line in lines] == [
        model.content["commitment"],
        json.loads(Path("second/claim.json").read_text())["commitment"],
    ]
    content = log.read_bytes()
    assert (
        "already holds this commitment, of 2025-01-01"
        in wm("commit", model.claim, "--append", "log.jsonl").refusal()
    )
    assert log.read_bytes() == content


def test_nothing_is_replaced(wm, model) -> None:
    Path("commitment.json").write_text("an older one")
    assert (
        "exists already: choose another name" in wm("commit", model.claim, "-o", "commitment.json").refusal()
    )
    assert Path("commitment.json").read_text() == "an older one"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--append", "damaged.jsonl"], "damaged.jsonl: line 1: not a published commitment"),
        (["--append", "missing/log.jsonl"], "cannot be written"),
        (["-o", "missing/commitment.json"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_clear_line(wm, model, arguments: list[str], word: str) -> None:
    Path("damaged.jsonl").write_text("{}\n")
    assert word in wm("commit", model.claim, *arguments).refusal()


def test_other_dates_are_refused(wm, model) -> None:
    ran = wm("commit", model.claim, "--at", "soon")
    assert ran.code == 2
    assert "'soon' is no date" in ran.err
