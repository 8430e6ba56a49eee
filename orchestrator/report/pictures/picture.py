"""What a picture is, and what all captions and lists of pictures share."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from orchestrator.report.findings import Findings
from orchestrator.report.wording import counted

PANELS = 6
"""Panels of one picture: more would not fit a page."""


@dataclass(frozen=True)
class Picture:
    """A figure with what belongs to it.

    Attributes
    ----------
    name
        File name without ending.
    section
        Section of the report that it goes into.
    title
        A few words.
    caption
        What is drawn, with units, sample sizes and seeds: stands alone.
    alternative
        The picture's content in words, for those who do not see it.
    figure
        The figure itself.
    """

    name: str
    section: str
    title: str
    caption: str
    alternative: str
    figure: Figure


def numbered(name: str, number: int, panels: int, most: int = PANELS) -> str:
    """Return the name of one of several pictures that together have some panels, at most `most` each."""
    return name if panels <= most else f"{name}-{number}"


def test_rows(findings: Findings) -> str:
    """Return the number of test rows in words, with a space after it; nothing before the data are split."""
    return "" if findings.split is None else f"{counted(findings.split.rows_test, 'test row')} "


def origin(findings: Findings, repeats: int) -> str:
    """Return data set, sample size and seeds, as each caption ends."""
    sample = f"; n = {repeats} repeats (0 to {repeats - 1}), each with random streams of its own"
    return (
        f"Data set {findings.dataset}; campaign {findings.record.name}, seed {findings.record.seed}"
        f"{sample if repeats > 1 else ', n = 1 repeat'}."
    )


def no_spread(repeats: int, where_several: str) -> str:
    """Return the sentence on spread: the one given, or that a single repeat has none."""
    return where_several if repeats > 1 else "One repeat only: there is no spread over seeds."
