"""`wm open`: some rows are shown, by the judge's draw or the owner's choice, and the others stay closed."""

from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path

import pytest

from wm.claims.opening import draw_rows


def test_drawn_rows_are_opened_judged_and_cannot_be_swapped(wm, model) -> None:
    ran = wm("open", model.claim, "--draw", 3, "--challenge", "case 17", "-o", "opening.json", "--json")
    assert (ran.code, ran.err) == (0, "")
    facts = ran.json()
    assert (facts["trigger_size"], len(facts["opened"])) == (7, 3)
    assert facts["commitment"] == model.content["commitment"]
    opening = Path("opening.json")
    assert stat.S_IMODE(opening.stat().st_mode) == 0o600
    text = opening.read_text()
    assert model.content["nonce"] not in text
    shown = [each["row"] for each in json.loads(text)["opened"]]
    for index, row in enumerate(model.content["trigger_set"]["rows"]):
        assert (row in shown) == (index in facts["opened"])

    judged = wm("verify", opening, "--model", model.forest, "--challenge", "case 17", "--json")
    assert judged.code == 0
    verdict = judged.json()
    assert (verdict["trigger_size"], verdict["matched_bits"]) == (3, 72)
    assert "choice of rows" not in verdict["open_questions"]
    # The claim's nonce is new each time, and another case may happen to draw the same 3 of 7 rows.
    drawn = sorted(facts["opened"])
    cases = (f"case {number}" for number in itertools.count(18))
    case = next(
        case for case in cases if sorted(draw_rows(facts["commitment"], case.encode(), 7, 3)) != drawn
    )
    other = wm("verify", opening, "--model", model.forest, "--challenge", case, "--json")
    assert other.code == 1
    assert other.json()["stopped_by"] == ["choice of rows"]
    unasked = wm("verify", opening, "--model", model.forest, "--json")
    assert unasked.code == 0
    assert "choice of rows" in unasked.json()["open_questions"]


def test_rows_that_the_owner_picks(wm, model) -> None:
    ran = wm("open", model.claim, "--rows", "5,0,3", "-o", "opening.json")
    assert ran.code == 0
    assert dict(line.split(maxsplit=1) for line in ran.out.splitlines())["opened"] == "0,3,5"
    asked = wm("queries", "opening.json", "-o", "rows.csv")
    assert asked.out.startswith("3 rows of 30 features")


def test_an_opening_is_not_replaced(wm, model) -> None:
    Path("opening.json").write_text("shown in another dispute")
    refusal = wm("open", model.claim, "--rows", "0", "-o", "opening.json").refusal()
    assert "exists already: choose another name" in refusal
    assert Path("opening.json").read_text() == "shown in another dispute"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--rows", "7"], "distinct numbers from 0 to 6"),
        (["--rows", "-1"], "distinct numbers from 0 to 6"),
        (["--rows", "1,1"], "distinct numbers from 0 to 6"),
        (["--draw", "8", "--challenge", "a"], "8 of 7 rows cannot be opened"),
        (["--draw", "1", "--challenge", ""], "challenge is empty"),
    ],
)
def test_rows_that_cannot_be_opened(wm, model, arguments: list[str], word: str) -> None:
    assert word in wm("open", model.claim, *arguments, "-o", "opening.json").refusal()
    assert not Path("opening.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--draw", "3"],
        ["--challenge", "a"],
        ["--rows", "0", "--draw", "3", "--challenge", "a"],
        ["--rows", "0", "--challenge", "a"],
        ["--rows", "first"],
        ["--rows", ""],
        ["--draw", "0", "--challenge", "a"],
    ],
)
def test_options_that_do_not_go_together(wm, model, arguments: list[str]) -> None:
    ran = wm("open", model.claim, *arguments, "-o", "opening.json")
    assert (ran.code, ran.out) == (2, "")
    assert not Path("opening.json").exists()
