"""The tables of docs/benchmarks.md about `research/benchmarks/embedding.py`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from research.benchmarks import common
from research.benchmarks.embedding import Difference, Peak, Row

Paired = TypeVar("Paired", Row, Difference)

COLUMNS = {"accuracy": "accuracy", "bits_depth": "bits by depth", "bits_leaves": "bits by leaves"}


def options(document: Mapping[str, Any]) -> str:
    """Return the options that lead to the rows of a results file."""
    rows = document["rows"]
    repeats = len({row.repeat for row in rows})
    paper = len({row.repeat for row in rows if row.training == "paper"})
    words = [
        *(f"--dataset {name}" for name in dict.fromkeys(row.dataset for row in rows)),
        *(f"--training {name}" for name in dict.fromkeys(row.training for row in rows)),
        f"--repeats {repeats}",
        *([f"--paper-repeats {paper}"] if paper not in (0, repeats) else []),
        f"--reference {document['reference']}",
        f"--adjust {document['adjust']} --jobs {document['jobs']}",
    ]
    return " ".join(words)


def costs(rows: Sequence[Row]) -> str:
    """Return the table of ratios, accuracies and bits."""

    def line(alike: Sequence[Row]) -> str:
        def mean(name: str) -> float:
            return statistics.fmean(getattr(row, name) for row in alike)

        plain_s = statistics.fmean(row.plain.cpu_s for row in alike)
        return (
            f"{alike[0].dataset} | {alike[0].training} | {len(alike)} | {plain_s:.3g} "
            f"| {_spread([row.cpu_ratio for row in alike])} | {_spread([row.wall_ratio for row in alike])} "
            f"| {mean('fits_per_tree'):.3g} | {mean('accuracy'):.4f} | {mean('accuracy_plain'):.4f} "
            f"| {mean('bits_depth'):.2f} / {mean('bits_leaves'):.2f}"
        )

    return common.table(
        "data set | training | n | plain fit s | times plain, processor | times plain, clock "
        "| fits of a tree | accuracy | plain accuracy | bits",
        _by_training(rows),
        line,
    )


def _spread(values: Sequence[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{deviation} ({max(values):.2f})"


def _by_training(rows: Sequence[Paired]) -> list[list[Paired]]:
    """Return the rows of each data set and training, in the order in which these come first."""
    places = dict.fromkeys((row.dataset, row.training) for row in rows)
    return [[row for row in rows if (row.dataset, row.training) == place] for place in places]


def differences(gaps: Sequence[Difference]) -> str:
    """Return the table of paired differences."""

    def line(alike: Sequence[Difference]) -> str:
        cells = {gap.what: f"{gap.mean:+.4f} ± {gap.half_width:.4f}" for gap in alike}
        numbers = " | ".join(cells[what] for what in COLUMNS)
        return f"{alike[0].dataset} | {alike[0].training} | {alike[0].repeats} | {numbers}"

    return common.table(f"data set | training | n | {' | '.join(COLUMNS.values())}", _by_training(gaps), line)


def worse(gaps: Sequence[Difference]) -> str:
    """Return which differences say with their whole interval that a training does worse than the reference."""
    found = [
        f"{COLUMNS[gap.what]} of {gap.training} on {gap.dataset}"
        for gap in gaps
        if (-gap.mean if gap.what == "accuracy" else gap.mean) > gap.half_width
    ]
    return ", ".join(found) or "none"


def memory(peaks: Sequence[Peak]) -> str:
    """Return the table of memory."""
    of = {(peak.dataset, peak.what): peak for peak in peaks}

    def line(dataset: str) -> str:
        both = [of[dataset, what] for what in ("plain", "per-tree")]
        cells = [f"{peak.before_mib:.0f} to {peak.peak_mib:.0f}" for peak in both]
        return f"{dataset} | {' | '.join(cells)} | {both[1].peak_mib / both[0].peak_mib:.3g}"

    datasets = dict.fromkeys(peak.dataset for peak in peaks)
    return common.table("data set | plain MiB | per-tree MiB | ratio of peaks", datasets, line)
