"""The audit of models whose trees add margins.

Libraries of boosted trees record sums over the training rows at each node: counts, and sums of weights times
second derivatives (hessians). In the first tree of each output all rows have one prediction, and in most
losses so one derivative: there the sums are sums of weights, up to a factor, and show heavier rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wm.attacks.leakage.findings import Finding, Severity
from wm.attacks.leakage.inspection import LeakageReport
from wm.attacks.leakage.node_weights import NodeWeights
from wm.models import Link, TreeModel

_REMEDY = "release a file without these fields: predictions need splits and leaf values only"

_WHOLE = 1e-3
"""A sum of weights this near to a whole number is one: the sums are of float32 numbers."""

_USUAL = 0.5
"""Share of the first tree's leaves that must agree on a row's usual weight before others count as heavy."""


def inspect_model(model: TreeModel) -> LeakageReport:
    """Audit a model, from its file's content alone, without data or predictions."""
    nodes = _first_trees(model)
    found = [*_weight_findings(model, nodes), *_trace_findings(model)]
    rank = list(Severity)
    return LeakageReport(
        findings=tuple(sorted(found, key=lambda finding: rank.index(finding.severity))),
        signature=None,
        trigger_size=None,
        trigger_labels=None,
        weights=(),
        distinct_seeds=None,
        n_trees=model.forest.n_trees,
        heavy_leaves=int(nodes.heavy.sum()),
        _nodes=nodes,
    )


def _first_trees(model: TreeModel) -> NodeWeights:
    """Return the first tree of each output, with rows and weights if the file holds usable ones."""
    outputs = 1 if model.margins is None else len(model.margins.base)
    columns = np.zeros(model.forest.n_trees) if model.margins is None else model.margins.column
    trees = [int(np.argmax(columns == output)) for output in range(outputs)]
    forest = model.forest.select(trees)
    if _counts_draws(model):
        return NodeWeights(forest)
    rows, weight = (_of_trees(model, each, trees) for each in (model.traces.rows, model.traces.weight))
    if rows is None or weight is None or not ((rows > 0).all() and (weight > 0).all()):
        return NodeWeights(forest)
    ratio = (weight / rows)[forest.is_leaf]
    agree = np.isclose(ratio, np.median(ratio), rtol=1e-5).mean()
    if agree < _USUAL:
        return NodeWeights(forest)
    return NodeWeights(forest, rows=rows.astype(np.int64), weight=weight / np.median(ratio))


def _of_trees(
    model: TreeModel, values: NDArray[np.float64] | None, trees: list[int]
) -> NDArray[np.float64] | None:
    if values is None:
        return None
    offset = model.forest.offset
    return np.concatenate([values[offset[tree] : offset[tree + 1]] for tree in trees])


def _weight_findings(model: TreeModel, nodes: NodeWeights) -> Iterator[Finding]:
    """Report rows of other weights than the usual one, where sums in the first trees show them."""
    if nodes.heavy.any():
        yield Finding(
            "heavy-leaves",
            Severity.CRITICAL,
            f"{int(nodes.heavy.sum())} leaves of the first trees weigh more than their rows: anybody with "
            "candidates can pick them out (membership)",
            _REMEDY,
        )
        return
    rows, weight = model.traces.rows, model.traces.weight
    leaf = model.forest.is_leaf & (model.forest.node_tree == 0)
    if weight is None or not (weight[leaf] > 0).any() or _counts_draws(model):
        return
    if rows is not None and (rows[leaf] > 0).all():
        ratio = weight[leaf] / rows[leaf]
        if not np.isclose(ratio, np.median(ratio), rtol=1e-5).all():
            yield _uneven(f"weights per row from {ratio.min():.4g} to {ratio.max():.4g} in its leaves")
        return
    unit = _first_hessian(model)
    if unit is not None:
        found = weight[leaf] / unit
        if (np.abs(found - np.round(found)) > _WHOLE * np.maximum(1.0, found / 1000)).any():
            yield _uneven(f"sums of weights that are not whole numbers, as {found[0]:.6g}")


def _counts_draws(model: TreeModel) -> bool:
    """Return whether weights count how often rows were drawn: whole numbers, other rows for each tree."""
    rows, weight, roots = model.traces.rows, model.traces.weight, model.forest.offset[:-1]
    if rows is None or weight is None or not rows[roots].all():
        return False
    return len(np.unique(rows[roots])) > 1 and bool((weight == np.round(weight)).all())


def _uneven(detail: str) -> Finding:
    return Finding(
        "row-weights",
        Severity.HIGH,
        f"the first tree shows {detail}: training rows have different weights, and heavy ones narrow down "
        "which rows mattered",
        _REMEDY,
    )


def _first_hessian(model: TreeModel) -> float | None:
    """Return the second derivative of a row of weight 1 before the first tree; None if it varies."""
    margins = model.margins
    if margins is None or margins.link not in (Link.IDENTITY, Link.LOGISTIC) or model.framework != "XGBoost":
        return None
    if margins.link is Link.IDENTITY:
        return 1.0
    share = 1.0 / (1.0 + np.exp(-margins.base[0]))
    return float(share * (1.0 - share))


def _trace_findings(model: TreeModel) -> Iterator[Finding]:
    """Report what the file holds beyond predictions."""
    traces = model.traces
    rows, weight = traces.rows, traces.weight
    fields = ", ".join(traces.fields)
    if rows is not None and rows.any():
        yield Finding(
            "training-counts",
            Severity.INFO,
            f"the file counts the training rows at nodes, {int(rows[0])} at its first root ({fields})",
            _REMEDY,
        )
    elif weight is not None and weight.any():
        yield Finding(
            "training-sums",
            Severity.INFO,
            f"the file sums weights of training rows at nodes, {weight.max():.6g} at most ({fields})",
            _REMEDY,
        )
    for name, text in traces.notes:
        yield Finding(
            "training-notes",
            Severity.INFO,
            f"the file holds {name}: {text}",
            "leave it out of the released file",
        )
