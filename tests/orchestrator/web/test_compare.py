"""Two campaigns side by side, against their documents and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.launch import launch
from orchestrator.report.table import Cell, Column, Table
from orchestrator.report.wording import declared
from orchestrator.results import frame
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.web.compare import Setting, compare, compared, differing
from tests.orchestrator.web.conftest import MakeSite
from tests.sharing import run_to_end
from tests.small_campaign import small_campaign

_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab.", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1, max_size=2), inner),
    max_leaves=8,
)


@given(_DOCUMENTS)
def test_equal_documents_do_not_differ(document: Any) -> None:
    assert list(differing(document, document)) == []


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), _DOCUMENTS), st.text("cd", min_size=1))
def test_a_change_is_found_at_its_path(document: dict[str, Any], key: str) -> None:
    first, second = document | {key: {"deep": [1, 2]}}, document | {key: {"deep": [1, 3]}}
    assert list(differing(first, second)) == [Setting(f"{key}.deep", "1, 2", "1, 3")]


def test_tables_of_a_file_are_compared_one_by_one() -> None:
    first = {"attack": [{"kind": "leakage", "tries": 1}, {"kind": "forgery", "eps": 1}]}
    added = {"kind": "detection", "only": None}
    second = {"attack": [added, {"kind": "leakage", "tries": 2}, {"kind": "forgery", "eps": 1}]}
    assert list(differing(first, second)) == [
        Setting("attack.leakage.tries", "1", "2"),
        Setting("attack.detection", "\N{EN DASH}", "kind = detection"),
    ]
    twice = {"attack": [*first["attack"], {"kind": "forgery", "eps": 2}]}
    (setting,) = differing(first, twice)
    assert setting.path == "attack.forgery.2"
    assert list(differing({"grid": [{"a": 1}]}, {"grid": [{"a": 2}]})) == [Setting("grid.0.a", "1", "2")]


def _table(rows: dict[str, float | None], *, same: tuple[tuple[str, Cell], ...] = ()) -> Table:
    columns = (Column("Name", lambda row: row, True), Column("Share", lambda row: row))
    cells = tuple(
        (Cell(name), Cell("\N{EN DASH}") if value is None else Cell(f"{100 * value:g}%", value))
        for name, value in rows.items()
    )
    return Table("t", "Shares", columns, cells, same, names=("Name", *(title for title, _ in same)))


def test_only_common_rows_with_other_numbers_are_shown() -> None:
    found = compared(_table({"a": 0.25, "b": 0.5, "c": None, "d": 1}), _table({"a": 0.5, "b": 0.5, "c": 1}))
    assert found is not None
    assert found.caption == "Shares: 1 of 2 numbers differ; 1 row only in the first"
    (row,) = found.rows
    assert [cell.text for cell in row] == ["a", "Share", "25%", "50%", "+25.00 points"]


def test_a_place_that_is_the_same_everywhere_still_tells_rows_apart() -> None:
    one, other = (_table({"a": 0.25}, same=(("Depth", Cell(depth)),)) for depth in ("4", "5"))
    assert compared(one, other) is None
    assert compared(one, one) is not None


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A store with two small campaigns of other forests."""
    from orchestrator.store.database import Store

    store = Store(f"sqlite:///{tmp_path_factory.mktemp('two') / 'wm.db'}")
    for name, depth in (("small", 4), ("deeper", 6)):
        text = small_campaign(name=name, engines=("sat",), signatures=1, instances=5)
        run_to_end(store, launch(store, parse_spec(text.replace("max_depth = 4", f"max_depth = {depth}"))))
    yield store
    store.close()


def test_differences_are_those_of_the_frames(two) -> None:
    records = campaigns.list_campaigns(two)
    found = compare(two, *records)
    assert found.settings == (Setting("name", "small", "deeper"), Setting("forest.max_depth", "4", "6"))
    first, second = (frame(two, record.id, "accuracy").iloc[0] for record in records)
    (table,) = (table for table in found.tables if table.name == "embeddings-table")
    rows = {row[-4].text: row[-3:] for row in table.rows}
    columns = {one[2]: one[1] for one in declared()["tables"]["embeddings-table"]["columns"] if len(one) == 3}
    differing_columns = {title for title, name in columns.items() if first[name] != second[name]}
    assert set(rows) == differing_columns
    for title, cells in rows.items():
        name = columns[title]
        scale = 100 if "%" in cells[0].text else 1
        np.testing.assert_allclose([cells[0].value, cells[1].value], [first[name], second[name]])
        np.testing.assert_allclose(cells[2].value, scale * (second[name] - first[name]))
    assert rows["Depth, tuned or given"][2].text == "+2"


def test_a_campaign_does_not_differ_from_itself(two) -> None:
    record = campaigns.get_campaign(two, 1)
    found = compare(two, record, record)
    assert (found.settings, found.origins) == ((), ())
    assert found.tables
    assert not [row for table in found.tables for row in table.rows]


def test_page_shows_the_comparison(two, site_of: MakeSite) -> None:
    site = site_of(two)
    page = site.page("/compare?first=1&second=2")
    assert "Compare: small and deeper" in page.text
    assert "forest.max_depth" in page.text
    assert "embeddings-table" in page.tables
    assert "Versions and machine are the same." in page.text
    assert "choose" in site.page("/compare").text
    assert site.get("/compare?first=1").status_code == 400
