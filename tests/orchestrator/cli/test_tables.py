"""Tables on stdout: whole in a pipe; on a terminal every value can be read, however narrow it is."""

from __future__ import annotations

import sys

from hypothesis import event, example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from orchestrator.cli import common
from orchestrator.cli.tables import as_text, layout

COLUMNS = ["name", "count", "share", "nothing", "note"]
ROWS = [
    ["sat", 3, 0.123456, None, ""],
    ["portfolio", 1200, None, None, "first line\nsecond"],
    ["z3", None, 1e-9, None, ""],
]


def test_a_piped_table_is_as_wide_as_it_needs(capsys):
    wide = [*COLUMNS, "long"]
    common.print_table(wide, [[*row, "x" * 500] for row in ROWS])
    assert capsys.readouterr().out.splitlines()[2].endswith("x" * 500)
    common.print_table(COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "name        count    share   note",
        "─" * 39,
        "sat             3   0.1235",
        "portfolio    1200            first line",
        "z3                   1e-09",
    ]


def test_a_table_is_fitted_to_the_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "24")
    common.print_table(COLUMNS, ROWS)
    assert max(map(cell_len, capsys.readouterr().out.splitlines())) <= 24


def test_constant_columns_stand_once_above():
    columns = ["scheme", "trigger_share", "signature", "eps"]
    rows = [["paper", 0.02, number, 0.1] for number in range(3)]
    assert layout(columns, rows, 40) == layout(columns, rows), "where all fits nothing is moved"
    assert layout(columns, rows, 30) == [
        "scheme paper,",
        "trigger_share 0.02, eps 0.1",
        "",
        "signature",
        "─" * 9,
        *(" " * 8 + str(number) for number in range(3)),
    ]


def test_groups_of_columns_repeat_the_keys_of_rows():
    columns = ["signature", "eps", "forged", "impossible"]
    rows = [[number // 2, (0.1, 0.5)[number % 2], number, 9 - number] for number in range(4)]
    first, second = "\n".join(layout(columns, rows, 28)).split("\n\n")
    assert [line.split() for line in (first.splitlines()[0], second.splitlines()[0])] == [
        ["signature", "eps", "forged"],
        ["signature", "eps", "impossible"],
    ]

    assert layout(columns, rows, 26)[0].split() == ["#", "signature", "eps"], "numbers fit where keys do not"


def test_rows_with_long_texts_become_blocks():
    text = "the text of a file " * 8
    assert layout(["kind", "detail"], [["a", text.strip()], ["b", "short"]], 60) == [
        "kind    a",
        "detail",
        "  the text of a file the text of a file the text of a file",
        "  the text of a file the text of a file the text of a file",
        "  the text of a file the text of a file",
        "",
        "kind    b",
        "detail  short",
    ]


def test_control_characters_are_escaped():
    assert as_text("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"


texts = st.text("ab c-é漢\x1b", max_size=25) | st.lists(st.text("xyz", min_size=1, max_size=9)).map(" ".join)
values = st.none() | st.booleans() | st.integers() | st.floats() | texts
names = st.text("abc_", min_size=1, max_size=20)


@st.composite
def frames(draw):
    columns = draw(st.lists(names, min_size=1, max_size=12, unique=True))
    kinds = [draw(st.sampled_from([values, texts, st.integers(0, 3), st.just("same")])) for _ in columns]
    rows = draw(st.lists(st.tuples(*kinds), max_size=6))
    return columns, rows


@given(frames(), st.integers(60, 200))
@example((["a"], []), 60)
@example((["a" * 20, "b" * 20, "c" * 20], []), 60)
@example((["a", "b"], [("x " * 29 + "y", 1), ("z", 2)]), 60)
def test_every_value_can_be_read_whatever_the_width(frame, width):
    columns, rows = frame
    lines = layout(columns, rows, width)
    event(f"{len(lines) - len(rows) - 2} lines more than the plain table")
    printed = "\n".join(lines)
    words = printed.split()
    for name, *cells in zip(columns, *rows, strict=True):
        if rows and all(value in (None, "") for value in cells):
            continue
        assert name in printed
        for text in map(as_text, cells):
            if cell_len(text) <= width:
                assert text.rstrip() in printed
            else:
                assert all(word in words for word in text.split())
    for line in lines:
        assert cell_len(line) <= width or max(map(cell_len, line.split())) > width - 2


@given(frames())
def test_without_a_width_each_row_is_a_line(frame):
    columns, rows = frame
    lines = layout(columns, rows)
    if any(value not in (None, "") for row in rows for value in row):
        assert len(lines) == len(rows) + 2
