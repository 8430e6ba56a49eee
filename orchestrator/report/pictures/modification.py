"""Pictures of robustness."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.report import alternatives
from orchestrator.report.figures.modification import modification_figure
from orchestrator.report.figures.style import chunks
from orchestrator.report.figures.tradeoff import tradeoff_figure
from orchestrator.report.findings import Findings
from orchestrator.report.grid import by_configuration, repeats_of
from orchestrator.report.pictures.picture import PANELS, Picture, numbered, origin
from orchestrator.report.summaries import modification_summaries
from orchestrator.report.wording import counted, listed
from wm.verification.alignment import DRAWS
from wm.verification.evidence import DEFAULT_LEVEL

MOST_DETAILED = 2
"""Configurations whose modifications are drawn one by one; overview and table have all."""

_ROWS = 5
"""Modifications of one picture: each has a row of panels."""

_P_VALUES = (
    "p from votes is exact, or where trees are missing that of their best alignment in order against "
    f"{DRAWS:,} random signatures (at least {1 / (DRAWS + 1):g}); p from vote shares needs no order of the "
    "trees."
)


def tradeoff_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield accuracy change against evidence, a few configurations in each picture."""
    parts = list(by_configuration(findings.modification))
    for number, some in enumerate(chunks(parts, PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [
            row for row in modification_summaries(findings.modification) if row.configuration in shown
        ]
        repeats = max(repeats_of(part) for _, part in some)
        yield Picture(
            name=numbered("tradeoff", number, len(parts)),
            section="modification",
            title="What weakening the evidence costs a thief",
            caption=(
                "Each path is a modification of the stolen forest through its strengths, the greatest with "
                "the large marker: mean change of accuracy in points against log10 of the smaller of two "
                "median p-values, from votes and from vote shares. Above the dashed line (level "
                f"{DEFAULT_LEVEL:g}) the claim is lost; right of it and near 0 points, at little cost. "
                f"{_sample(findings, repeats)} {_P_VALUES} {origin(findings, repeats)}"
            ),
            alternative=alternatives.tradeoff(summaries),
            figure=tradeoff_figure(summaries),
        )


def modification_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield the curves of each modification, for the first configurations."""
    for configuration, part in list(by_configuration(findings.modification))[:MOST_DETAILED]:
        names = list(dict.fromkeys(part["modification"]))
        summaries = modification_summaries(part)
        repeats = repeats_of(part)
        for number, some in enumerate(chunks(names, _ROWS), start=1):
            shown = [row for row in summaries if row.modification in some]
            yield Picture(
                name=numbered(f"modification-{configuration.slug}", number, len(names), _ROWS),
                section="modification",
                title=f"Modified forests ({configuration}): {listed(some)}",
                caption=(
                    "For each modification over its strength (below each panel): left, change of accuracy in "
                    "points; middle, percent of test rows whose majority stays (fidelity), of the trigger "
                    "set's votes that are as the signature wants (bits), and of modified forests that match "
                    "in every bit (exact match); right, log10 of the p-values. Dashed: level "
                    f"{DEFAULT_LEVEL:g}. {_sample(findings, repeats)} {_P_VALUES} {origin(findings, repeats)}"
                ),
                alternative=alternatives.modification(shown),
                figure=modification_figure(shown),
            )


def _sample(findings: Findings, repeats: int) -> str:
    """Return what a point is a mean of."""
    tries = int(findings.modification["attempt"].nunique())
    if repeats * tries == 1:
        return "One repeat and one try: there is no spread."
    return (
        f"Lines: means (log10 p: medians) over {counted(repeats, 'repeat')} and "
        f"{counted(tries, 'try', 'tries')} each; bands: least to most."
    )
