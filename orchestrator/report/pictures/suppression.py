"""Pictures of suppression."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.report import alternatives
from orchestrator.report.figures.budget import budget_figure
from orchestrator.report.figures.style import chunks
from orchestrator.report.figures.suppression import suppression_figure
from orchestrator.report.findings import Findings
from orchestrator.report.grid import by_configuration, repeats_of
from orchestrator.report.pictures.picture import PANELS, Picture, numbered, origin
from orchestrator.report.summaries import budget_summaries, suppression_summaries
from orchestrator.report.wording import ranged


def suppression_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield ROC curves, a few configurations in each picture."""
    parts = list(by_configuration(findings.roc_curves))
    for number, some in enumerate(chunks(parts, PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in suppression_summaries(findings.suppression) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        average = "Bold: mean over repeats; faint: each repeat." if repeats > 1 else "One repeat."
        triggers = ranged([row.triggers for row in summaries])
        ordinary = ranged([row.ordinary for row in summaries])
        yield Picture(
            name=numbered("suppression", number, len(parts)),
            section="suppression",
            title="Spotting trigger queries",
            caption=(
                f"ROC curves of telling {triggers} trigger queries from {ordinary} ordinary test rows by "
                f"their votes. {average} Grey: at most 1% of ordinary queries suspected; the horizontal axis "
                f"is linear up to there and logarithmic beyond. {origin(findings, repeats)}"
            ),
            alternative=alternatives.suppression(summaries),
            figure=suppression_figure(list(some)),
        )


def budget_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield curves of bits known over trigger queries, a few configurations in each picture."""
    parts = list(by_configuration(findings.budget_curves))
    for number, some in enumerate(chunks(parts, PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in budget_summaries(findings.budget_curves) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        orders = ranged(findings.budget_orders)
        several = "Bars: from the smallest to the largest in any order of any repeat."
        single = "Bars: from the smallest to the largest in any order; one repeat only, no spread over seeds."
        yield Picture(
            name=numbered("budget", number, len(parts)),
            section="suppression",
            title="Bits known after each trigger query",
            caption=(
                "Percent of the signature, up to complement, that a thief who watches the queries knows "
                f"after so many trigger queries among ordinary ones, by method; mean over {orders} random "
                "orders of the stream. 50% while nothing is spotted; dashed: the mean of guesses unrelated "
                f"to the signature. {several if repeats > 1 else single} {origin(findings, repeats)}"
            ),
            alternative=alternatives.budget(summaries),
            figure=budget_figure(summaries),
        )
