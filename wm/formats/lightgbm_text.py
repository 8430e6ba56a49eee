"""LightGBM's model text (``.txt``), without LightGBM.

A node sends an instance left iff ``x <= threshold`` in float64, after numbers within 1e-35 of zero were
replaced by zero. Where a missing value goes depends on the node's missing type: with "None" it counts as
zero, with "NaN" and "Zero" it takes the node's default side; with "Zero" so does zero itself. The order of
the bits of `decision_type` is in LightGBM's include/LightGBM/tree.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.assembling import Tree, margin_model
from wm.formats.fields import only_known, shown, whole
from wm.models import Link, TreeModel

_ZERO = float(np.float32(1e-35))
"""kZeroThreshold: numbers up to it count as zero."""

_CATEGORICAL, _DEFAULT_LEFT, _MISSING = 1, 2, 12
_NONE, _ZERO_IS_MISSING, _NAN = 0, 4, 8

_LINKS = {
    "binary": Link.LOGISTIC,
    "cross_entropy": Link.LOGISTIC,
    "multiclass": Link.SOFTMAX,
    "multiclassova": Link.ONE_AGAINST_ALL,
    "regression": Link.IDENTITY,
    "regression_l1": Link.IDENTITY,
    "huber": Link.IDENTITY,
    "fair": Link.IDENTITY,
    "quantile": Link.IDENTITY,
    "mape": Link.IDENTITY,
    "lambdarank": Link.IDENTITY,
    "rank_xendcg": Link.IDENTITY,
    "poisson": Link.EXP,
    "gamma": Link.EXP,
    "tweedie": Link.EXP,
}
_CLASSIFIERS = ("binary", "multiclass", "multiclassova")

_HEADER = (
    "tree",
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "average_output",
    "feature_names",
    "monotone_constraints",
    "feature_infos",
    "tree_sizes",
)
_TREE_FIELDS = (
    "num_leaves",
    "num_cat",
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_value",
    "leaf_weight",
    "leaf_count",
    "internal_value",
    "internal_weight",
    "internal_count",
    "is_linear",
    "shrinkage",
)
_VERSIONS = ("v3", "v4")

_TRACED = ("leaf_count", "internal_count", "leaf_weight", "internal_weight", "split_gain")


def read(data: bytes) -> TreeModel:
    """Return the model of a file's bytes.

    Raises
    ------
    ModelError
        Damaged or hostile bytes, or a model that has no exact form here: categorical splits, linear trees,
        zero as a missing value that goes against its side of the threshold, other objectives than these.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as reason:
        raise ModelError("is not UTF-8 text") from reason
    head, _, rest = text.partition("\nTree=")
    body, _, tail = rest.partition("\nend of trees")
    header = _pairs(head)
    if not body or not head.startswith("tree"):
        raise ModelError("is not LightGBM's model text: it has no trees")
    only_known(header, _HEADER, "its header")
    if header.get("version") not in _VERSIONS:
        raise ModelError(f"is of version {shown(header.get('version'))}; {' and '.join(_VERSIONS)} are known")
    trees = [_tree(block, number) for number, block in enumerate(body.split("\nTree="))]
    objective, *settings = header.get("objective", "none").split() or ["none"]
    if objective not in _LINKS or "sqrt" in settings:
        name = " ".join([objective, *settings])
        raise ModelError(f"its objective {shown(name)!r} is not known here; {', '.join(_LINKS)} are")
    columns = whole(header, "num_tree_per_iteration")
    if columns < 1 or len(trees) % columns:
        raise ModelError(f"has {len(trees)} trees, but {columns} in each iteration")
    sigmoid = [each.removeprefix("sigmoid:") for each in settings if each.startswith("sigmoid:")]
    return margin_model(
        "LightGBM",
        trees,
        column=np.arange(len(trees)) % columns,
        base=np.zeros(columns),
        link=_LINKS[objective],
        scale=float(_array(sigmoid[0], 1, "sigmoid", np.float64)[0]) if sigmoid else 1.0,
        is_mean="average_output" in header,
        n_features=whole(header, "max_feature_idx") + 1,
        classes=np.arange(max(2, columns)) if objective in _CLASSIFIERS else None,
        input_dtype="float64",
        feature_names=header.get("feature_names", "").split(),
        traced=_TRACED,
        notes=_notes(header, tail),
    )


def _pairs(text: str) -> dict[str, str]:
    """Return the lines NAME=VALUE of a text; a line without a sign is a name."""
    lines = (line.partition("=") for line in text.splitlines() if line.strip())
    return {name.strip(): value for name, _, value in lines}


def _array(text: str, count: int, name: str, dtype: Any) -> NDArray[Any]:
    try:
        found = np.array(text.split(), dtype=dtype)
    except (ValueError, OverflowError) as reason:
        raise ModelError(f"{name} holds something other than numbers") from reason
    if len(found) != count:
        raise ModelError(f"{name} has {len(found)} numbers, not {count}")
    return found


def _tree(block: str, number: int) -> Tree:
    lines = _pairs(block.partition("\n")[2])
    leaves = whole(lines, "num_leaves")
    inner = leaves - 1
    if leaves < 1 or whole({"num_cat": lines.get("num_cat", "0")}, "num_cat"):
        raise ModelError(f"tree {number} has categorical splits, which have no exact form here: encode them")
    if lines.get("is_linear", "0").strip() != "0":
        raise ModelError(f"tree {number} has linear functions in its leaves, which have no exact form here")

    only_known(lines, _TREE_FIELDS, f"tree {number}")

    def array(name: str, count: int, dtype: Any = np.float64) -> NDArray[Any]:
        if name not in lines and count:
            raise ModelError(f"tree {number} lacks {name}")
        return _array(lines.get(name, "") if count else "", count, f"tree {number}: {name}", dtype)

    kinds = array("decision_type", inner, np.int64)
    threshold = array("threshold", inner)
    if (kinds & _CATEGORICAL).any():
        raise ModelError(f"tree {number} has categorical splits, which have no exact form here: encode them")
    threshold, missing_left = _tests(threshold, kinds, number)
    # Inner nodes first; leaf j, written as -1 - j, follows as node inner + j.
    left, right = (
        np.where(side < 0, inner - 1 - side, side)
        for side in (array(f"{name}_child", inner, np.int64) for name in ("left", "right"))
    )
    at_leaves = np.full(leaves, -1)
    traces = {
        name: np.concatenate([array(f"internal_{field}", inner), array(f"leaf_{field}", leaves)])
        for name, field in (("rows", "count"), ("weight", "weight"))
        if f"leaf_{field}" in lines and (not inner or f"internal_{field}" in lines)
    }
    return Tree(
        left=np.concatenate([left, at_leaves]),
        right=np.concatenate([right, at_leaves]),
        feature=np.concatenate([array("split_feature", inner, np.int64), at_leaves]),
        threshold=np.concatenate([threshold, np.zeros(leaves)]),
        value=np.concatenate([np.zeros(inner), array("leaf_value", leaves)]),
        missing_left=np.concatenate([missing_left, np.zeros(leaves, dtype=bool)]),
        traces=traces,
    )


def _tests(
    threshold: NDArray[np.float64], kinds: NDArray[np.int64], number: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each inner node's threshold for numbers that are not rounded to zero, and NaN's side."""
    # All numbers that count as zero go where zero goes.
    near = np.abs(threshold) <= _ZERO
    threshold = np.where(near, np.where(threshold >= 0, _ZERO, np.nextafter(-_ZERO, -np.inf)), threshold)
    zero_left = threshold >= _ZERO
    default_left, missing = (kinds & _DEFAULT_LEFT) != 0, kinds & _MISSING
    if ((missing == _ZERO_IS_MISSING) & (default_left != zero_left)).any():
        raise ModelError(
            f"tree {number} sends zero, as a missing value, against its side of a threshold "
            "(zero_as_missing), which has no exact form here"
        )
    if (missing == _MISSING).any():
        raise ModelError(f"tree {number} has a missing type that is not known here")
    return threshold, np.where(missing == _NONE, zero_left, default_left)


def _notes(header: dict[str, str], tail: str) -> list[tuple[str, str]]:
    notes: list[tuple[str, str]] = [
        (name, shown(header[name]))
        for name in ("feature_infos", "monotone_constraints")
        if set(header.get(name, "").split()) - {"none"}
    ]
    if "\nparameters:" in tail:
        lines = tail.partition("\nparameters:")[2].partition("\nend of parameters")[0].splitlines()
        notes.append(("parameters", f"{sum(bool(line.strip()) for line in lines)} training parameters"))
    if "pandas_categorical:" in tail and "pandas_categorical:null" not in tail:
        notes.append(("pandas_categorical", "category names"))
    return notes
