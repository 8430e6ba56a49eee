"""The document and its pictures."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from orchestrator.store.campaigns import find_campaign
from research.benchmarks.common import markdown
from research.benchmarks.stores import url_of
from research.reproduction import write_reproduction
from research.reproduction.__main__ import main
from research.reproduction.document import picture


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


def test_the_command_writes_it(store, tmp_path):
    path = tmp_path / "paper.md"
    words = ["small", "--store", url_of(store), "--no-experiments", "-o", str(path)]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.output.strip()) == (0, str(path))
    assert path.read_text().startswith("# Reproduction\n")
    assert (tmp_path / "images" / "small-accuracy-trigger-share.svg").is_file()


@pytest.mark.parametrize(
    ("name", "fault"), [("other", "its data set is none of the paper's"), ("missing", "missing")]
)
def test_a_mistake_gets_one_line(store, name, fault, tmp_path):
    done = CliRunner().invoke(main, [name, "--store", url_of(store), "-o", str(tmp_path / "paper.md")])
    assert done.exit_code == 2
    assert fault in done.output.splitlines()[-1]


def test_text_cannot_break_a_table():
    lines = markdown(["a", "b"], [["x | y", "two\nlines"]]).splitlines()
    assert lines == ["| a | b |", "| --- | --- |", "| x \\| y | two lines |"]


def test_a_caption_is_the_alternative_text_too():
    assert picture("size [k]", "a.svg") == "![size (k)](a.svg)\n\n*size [k]*"
