"""The document and its pictures."""

from __future__ import annotations

import re

from orchestrator.store.campaigns import find_campaign
from research.reproduction import write_reproduction
from research.reproduction.markdown import picture, table


def test_the_document_stands_with_its_pictures(store, tmp_path):
    path = tmp_path / "reproduction.md"
    write_reproduction(store, [find_campaign(store, "small")], path)
    text = path.read_text()
    shown = re.findall(r"\]\((images/[^)]+)\)", text)
    assert sorted(shown) == sorted(f"images/{file.name}" for file in (tmp_path / "images").iterdir())
    assert {name.rpartition("small-")[2] for name in shown} == {
        "accuracy-trigger-share.svg",
        "accuracy-ones-share.svg",
        "forged-sizes.svg",
    }
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0] == "# Reproduction"
    assert [line for line in headings if line.startswith("### ")] == [
        "### One seed for owner and attacker",
        "### No answer counted as forged",
        "### A margin around each threshold",
        "### Which point of a cell is shown",
        "### What the released files give away",
        "### Suppression",
    ]
    for rows in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows.splitlines()}
        assert len(widths) == 1, "every row of a table has all columns"
    again = tmp_path / "again.md"
    write_reproduction(store, [find_campaign(store, "1")], again, experiments=False)
    assert text.startswith(again.read_text().rstrip("\n"))


def test_text_cannot_break_a_table():
    lines = table(["a", "b"], [["x | y", "two\nlines"]]).splitlines()
    assert lines == ["| a | b |", "| --- | --- |", "| x \\| y | two lines |"]


def test_a_caption_is_the_alternative_text_too():
    assert picture("size [k]", "a.svg") == "![size (k)](a.svg)\n\n*size [k]*"
