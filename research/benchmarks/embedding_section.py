"""The section of docs/benchmarks.md about `research/benchmarks/embedding.py`, from its results file."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter

from research.benchmarks import common
from research.benchmarks.embedding import TRIGGER_SHARE, Difference, Peak, Row

Paired = TypeVar("Paired", Row, Difference)


def section(document: dict[str, Any]) -> str:
    """Return the section about the cost of watermarks."""
    rows = TypeAdapter(list[Row]).validate_python(document["rows"])
    gaps = TypeAdapter(list[Difference]).validate_python(document["differences"])
    peaks = TypeAdapter(list[Peak]).validate_python(document["memory"])
    return "\n\n".join(
        [
            "## Embedding against one plain fit",
            _provenance(document, rows),
            f"For each repeat (own signature, trigger rows and trees; trigger share {TRIGGER_SHARE:g}, half "
            f"of the bits ones) the same limits, adjusted as `{document['adjust']}`, are trained plainly, "
            "weights all 1, before and after, and watermarked by each training in the same process. Threads "
            f"of the plain fit and of `per-tree`: {document['jobs']}. Ratios are the whole embedding over "
            "the plain fit of its repeat: mean ± standard deviation (largest). Bits: share of the signature "
            "that strategy B of the paper's detection reads off, by depth / by leaves.",
            _costs(rows),
            *(_differences(gaps, document["reference"]) if gaps else []),
            "Peak resident memory, each in a fresh process, with the data and the libraries that are there "
            "before the fit. Ratio: peak of `per-tree` over that of the plain fit.",
            _memory(peaks),
        ]
    )


def _provenance(document: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return what was run and where; the options are those that lead to these rows."""
    machine = document["machine"]
    repeats = len({row.repeat for row in rows})
    paper = len({row.repeat for row in rows if row.training == "paper"})
    words = [
        *(f"--dataset {name}" for name in dict.fromkeys(row.dataset for row in rows)),
        *(f"--training {name}" for name in dict.fromkeys(row.training for row in rows)),
        f"--repeats {repeats}",
        *([f"--paper-repeats {paper}"] if paper not in (0, repeats) else []),
        f"--reference {document['reference']}",
        f"--adjust {document['adjust']} --jobs {document['jobs']}",
        "-o research/benchmarks/results/embedding.json",
    ]
    return (
        f"```\npython -m research.benchmarks.embedding {' '.join(words)}\n```\n{machine['processor']}, "
        f"{machine['processors']} cores; Python {machine['python']}, NumPy {machine['numpy']}, scikit-learn "
        f"{machine['scikit-learn']}; {document['date']}; seed 1, repeats counted from 0."
    )


def _costs(rows: Sequence[Row]) -> str:
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


_NAMES = {"paper": "the paper's loop", "artifact": "the authors' code"}


def _differences(gaps: Sequence[Difference], reference: str) -> list[str]:
    """Return what is said about paired differences, and their table."""
    columns = {"accuracy": "accuracy", "bits_depth": "bits by depth", "bits_leaves": "bits by leaves"}
    lines = []
    for alike in _by_training(gaps):
        cells = {gap.what: f"{gap.mean:+.4f} ± {gap.half_width:.4f}" for gap in alike}
        lines.append(
            [alike[0].dataset, alike[0].training, alike[0].repeats, *(cells[what] for what in columns)]
        )
    worse = [f"{columns[gap.what]} of {gap.training} on {gap.dataset}" for gap in gaps if _is_worse(gap)]
    return [
        f"Each training minus {_NAMES.get(reference, f'`{reference}`')}, paired by repeat: mean ± half-width "
        "of the 95% interval "
        "(Student's t). Less accuracy and more bits are worse; intervals wholly on that side: "
        f"{', '.join(worse) or 'none'} (of {len(gaps)}).",
        common.markdown(["data set", "training", "n", *columns.values()], lines),
    ]


def _is_worse(gap: Difference) -> bool:
    """Return whether the whole interval says that the training does worse than the reference."""
    return (-gap.mean if gap.what == "accuracy" else gap.mean) > gap.half_width


def _memory(peaks: Sequence[Peak]) -> str:
    """Return the table of memory."""
    of = {(peak.dataset, peak.what): peak for peak in peaks}

    def line(dataset: str) -> str:
        both = [of[dataset, what] for what in ("plain", "per-tree")]
        cells = [f"{peak.before_mib:.0f} to {peak.peak_mib:.0f}" for peak in both]
        return f"{dataset} | {' | '.join(cells)} | {both[1].peak_mib / both[0].peak_mib:.3g}"

    datasets = dict.fromkeys(peak.dataset for peak in peaks)
    return common.table("data set | plain MiB | per-tree MiB | ratio of peaks", datasets, line)
