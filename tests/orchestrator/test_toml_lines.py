"""Lines of keys, compared with files written together with their lines."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.toml_lines import line_of, lines_of_keys

bare = st.text("abcxyz019_-", min_size=1, max_size=4)
quoted = st.text("ab.[]#= '\"\\é", min_size=1, max_size=5)
names = bare | quoted
scalars = (
    st.integers(-9, 9)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.text("ab=#[]. '\"", max_size=6)
)
lists = st.lists(scalars, min_size=1, max_size=3)


def written(name):
    plain = all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if plain else json.dumps(name, ensure_ascii=False)


@st.composite
def files(draw):
    """Draw a TOML file: its lines, and the line of each key and header."""
    lines, found = [], {}

    def scatter():
        lines.extend(draw(st.lists(st.sampled_from(["", "   ", "# a = 1", "# [a]"]), max_size=2)))

    def keys(table):
        for name in draw(st.lists(names, unique=True, max_size=3)):
            scatter()
            path = (*table, name)
            indent = draw(st.sampled_from(["", "  "]))
            found[path] = len(lines) + 1
            style = draw(st.sampled_from(["scalar", "list", "long list", "inline", "text", "dotted"]))
            if style == "dotted":
                del found[path]
                inner = draw(names)
                found[(*path, inner)] = len(lines) + 1
                spaces = draw(st.sampled_from(["", " "]))
                lines.append(f"{indent}{written(name)}{spaces}.{spaces}{written(inner)} = 1")
            elif style == "scalar":
                comment = draw(st.sampled_from(["", " # b = 2"]))
                lines.append(f"{indent}{written(name)} = {json.dumps(draw(scalars))}{comment}")
            elif style == "list":
                lines.append(f"{indent}{written(name)}= {json.dumps(draw(lists))}")
            elif style == "long list":
                lines.append(f"{written(name)} = [")
                lines.extend(f"  {json.dumps(value)}, # c = 3" for value in draw(lists))
                lines.append("]")
            elif style == "inline":
                lines.append(f"{written(name)} = {{ inner = {json.dumps(draw(scalars))}, other.x = [1] }}")
            else:
                lines.extend([f'{written(name)} = """', "not-a-key-of-the-file = 1", "[not-a-table]", '"""'])

    keys(())
    top = {path[0] for path in found}
    for name in draw(st.lists(names.filter(lambda name: name not in top), unique=True, max_size=3)):
        scatter()
        if draw(st.booleans()):
            paths = [((name,), f"[ {written(name)} ]")]
        else:
            paths = [
                ((name, index), f"[[{written(name)}]] # of many") for index in range(draw(st.integers(1, 3)))
            ]
        for path, header in paths:
            found[path] = len(lines) + 1
            lines.append(header)
            keys(path)
            there = {
                longer[len(path)]
                for longer in found
                if longer[: len(path)] == path and len(longer) > len(path)
            }
            inner = draw(names.filter(lambda inner, there=there: inner not in there))
            if draw(st.booleans()):
                found[(*path, inner)] = len(lines) + 1
                lines.append(f"[{written(name)}.{written(inner)}]")
                keys((*path, inner))
    return "\n".join(lines), found


@given(files())
def test_every_key_and_header_is_found_where_it_was_written(file):
    text, expected = file
    tomllib.loads(text)
    assert lines_of_keys(text) == expected


@given(files(), st.data())
def test_a_fault_inside_a_value_is_reported_at_its_key(file, data):
    _, expected = file
    if expected:
        path = data.draw(st.sampled_from(sorted(expected, key=str)))
        assert line_of(expected, (*path, 0, "inner")) == expected[path]


def test_nested_arrays_of_tables_count_within_their_parent():
    text = "[[a]]\n[[a.b]]\nx = 1\n[[a.b]]\nx = 2\n[[a]]\n[[a.b]]\nx = 3\n[a.b.c]\ny = 4\n"
    assert lines_of_keys(text) == {
        ("a", 0): 1,
        ("a", 0, "b", 0): 2,
        ("a", 0, "b", 0, "x"): 3,
        ("a", 0, "b", 1): 4,
        ("a", 0, "b", 1, "x"): 5,
        ("a", 1): 6,
        ("a", 1, "b", 0): 7,
        ("a", 1, "b", 0, "x"): 8,
        ("a", 1, "b", 0, "c"): 9,
        ("a", 1, "b", 0, "c", "y"): 10,
    }


def test_a_list_inside_a_list_is_no_header():
    assert lines_of_keys("a = [\n  [1]\n]\nb = 2\n") == {("a",): 1, ("b",): 4}


def test_a_table_of_dotted_keys_begins_at_the_first():
    lines = lines_of_keys("a = 1\nb.x = 1\nb.y.z = 2\n")
    assert [line_of(lines, path) for path in [("b",), ("b", "y"), ("b", "y", "q"), ("b", "x")]] == [
        2,
        3,
        3,
        2,
    ]


@pytest.mark.parametrize("path", [(), ("nowhere",), ("nowhere", 0, "x")])
def test_a_key_that_is_not_there_has_no_line(path):
    assert line_of({("a",): 1}, path) is None
