"""Write the tables of docs/schemes.md from the scoreboards of campaigns: numbers only from there.

    wm results schemes schemes-ijcnn1 --json > research/scoreboards/schemes-ijcnn1.json
    python -m research.scoreboard

Each table stands below a comment that names its data set, as in `<!-- scoreboard: ijcnn1 -->`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter

from wm.verification.evidence import DEFAULT_LEVEL

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "schemes.md"
SCOREBOARDS = ROOT / "research" / "scoreboards"

DATASETS: Mapping[str, tuple[str, ...]] = {
    "breast-cancer": ("schemes", "schemes-divided", "schemes-candidates"),
    "ijcnn1": ("schemes-ijcnn1", "schemes-divided-ijcnn1", "schemes-distilled-ijcnn1"),
    "mnist2-6": ("schemes-mnist2-6", "schemes-divided-mnist2-6", "schemes-distilled-mnist2-6"),
}
"""Campaigns of each table, in order."""

COLUMNS: Mapping[tuple[str, str], str] = {
    ("schemes", "paper"): "`paper`",
    ("schemes", "codebook"): "`codebook`",
    ("schemes-divided", "codebook"): "`codebook`, divided rows",
    ("schemes", "lineup"): "`lineup`",
    ("schemes-distilled", "lineup"): "`lineup`",
    ("schemes-candidates", "lineup"): "`lineup`, N = 100",
}
"""Titles of the columns: of a campaign, without its data set, and a scheme. A later campaign adds lines to a column."""


class Row(BaseModel):
    """A row of `wm results schemes`; see `orchestrator.results.columns.SCHEMES`."""

    scheme: str
    attack: str
    strength: float | None
    accuracy_change: float | None
    accuracy_change_std: float | None
    log10_p: float | None
    log10_p_min: float | None
    log10_p_max: float | None
    auc: float | None
    tpr_at_1pct_fpr: float | None
    bits: float | None
    null_bits: float | None
    repeats: int


class Line(NamedTuple):
    """A line of the tables: what it is called, and where the scoreboard has it."""

    title: str
    attack: str
    strength: float | None = None


EVIDENCE = (
    Line("none", "none"),
    Line("all trees shuffled", "modification: shuffle", 1.0),
    Line("half of the trees dropped", "modification: drop", 0.5),
    Line("half of the trees replaced", "modification: replace", 0.5),
    Line("90% of the trees replaced", "modification: replace", 0.9),
    Line("all trees grown again below two levels", "modification: regrow", 1.0),
    Line("pruned by reduced error", "modification: reduced-error", 1.0),
    Line("thresholds moved by 0.1 standard deviations", "modification: noise", 0.1),
    Line("by 0.3", "modification: noise", 0.3),
    Line("90% of the trees report the majority", "modification: collapse", 0.9),
    Line("all do: labels only", "modification: collapse", 1.0),
    Line("labels by a coin where votes are within 0.1 of one half", "modification: hedge", 0.1),
    Line("within 0.2", "modification: hedge", 0.2),
    Line("within 0.3", "modification: hedge", 0.3),
    Line("distilled from votes, 1 query for each row", "modification: distil-votes", 1.0),
    Line("3 queries for each row", "modification: distil-votes", 3.0),
    Line("10 queries for each row", "modification: distil-votes", 10.0),
    Line("distilled from labels", "modification: distil-labels", 1.0),
    Line("repeated votes filtered", "suppression: repeats"),
    Line("filter by a classifier of shadow models", "suppression: shadow"),
)
"""Attacks by the evidence that they leave."""

SPECTRUM = Line("vote spectrum of a sample: AUC of the bits", "detection: spectrum, sample")
PRESENCE = Line("presence: AUC against honest forests", "detection: presence")
SHADOW = Line("shadow models: AUC of trigger rows; found at 1% false alarms", "suppression: shadow")


def table(dataset: str, folder: Path = SCOREBOARDS) -> str:
    """Return the table of a data set as Markdown.

    Raises
    ------
    OSError
        The scoreboard of a campaign is not there.
    """
    found: dict[str, list[Row]] = {}
    for campaign in DATASETS[dataset]:
        rows = TypeAdapter(list[Row]).validate_python(json.loads((folder / f"{campaign}.json").read_text()))
        for (name, scheme), title in COLUMNS.items():
            if name == campaign.removesuffix(f"-{dataset}"):
                found.setdefault(title, []).extend(row for row in rows if row.scheme == scheme)
    titles = [title for title in dict.fromkeys(COLUMNS.values()) if title in found]
    columns = [found[title] for title in titles]
    lines = [
        _line(f"log10 p, median (min to max) of {_repeats(columns)}", titles),
        _line("---", ["---"] * len(titles)),
    ]
    for line in EVIDENCE:
        cells = [evidence(_find(rows, line)) for rows in columns]
        if any(cells):
            lines.append(_line(line.title, cells))
    measured = (
        (
            "accuracy against an honest forest, points (sd)",
            [_change(_find(rows, EVIDENCE[0])) for rows in columns],
        ),
        (SPECTRUM.title, [_area(_find(rows, SPECTRUM)) for rows in columns]),
        (PRESENCE.title, [_area(_find(rows, PRESENCE)) for rows in columns]),
        (SHADOW.title, [_spotted(_find(rows, SHADOW)) for rows in columns]),
        ("bits that these show, points above chance", [_bits(_find(rows, SHADOW)) for rows in columns]),
    )
    lines += [_line(f"*{title}*", cells) for title, cells in measured if any(cells)]
    return "\n".join(lines)


def write(text: str, folder: Path = SCOREBOARDS) -> str:
    """Return a document with each of its tables made anew."""

    def made(match: re.Match[str]) -> str:
        return f"<!-- scoreboard: {match[1]} -->\n{table(match[1], folder)}\n"

    return re.sub(r"<!-- scoreboard: (\S+) -->\n(?:\|.*\n)*", made, text)


def evidence(row: Row | None) -> str:
    """Write the median of log10 p with its ends, bold where the median is above the level; empty if unmeasured."""
    if row is None or row.log10_p is None or row.log10_p_min is None or row.log10_p_max is None:
        return ""
    middle, low, high = (_rounded(each) for each in (row.log10_p, row.log10_p_min, row.log10_p_max))
    shown = middle if 10**row.log10_p <= DEFAULT_LEVEL else f"**{middle}**"
    return shown if low == high else f"{shown} ({low} to {high})"


def _rounded(value: float) -> str:
    text = f"{value:.0f}" if value <= -9.95 else f"{value:.1f}"
    return "0" if text in ("-0.0", "0.0") else text


def _find(rows: list[Row], line: Line) -> Row | None:
    return next((row for row in rows if (row.attack, row.strength) == (line.attack, line.strength)), None)


def _change(row: Row | None) -> str:
    if row is None or row.accuracy_change is None or row.accuracy_change_std is None:
        return ""
    return f"{100 * row.accuracy_change:+.1f} ({100 * row.accuracy_change_std:.1f})"


def _area(row: Row | None) -> str:
    return "" if row is None or row.auc is None else f"{row.auc:.2f}"


def _spotted(row: Row | None) -> str:
    if row is None or row.tpr_at_1pct_fpr is None:
        return ""
    return f"{_area(row)}; {100 * row.tpr_at_1pct_fpr:.0f}%"


def _bits(row: Row | None) -> str:
    if row is None or row.bits is None or row.null_bits is None:
        return ""
    return f"{100 * (row.bits - row.null_bits):+.0f}"


def _repeats(columns: list[list[Row]]) -> str:
    counts = sorted({row.repeats for rows in columns for row in rows})
    return f"{' to '.join(map(str, counts))} repeats"


def _line(title: str, cells: list[str]) -> str:
    return f"| {' | '.join([title, *cells])} |"


if __name__ == "__main__":
    DOCUMENT.write_text(write(DOCUMENT.read_text()))
