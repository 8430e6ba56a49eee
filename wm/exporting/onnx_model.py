"""Export to ONNX: one `TreeEnsembleClassifier`, whose probabilities are shares of votes."""

from __future__ import annotations

import importlib
import json
import math
from typing import Any

import numpy as np

from wm.errors import ModelError
from wm.exporting.labels import class_labels
from wm.exporting.rounding import float32_below
from wm.forest import Forest
from wm.formats.onnx_file import FEATURE_NAMES
from wm.interface import Interface


def write(forest: Forest, interface: Interface | None) -> bytes:
    """Return an ONNX file, whose input is model input: float32, (n, d)."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as reason:
        raise ModelError("onnx is not installed: pip install 'treeproof[onnx]'") from reason
    helper, types = onnx.helper, onnx.TensorProto
    labels = class_labels(forest, interface)
    labels, kind = (labels, "int64s") if labels.dtype.kind in "iu" else (labels.astype(str), "strings")
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "probabilities"],
        domain="ai.onnx.ml",
        post_transform="NONE",
        **{f"classlabels_{kind}": labels.tolist()},
        **_nodes(forest),
    )
    graph = helper.make_graph(
        [node],
        "forest",
        [helper.make_tensor_value_info("X", types.FLOAT, [None, forest.n_features])],
        [
            helper.make_tensor_value_info(
                "label", types.STRING if kind == "strings" else types.INT64, [None]
            ),
            helper.make_tensor_value_info("probabilities", types.FLOAT, [None, len(labels)]),
        ],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="treeproof")
    if interface is not None:
        helper.set_model_props(model, {FEATURE_NAMES: json.dumps(interface.preparation.feature_names)})
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _nodes(forest: Forest) -> dict[str, list[Any]]:
    """Return the attributes of nodes and leaves."""
    tree, leaf = forest.node_tree, forest.is_leaf
    own = np.arange(len(leaf)) - forest.offset[tree]
    leaves = np.flatnonzero(leaf)
    classes = forest.node_class[leaves]
    weights = np.full(len(leaves), _weight(forest.n_trees))
    if (
        len(forest.classes) == 2
    ):  # one weight for both, which counts for class 1: else runtimes find no majority
        weights, classes = weights * classes, np.zeros_like(classes)
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": own.tolist(),
        "nodes_featureids": np.where(leaf, 0, forest.feature).tolist(),
        "nodes_values": np.where(leaf, 0, float32_below(forest.threshold)).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(leaf, 0, forest.left).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, forest.right).tolist(),
        "nodes_missing_value_tracks_true": np.zeros(len(leaf), dtype=int).tolist(),
        "class_treeids": tree[leaves].tolist(),
        "class_nodeids": own[leaves].tolist(),
        "class_ids": classes.tolist(),
        "class_weights": weights.tolist(),
    }


def _weight(trees: int) -> float:
    """Return 1 / m, rounded down to so few bits that sums of up to m of them are exact in float32.

    Runtimes compare the share of class 1 of two with 1/2: half the votes are not above it, one more is.
    """
    unit = 2.0 ** (24 - trees.bit_length() + (trees - 1).bit_length())
    weight = math.floor(unit / trees) / unit
    if (trees // 2 + 1) * weight <= 0.5:
        raise ModelError(f"{trees} trees are too many for a majority of shares in float32")
    return weight
