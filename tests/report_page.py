"""A report page, read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.data import Findings
from orchestrator.report.page import report_html
from orchestrator.report.rendering import as_part

_VOID = {"meta", "img", "br", "link", "hr", "input"}


@dataclass
class Cell:
    tag: str
    text: str = ""
    values: list[float] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        return self.values[0] if self.values else None


class Page(HTMLParser):
    """Reads a page, checking that every element is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self._inside = 0
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[Cell]]] = {}
        self.same: dict[str, dict[str, Cell]] = {}
        self.upright: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs), "an attribute occurs twice"
        self.attributes.append((tag, found))
        if tag == "caption":
            self._inside = 99
        if tag == "table":
            self.tables[str(found["id"])] = []
            self.same[str(found["id"])] = {}
            if found.get("class") == "upright":
                self.upright.add(str(found["id"]))
        elif tag == "span" and "data-column" in found:
            self._same[str(found["data-column"])] = Cell(tag)
            self._inside = len(self.open)
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append(Cell(tag))
        elif tag == "data":
            cell = self._rows[-1][-1] if self._rows else list(self._same.values())[-1]
            cell.values.append(float(str(found["value"])))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if (self.open and self.open[-1] in ("style", "script")) or "svg" in self.open:
            return
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self._rows[-1][-1].text += data
        if "caption" in self.open and len(self.open) > self._inside:
            title, cell = list(self._same.items())[-1]
            cell.text = (cell.text + data).removeprefix(f"{title} ")

    @property
    def _rows(self) -> list[list[Cell]]:
        return list(self.tables.values())[-1]

    @property
    def _same(self) -> dict[str, Cell]:
        return list(self.same.values())[-1]

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def cells(self, name: str) -> dict[str, list[Cell]]:
        """Return the cells of each column of a table, those that are the same in every row included."""
        heading, *rows = self.tables[name]
        if name in self.upright:
            return {title.text: [cell] for title, cell in rows}
        assert all(len(row) == len(heading) for row in rows)
        shown = {title.text: [row[place] for row in rows] for place, title in enumerate(heading)}
        return {title: [cell] * len(rows) for title, cell in self.same[name].items()} | shown

    def table(self, name: str) -> pd.DataFrame:
        """Return a table's values: the exact number where a cell has one, else its text."""
        return pd.DataFrame(
            {
                title: [cell.text if cell.value is None else cell.value for cell in cells]
                for title, cells in self.cells(name).items()
            }
        )

    def spread(self, name: str, title: str) -> pd.DataFrame:
        """Return middle and ends of each cell of a column that gives samples; NaN where it has none."""
        return pd.DataFrame(
            [
                (cell.values * 3)[:3] if len(cell.values) == 1 else cell.values or [np.nan] * 3
                for cell in self.cells(name)[title]
            ],
            columns=["middle", "min", "max"],
        )

    @property
    def charts(self) -> list[str]:
        """The texts of the page's charts."""
        return [str(found["aria-label"]) for found in self.all_of("svg")]

    @property
    def tooltips(self) -> list[str]:
        """What the marks of all charts tell."""
        marks = [found for _, found in self.attributes if found.get("role") == "graphics-symbol"]
        return [str(mark["aria-label"]) for mark in marks]

    def all_of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.attributes if name == tag]


def assert_column(shown: pd.Series[Any], expected: pd.Series[Any]) -> None:
    np.testing.assert_allclose(shown.astype(float), expected.astype(float), rtol=1e-12)


def assert_spread(page: Page, table: str, title: str, groups: Any, centre: str = "mean") -> None:
    """Check a column of samples against the frame's groups; a sample of equal values shows no ends."""
    shown = page.spread(table, f"{title} ({centre}; min to max)")
    for name, expected in (("middle", groups.agg(centre)), ("min", groups.min()), ("max", groups.max())):
        assert_column(shown[name], expected)


def undrawn(findings: Findings) -> str:
    """Return a page without its charts, which take most of its time."""
    with pytest.MonkeyPatch.context() as patched:
        leave_undrawn(patched)
        return report_html(findings)


def leave_undrawn(patched: pytest.MonkeyPatch) -> None:
    """Let pages have empty pictures, for which no chart is made."""
    patched.setattr("orchestrator.report.page.inline", lambda figure: as_part("<svg ></svg>", figure))
