"""ONNX files with one tree ensemble (`TreeEnsembleClassifier`, `TreeEnsembleRegressor`), without onnx.

The operators' attributes are in the documentation of domain
ai.onnx.ml. A classifier whose leaves hold class shares, of one sum, votes; any other adds margins. Two
classes may share one weight for each leaf, which counts for the second class.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from wm.errors import ModelError
from wm.formats.assembling import Tree, assemble, margin_model
from wm.formats.fields import shown
from wm.formats.forest_checks import InputDtype
from wm.formats.onnx_graph import Attributes, matrix_input, metadata, operators
from wm.models import Link, TreeModel

FEATURE_NAMES = "feature_names"
"""Where the metadata have the names of features, as JSON."""

_ENSEMBLES = {"TreeEnsembleClassifier": "class", "TreeEnsembleRegressor": "target"}
_HARMLESS = ("Cast", "Identity", "ZipMap")
"""Operators that change no number: they may surround the ensemble."""

_LINKS = {"NONE": Link.IDENTITY, "LOGISTIC": Link.LOGISTIC, "SOFTMAX": Link.SOFTMAX}
_ROUNDING = 1e-5
"""Tolerance for class shares, which are rounded to float32, to have one sum in all leaves."""

_NEAR_HALF = 1e-6
"""A share this near to a half is a half that was rounded to float32."""


def read(data: bytes) -> TreeModel:
    """Return the model of a file's bytes.

    Raises
    ------
    ModelError
        Damaged or hostile bytes, or a graph that has no exact form here: other operators than one tree
        ensemble, tests of equality (categorical splits), other transforms than NONE, LOGISTIC and SOFTMAX.
    """
    graph, found = operators(data)
    ensembles = [each for name in _ENSEMBLES for each in found.get(name, [])]
    others = sorted(found.keys() - {*_ENSEMBLES, *_HARMLESS})
    if len(ensembles) != 1 or others:
        names = f"{len(ensembles)} tree ensembles" + (f" and {shown(', '.join(others))}" if others else "")
        raise ModelError(f"its graph holds {names}: one tree ensemble alone is read, without preparation")
    attributes = ensembles[0]
    operator = next(name for name in _ENSEMBLES if name in found)
    dtype, width = matrix_input(graph)
    trees, weights = _trees(attributes, _ENSEMBLES[operator])
    n_features = max([width, *(int(tree.feature.max()) + 1 for tree in trees)])
    kind = _regressor if operator == "TreeEnsembleRegressor" else _classifier
    model = kind(attributes, trees, weights, n_features, dtype)
    return replace(model, feature_names=_feature_names(data, n_features))


def _feature_names(data: bytes, n_features: int) -> tuple[str, ...]:
    """Return the names of features as `wm.exporting.onnx_model` writes them; none if there are no such."""
    with suppress(ValidationError):
        found = TypeAdapter(tuple[str, ...]).validate_json(metadata(data, FEATURE_NAMES) or "[]")
        return found if len(found) == n_features else ()
    return ()


@dataclass(frozen=True, eq=False)
class _Weights:
    """The weights of all leaves: tree, node within it, output and weight."""

    tree: NDArray[np.int64]
    node: NDArray[np.int64]
    output: NDArray[np.int64]
    weight: NDArray[np.float64]

    def of(self, tree: int, outputs: int, nodes: int) -> NDArray[np.float64]:
        """Return the weights of one tree's nodes: (nodes, outputs)."""
        mine = self.tree == tree
        found = np.zeros((nodes, outputs))
        np.add.at(found, (self.node[mine], self.output[mine]), self.weight[mine])
        return found


def _trees(attributes: Attributes, prefix: str) -> tuple[list[Tree], _Weights]:
    """Return the trees, without values, and the weights of their leaves, both renumbered from 0."""
    names = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
    tree, node, feature, true, false = (attributes.integers(f"nodes_{name}") for name in names)
    modes, value = np.array(attributes.texts("nodes_modes")), attributes.reals("nodes_values")
    tracks = attributes.integers("nodes_missing_value_tracks_true")
    tracks = tracks if len(tracks) else np.zeros(len(tree), dtype=np.int64)
    if not len(tree) or {len(each) for each in (node, feature, true, false, modes, value, tracks)} != {
        len(tree)
    }:
        raise ModelError("the attributes of its nodes have different lengths, or none")
    owner, own_node = attributes.integers(f"{prefix}_treeids"), attributes.integers(f"{prefix}_nodeids")
    output, weight = attributes.integers(f"{prefix}_ids"), attributes.reals(f"{prefix}_weights")
    if len({len(each) for each in (owner, own_node, output, weight)}) != 1:
        raise ModelError("the attributes of its leaves have different lengths")
    trees = []
    weight_tree, weight_node = np.full(len(owner), -1), np.full(len(owner), -1)
    for number, name in enumerate(np.unique(tree)):
        rows = np.flatnonzero(tree == name)
        rows = rows[np.argsort(node[rows], kind="stable")]
        ids = node[rows]
        if (np.diff(ids) == 0).any():
            raise ModelError(f"tree {number} has two nodes of one number")
        trees.append(
            _tree(
                modes[rows],
                value[rows],
                feature[rows],
                tracks[rows] != 0,
                [_places(ids, side[rows], modes[rows] == "LEAF", number) for side in (true, false)],
                number,
            )
        )
        mine = owner == name
        weight_tree[mine], weight_node[mine] = number, _places(ids, own_node[mine], np.array(False), number)
    if (weight_tree < 0).any() or (len(output) and output.min() < 0):
        raise ModelError("a leaf's weight belongs to no tree or output")
    return trees, _Weights(weight_tree, weight_node, output, weight)


def _places(
    ids: NDArray[np.int64], wanted: NDArray[np.int64], no_child: NDArray[np.bool_], number: int
) -> NDArray[np.int64]:
    """Return the place of each wanted node among a tree's nodes, -1 where there is no child."""
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    if ((ids[place] != wanted) & ~no_child).any():
        raise ModelError(f"tree {number} names a node that is not there")
    return np.where(no_child, -1, place)


def _tree(
    modes: NDArray[np.str_],
    value: NDArray[np.float64],
    feature: NDArray[np.int64],
    tracks: NDArray[np.bool_],
    sides: list[NDArray[np.int64]],
    number: int,
) -> Tree:
    """Return a tree whose tests are all "x <= threshold"."""
    if other := sorted(set(modes.tolist()) - {"LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"}):
        raise ModelError(
            f"tree {number} has tests of kind {shown(', '.join(other))} (categorical splits), which have no "
            "exact form here: encode them"
        )
    children = np.concatenate(sides)
    if (children == 0).any():
        raise ModelError(f"tree {number}: its first node is not its root")
    # x > t is true where x <= t is false, and x >= t where x <= (just below t) is.
    mirrored = np.isin(modes, ("BRANCH_GT", "BRANCH_GTE"))
    strict = np.isin(modes, ("BRANCH_LT", "BRANCH_GTE"))
    true, false = sides
    return Tree(
        left=np.where(mirrored, false, true),
        right=np.where(mirrored, true, false),
        feature=feature,
        threshold=np.where(strict, np.nextafter(value, -np.inf), value),
        value=np.zeros(len(value)),
        missing_left=tracks != mirrored,
    )


def _regressor(
    attributes: Attributes, trees: list[Tree], weights: _Weights, n_features: int, dtype: InputDtype
) -> TreeModel:
    aggregate, transform = (
        attributes.text("aggregate_function", "SUM"),
        attributes.text("post_transform", "NONE"),
    )
    if aggregate not in ("SUM", "AVERAGE") or transform != "NONE":
        raise ModelError(
            f"aggregates by {shown(aggregate)} with transform {shown(transform)}: not known here"
        )
    return _margins(
        attributes, trees, weights, attributes.integer("n_targets", 1), n_features, dtype,
        link=Link.IDENTITY, classes=None, is_mean=aggregate == "AVERAGE",
    )  # fmt: skip


def _classifier(
    attributes: Attributes, trees: list[Tree], weights: _Weights, n_features: int, dtype: InputDtype
) -> TreeModel:
    numbers, texts = attributes.integers("classlabels_int64s"), attributes.texts("classlabels_strings")
    classes = np.array(texts) if texts else numbers
    if len(classes) < 2 or len(np.unique(classes)) < len(classes):
        raise ModelError("its classes are not two or more different ones")
    if len(weights.output) and weights.output.max() >= len(classes):
        raise ModelError("a leaf's weight is of a class that the model does not have")
    transform = attributes.text("post_transform", "NONE")
    if transform not in _LINKS:
        raise ModelError(f"transforms its sums by {shown(transform)}: not known here")
    shared = len(classes) == 2 and len(np.unique(weights.output)) <= 1
    if transform == "NONE" and not len(attributes.reals("base_values")):
        values = _shares(trees, weights, len(classes), shared=shared)
        if values is not None:
            order = np.argsort(classes)
            voting = [
                Tree(each.left, each.right, each.feature, each.threshold, value[:, order], each.missing_left)
                for each, value in zip(trees, values, strict=True)
            ]
            forest, _ = assemble(voting, n_features=n_features, classes=classes[order], input_dtype=dtype)
            return TreeModel("ONNX", forest, classes=classes[order])
    if shared:
        weights = _Weights(weights.tree, weights.node, np.zeros_like(weights.output), weights.weight)
        if transform == "SOFTMAX":
            raise ModelError("transforms one sum of two classes by SOFTMAX: not known here")
    elif transform == "LOGISTIC":
        return _margins(
            attributes, trees, weights, len(classes), n_features, dtype,
            link=Link.ONE_AGAINST_ALL, classes=classes,
        )  # fmt: skip
    return _margins(
        attributes, trees, weights, 1 if shared else len(classes), n_features, dtype,
        link=Link.LOGISTIC if shared else _LINKS[transform], classes=classes,
    )  # fmt: skip


def _shares(
    trees: list[Tree], weights: _Weights, classes: int, *, shared: bool
) -> list[NDArray[np.float64]] | None:
    """Return each tree's class shares, (nodes, c), if that is what its leaves hold; None for margins."""
    if (weights.weight < 0).any():
        return None
    found = []
    for number, tree in enumerate(trees):
        value = weights.of(number, classes, len(tree.left)) * len(trees)
        if shared:
            positive = value.sum(axis=1)
            positive = np.where(np.abs(positive - 0.5) < _NEAR_HALF, 0.5, positive)
            value = np.stack([1.0 - positive, positive], axis=1)
            if (positive > 1 + _ROUNDING).any():
                return None
            value = np.maximum(value, 0.0)
        leaf = tree.left < 0
        if (np.abs(value[leaf].sum(axis=1) - 1.0) > _ROUNDING).any():
            return None
        found.append(np.where(leaf[:, None], value, 1.0 / classes))
    return found


def _margins(
    attributes: Attributes,
    trees: list[Tree],
    weights: _Weights,
    outputs: int,
    n_features: int,
    dtype: InputDtype,
    **rest: Any,
) -> TreeModel:
    if outputs < 1 or (len(weights.output) and weights.output.max() >= outputs):
        raise ModelError("a leaf's weight is of an output that the model does not have")
    base = attributes.reals("base_values")
    if len(base) not in (0, outputs):
        raise ModelError(f"base_values has {len(base)} numbers for {outputs} outputs")
    scalar = list(_scalar_trees(trees, weights, outputs))
    return margin_model(
        "ONNX",
        [tree for tree, _ in scalar],
        column=[column for _, column in scalar],
        base=base if len(base) else np.zeros(outputs),
        n_features=n_features,
        input_dtype=dtype,
        added_in="float32" if dtype == "float32" else "float64",
        **rest,
    )


def _scalar_trees(trees: list[Tree], weights: _Weights, outputs: int) -> Iterator[tuple[Tree, int]]:
    """Yield for each tree and each output that it adds to a tree of that output."""
    for number, tree in enumerate(trees):
        value = weights.of(number, outputs, len(tree.left))
        for column in np.unique(weights.output[weights.tree == number]).tolist() or [0]:
            yield (
                Tree(
                    tree.left, tree.right, tree.feature, tree.threshold, value[:, column], tree.missing_left
                ),
                column,
            )
