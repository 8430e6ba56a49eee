"""Two campaigns side by side: what differs in their files, and in the tables of their reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.report.data import Findings
from orchestrator.report.sections import answering
from orchestrator.report.table import MAX_ROWS, Cell, Column, Table
from orchestrator.report.wording import MISSING, counted, signed
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_SAMPLE = re.compile(r" \((mean|median); min to max\)$")
"""What a heading says of a sample; a sample of one says nothing."""

_CLOSE = 1e-12
"""Relative difference up to which two sums of the same numbers may differ."""


@dataclass(frozen=True)
class Setting:
    """A place where two files differ."""

    path: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """Two campaigns; of the second, differences are to the first."""

    settings: tuple[Setting, ...]
    origins: tuple[Setting, ...]
    """The same for versions, machine and code."""
    tables: tuple[Table, ...]
    """One for each table of both reports that has common rows; only numbers that differ."""


def compare(store: Store, first: CampaignRecord, second: CampaignRecord) -> Comparison:
    """Return how two campaigns of a store differ."""
    shown = [_tables(Findings(store, record)) for record in (first, second)]
    both = [name for name in shown[0] if name in shown[1]]
    return Comparison(
        settings=tuple(differing(first.spec, second.spec)),
        origins=tuple(differing(first.provenance, second.provenance)),
        tables=tuple(table for name in both if (table := compared(shown[0][name], shown[1][name]))),
    )


def _tables(findings: Findings) -> dict[str, Table]:
    return {table.name: table for _, shown in answering(findings) for table in shown.tables if table.rows}


def differing(first: Any, second: Any, path: str = "") -> Iterator[Setting]:
    """Yield every place where two documents of JSON-ready data differ, as a dotted path."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        pairs = [(str(key), first.get(key), second.get(key)) for key in dict.fromkeys([*first, *second])]
    elif _holds_tables(first) and _holds_tables(second):
        tables = _by_kind(first), _by_kind(second)
        names = dict.fromkeys([*tables[0], *tables[1]])
        pairs = [(name, tables[0].get(name), tables[1].get(name)) for name in names]
    else:
        if first != second:
            yield Setting(path, _written(first), _written(second))
        return
    for name, one, other in pairs:
        yield from differing(one, other, f"{path}.{name}" if path else name)


def _by_kind(tables: list[Any]) -> dict[str, Any]:
    """Return tables of a list by their kind, numbered from its second on; by their place without kinds."""
    found: dict[str, Any] = {}
    for place, table in enumerate(tables):
        kind = str(table["kind"]) if isinstance(table, Mapping) and "kind" in table else str(place)
        number = sum(1 for name in found if name == kind or name.startswith(f"{kind}."))
        found[f"{kind}.{number + 1}" if number else kind] = table
    return found


def _holds_tables(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _written(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_written(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return str(value)


_Key = tuple[tuple[str, str], ...]
"""Titles and texts of the cells that name a row."""


def compared(first: Table, second: Table) -> Table | None:
    """Return the numbers of common rows that differ, one in each row; None without a common row."""
    names = tuple(dict.fromkeys([*first.names, *second.names]))
    rows = [_rows(table, names) for table in (first, second)]
    common = [key for key in rows[0] if key in rows[1]]
    if not common:
        return None
    found, total = [], 0
    for key in common:
        one, other = rows[0][key], rows[1][key]
        for title in one:
            a, b = one[title], other.get(title)
            if b is None or a.value is None or b.value is None:
                continue
            total += 1
            if abs(b.value - a.value) > _CLOSE * max(abs(a.value), abs(b.value)):
                found.append((*(Cell(text) for _, text in key), Cell(title), a, b, difference(a, b)))
    alone = [len(part) - len(common) for part in rows]
    missing = "".join(
        f"; {counted(count, 'row')} only in the {which}"
        for count, which in zip(alone, ("first", "second"), strict=True)
        if count
    )
    heads = [*names, "Number", "First", "Second", "Second minus first"]
    return Table(
        name=first.name,
        caption=f"{first.caption}: {len(found):,} of {counted(total, 'number')} differ{missing}",
        columns=tuple(Column(title, _never, title in (*names, "Number")) for title in heads),
        rows=tuple(found[:MAX_ROWS]),
        left_out=max(0, len(found) - MAX_ROWS),
        names=names,
    )


def _never(_row: Any) -> Cell:
    raise AssertionError("the cells are made with the table")


def _rows(table: Table, names: tuple[str, ...]) -> dict[_Key, dict[str, Cell]]:
    same = dict(table.same)
    found = {}
    for row in table.rows:
        cells = same | {column.title: cell for column, cell in zip(table.columns, row, strict=True)}
        key = tuple((name, cells[name].text if name in cells else MISSING) for name in names)
        found[key] = {_SAMPLE.sub("", title): cell for title, cell in cells.items() if title not in names}
    return found


def difference(first: Cell, second: Cell) -> Cell:
    """Return the second number minus the first: in points of percentages, in decades of p-values."""
    change = (second.value or 0) - (first.value or 0)
    if "%" in first.text or "%" in second.text:
        return Cell(f"{signed(100 * change)} points", 100 * change)
    if first.note.startswith("log10"):
        return Cell(f"{signed(change)} decades", change)
    return Cell(signed(change, 0 if isinstance(change, int) else 4), change)
