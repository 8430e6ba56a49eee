"""Tables of our own numbers, for what the paper draws as curves only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from orchestrator.report.data import by_configuration
from orchestrator.report.sections.distances import SizeCurve
from orchestrator.report.sections.embedding import points
from orchestrator.report.wording import percent
from research.benchmarks.common import markdown
from research.reproduction import published
from research.reproduction.compare import COUNT, POINTS, SHARE, TWO
from research.reproduction.compare_attacks import curve_of
from research.reproduction.compare_models import NEGLIGIBLE
from research.reproduction.runs import Run, at_published_point
from research.reproduction.spread import Spread


def accuracy_details(runs: Sequence[Run]) -> list[str]:
    """Return what is said of accuracy at every point of the grids."""
    rows = [
        [
            run.name,
            percent(first.trigger_share),
            percent(first.ones_share),
            *(SHARE.spread(part[f"accuracy_{name}"]) for name in ("watermarked", "standard", "capped")),
            POINTS.spread(points(part, "accuracy_standard")),
            str(len(part)),
        ]
        for run in runs
        if run.findings.frame("accuracy")["trigger_share"].nunique()
        + run.findings.frame("accuracy")["ones_share"].nunique()
        > 2
        for first, part in by_configuration(run.findings.frame("accuracy"))
    ]
    columns = "campaign | trigger rows | ones | watermarked | standard | capped | minus standard | n"
    lead = (
        f"Negligible is read as at most {NEGLIGIBLE:g} percentage point. The paper draws curves without "
        "numbers; these are ours, over the test rows: the watermarked forest, the standard one, and an "
        "honest one under the same limits on leaves and depth."
    )
    return [lead, markdown(columns.split(" | "), rows)] if rows else []


def forgery_details(runs: Sequence[Run]) -> list[str]:
    """Return the sizes of forged sets, and what the judge says of them."""
    rows = [
        [run.name, curve.trigger_size, *_sizes(curve), len(curve.known), f"{curve.seconds:,.0f} s"]
        for run in runs
        if (curve := curve_of(run)) is not None
    ]
    columns = f"campaign | true size | {' | '.join(f'eps {eps:g}' for eps in published.DISTANCES)} | n | solving time"
    lead = (
        "Sizes of forged trigger sets, cut out of the least distances: mean over signatures, (10% to "
        "90% of them), and the largest."
    )
    return [lead, markdown(columns.split(" | "), rows), *_rules(runs)] if rows else []


def _sizes(curve: SizeCurve) -> list[str]:
    found = [Spread.of(curve.at(eps)[0]) for eps in published.DISTANCES]
    return [f"{COUNT.write(one.mean)} ({one.low:g} to {one.high:g}), {one.most:g}" for one in found]


def _rules(runs: Sequence[Run]) -> list[str]:
    """Return which rules of verification refuse the forged sets."""
    rows = []
    for run in runs:
        frame = at_published_point(run.forged)
        some = frame[frame["size"] > 0]
        for (witnesses, eps), part in some.groupby(["witnesses", "eps"], sort=True):
            of_sets = (part["independent_accuracy"], part["distinct_cells"] / part["size"])
            refused = (part["stopped_by"], part["stopped_but_for_commitment"])
            texts = (*map(TWO.spread, of_sets), *map(_counted_rules, refused))
            rows.append([run.name, witnesses, f"{eps:g}", len(part), *texts])
    if not rows:
        return []
    lead = (
        "The forged sets put before the judge: accuracy of the standard forest on them, different cells "
        "over rows, how many of them each rule of verification refuses, and would if the forger had "
        "published a commitment before the model. Sets of least distances are the nearest rows, the others "
        "what the engine found."
    )
    columns = (
        "campaign | rows | eps | sets | standard forest's accuracy | cells / rows | refused by "
        "| but for the commitment"
    )
    return [lead, markdown(columns.split(" | "), rows)]


def _counted_rules(stopped_by: pd.Series[str]) -> str:
    """Return how many sets each rule refuses, and how many none does."""
    counts = Counter(rule or "none" for rules in stopped_by for rule in rules.split(", "))
    return ", ".join(f"{rule}: {count}" for rule, count in sorted(counts.items()))


DETAILS: Mapping[str, Callable[[Sequence[Run]], list[str]]] = {
    "Accuracy": accuracy_details,
    "Forgery": forgery_details,
}
"""By the title of the section that they go into."""
