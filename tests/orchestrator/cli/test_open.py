"""`wm open`: some rows are shown, as the judge's challenge draws them, and the others stay secret."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from wm.claims.keys import new_key, to_pem
from wm.claims.opened import challenged_rows
from wm.claims.opened import open_claim as opening_of


@pytest.fixture
def opening(wm, model) -> Path:
    """Three trigger rows and their controls."""
    words = ("--key", model.key, "--draw", 3, "--challenge", "case 17", "-o", "opening.json")
    assert wm("open", model.claim, *words).code == 0
    return Path("opening.json")


def test_challenged_rows_are_opened_judged_and_cannot_be_swapped(wm, model) -> None:
    asked = ("--draw", 3, "--controls", 200, "--challenge", "case 17")
    ran = wm("open", model.claim, "--key", model.key, *asked, "-o", "opening.json", "--json")
    assert (ran.code, ran.err) == (0, "")
    facts, opening = ran.json(), Path("opening.json")
    assert (facts["trigger_size"], facts["opened"]) == (7, 3)
    assert facts["commitment"] == model.content["commitment"]
    assert stat.S_IMODE(opening.stat().st_mode) == 0o600
    content = json.loads(opening.read_text())
    assert len(content["indices"]) == 3 + facts["controls"] == 203
    assert model.content["salt"] not in opening.read_text()
    shown = set(content["indices"])
    assert len(shown & set(model.sample.draw.triggers)) == 3

    judged = ("verify", opening, "--model", model.forest, *model.judge, "--level", "0.001")
    asked = ("--challenge", "case 17", "--open", 3, "--open-controls", 200)
    mine = wm(*judged, *asked, "--json")
    assert (mine.code, mine.json()["verdict"]) == (0, "verified")
    assert mine.json()["tests"][0]["figure"].startswith("72 of 72 votes")
    other = wm("verify", opening, "--model", model.foreign_forest, *model.judge, *asked)
    assert other.code == 1
    unfixed = wm(*judged, *asked[:-2], "--json").json()
    assert any("choice of the number of opened controls" in each for each in unfixed["factors"])
    for words, reason in (
        (("--challenge", "case 18", "--open", 3), "not drawn by your challenge"),
        (("--challenge", "", "--open", 3), "not drawn by your challenge"),
        (("--challenge", "case 17", "--open", 4), "3 trigger rows are opened, 4 were asked for"),
        (("--challenge", "case 17", "--open", 2), "3 trigger rows are opened, 2 were asked for"),
        (("--challenge", "case 17", "--open", 3, "--open-controls", 99), "200 controls are opened, 99 were"),
    ):
        ran = wm(*judged, *words, "--json")
        assert (ran.code, ran.json()["verdict"]) == (5, "indication")
        assert any(reason in each for each in ran.json()["open_questions"])
    for words in ((), ("--challenge", "case 17"), ("--open", 3)):
        ran = wm(*judged, *words)
        assert (ran.code, ran.out) == (2, "")
        assert "an opening needs your --challenge and --open" in ran.err


def test_rows_that_the_owner_picks_are_refused(wm, model) -> None:
    claim = model.read
    drawn = challenged_rows(
        claim.commitment, "case 17", model.sample.draw.triggers, 398, shown=3, controls=20
    )
    others = sorted(set(range(398)) - set(drawn) - set(model.sample.draw.triggers))
    picked = sorted([*drawn[1:], others[0]])
    picked_controls = opening_of(claim, _key(model), "case 17", picked)
    Path("picked.json").write_text(picked_controls.to_json())
    words = ("picked.json", "--model", model.forest, "--challenge", "case 17", "--open", 3)
    assert "they were picked" in wm("verify", *words).refusal()


def _key(model):
    from wm.claims.keys import read_key

    return read_key(model.key)


def test_an_opening_is_asked_by_its_rows(wm, model, opening: Path) -> None:
    ran = wm("queries", opening, "-o", "rows.csv", "--order", "order.json", "--repeats", 0)
    shown = json.loads(opening.read_text())["indices"]
    assert ran.code == 0
    order = json.loads(Path("order.json").read_text())
    assert set(order["asked"]) <= set(shown)
    refusal = wm(
        "open", opening, "--key", model.key, "--draw", 1, "--challenge", "a", "-o", "more.json"
    ).refusal()
    assert "not a whole claim" in refusal


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda opening: opening.update(challenge="case 18"), "not signed by the owner"),
        (lambda opening: opening.update(signature="ab" * 64), "not signed by the owner"),
        (lambda opening: opening["header"]["class_names"].reverse(), "header does not lead"),
        (lambda opening: opening.update(secret="ab" * 32), "secret does not lead"),
        (lambda opening: opening["proofs"].reverse(), "does not lead"),
        (lambda opening: opening["indices"].reverse(), "ascending order"),
        (lambda opening: opening["proofs"].pop(), "proofs for"),
        (lambda opening: opening.update(receipts=[]), "not drawn yet"),
        (lambda opening: opening.update(version=2), "version"),
    ],
)
def test_an_edited_opening_is_refused(wm, model, opening: Path, edit, word: str) -> None:
    content = json.loads(opening.read_text())
    edit(content)
    Path("edited.json").write_text(json.dumps(content))
    judged = ("verify", "edited.json", "--model", model.forest, "--challenge", "case 17", "--open", 3)
    assert word in wm(*judged).refusal()


def test_an_opening_is_not_replaced(wm, model) -> None:
    Path("opening.json").write_text("shown in another dispute")
    words = ("--key", model.key, "--draw", 3, "--challenge", "a", "-o", "opening.json")
    assert "exists already: choose another name" in wm("open", model.claim, *words).refusal()
    assert Path("opening.json").read_text() == "shown in another dispute"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--draw", "8", "--challenge", "a"], "8 trigger rows and"),
        (["--draw", "3", "--controls", "392", "--challenge", "a"], "3 trigger rows and 392 controls"),
        (["--draw", "1", "--challenge", ""], "challenge is empty"),
        (["--draw", "1", "--challenge", "a", "--key", "other.key"], "not the one that the claim names"),
        (["--draw", "1", "--challenge", "a", "--key", "garbage.key"], "garbage.key: holds no private key"),
        (["--draw", "1", "--challenge", "\udcff"], "challenge"),
    ],
)
def test_rows_that_cannot_be_opened(wm, model, words: list[str], reason: str) -> None:
    Path("other.key").write_bytes(to_pem(new_key()))
    Path("garbage.key").write_bytes(b"-----BEGIN")
    key = () if "--key" in words else ("--key", model.key)
    assert reason in wm("open", model.claim, *words, *key, "-o", "opening.json").refusal()
    assert not Path("opening.json").exists()


def test_a_claim_before_its_draw_cannot_be_opened(wm, model) -> None:
    words = ("--key", model.key, "--draw", 3, "--challenge", "a", "-o", "opening.json")
    assert "not drawn yet" in wm("open", model.undrawn, *words).refusal()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--draw", "3"],
        ["--challenge", "a"],
        ["--draw", "0", "--challenge", "a"],
        ["--draw", "3", "--controls", "0", "--challenge", "a"],
        ["--draw", "3", "--challenge", "a", "--level", "0"],
    ],
)
def test_options_that_are_missing_or_impossible(wm, model, words: list[str]) -> None:
    ran = wm("open", model.claim, "--key", model.key, *words, "-o", "opening.json")
    assert (ran.code, ran.out) == (2, "")
    assert not Path("opening.json").exists()


def test_challenges_are_for_openings(wm, model) -> None:
    for words in (("--challenge", "a"), ("--open", 3), ("--open-controls", 3)):
        ran = wm("verify", model.claim, "--model", model.forest, *words)
        assert (ran.code, ran.out) == (2, "")
        assert "are for openings" in ran.err
