"""Tables on stdout: a long one, which is not fitted to the terminal, says the same as a short one."""

from __future__ import annotations

from orchestrator.cli import common

COLUMNS = ["name", "count", "share", "nothing", "note"]
ROWS = [
    ["sat", 3, 0.123456, None, ""],
    ["portfolio", 1200, None, None, "first line\nsecond"],
    ["z3", None, 1e-9, None, ""],
]


def printed(capsys, rows):
    common.print_table(COLUMNS, rows)
    out, err = capsys.readouterr()
    assert err == ""
    return [line.split() for line in out.splitlines() if line.strip() and "─" not in line], out.splitlines()


def test_a_long_table_says_the_same_as_a_short_one(capsys, monkeypatch):
    short, _ = printed(capsys, ROWS)
    monkeypatch.setattr(common, "_MOST_FOLDED", 2)
    long, lines = printed(capsys, ROWS)
    assert long == short
    assert long[0] == ["name", "count", "share", "note"], "what is empty everywhere is left out"
    assert lines == [
        "name        count    share   note",
        "─" * 39,
        "sat             3   0.1235",
        "portfolio    1200            first line",
        "z3                   1e-09",
    ]


def test_a_long_table_costs_little_a_row(capsys, monkeypatch):
    """Rich is not asked to lay it out."""
    monkeypatch.setattr("rich.console.Console.print", None)
    rows = ROWS * 200
    words, _ = printed(capsys, rows)
    assert len(words) == 1 + len(rows)
