"""Scrubbing of other libraries' files: the fields of training are emptied, all that predicts stays.

Libraries of boosted trees record counts and sums over the training rows at each node. Their readers want
these fields, so that they stay, with zeros.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np

from wm.errors import ModelError
from wm.formats import ubjson, xgboost_file
from wm.formats.fields import items, parse_json, part
from wm.models import TreeModel

_KEPT_ATTRIBUTES = ("best_iteration", "scikit_learn", xgboost_file.INTERFACE)
"""Attributes of an XGBoost model that its users predict with."""

_LIGHTGBM_EMPTIED = ("split_gain", "leaf_weight", "leaf_count", "internal_weight", "internal_count")


def _xgboost(data: bytes) -> bytes:
    document = parse_json(data) if data[1:].lstrip()[:1] == b'"' else ubjson.parse(data)
    learner = part(document, "learner")
    booster = part(learner, "gradient_booster")
    for tree in items(booster["gbtree"]["model"] if "gbtree" in booster else part(booster, "model"), "trees"):
        leaf = np.asarray(tree["left_children"]) < 0
        # At a leaf the base weight repeats its value; inside it is a mean over the training rows.
        tree["base_weights"] = np.where(leaf, tree["split_conditions"], 0.0)
        for name in ("loss_changes", "sum_hessian"):
            if name in tree:
                tree[name] = [0.0] * len(leaf)
    attributes = learner.get("attributes", {})
    learner["attributes"] = {name: attributes[name] for name in _KEPT_ATTRIBUTES if name in attributes}
    return json.dumps(document, default=lambda array: array.tolist()).encode()


def _lightgbm(data: bytes) -> bytes:
    head, _, rest = data.decode().partition("\nTree=")
    body, _, tail = rest.partition("\nend of trees")
    names = "|".join((*_LIGHTGBM_EMPTIED, "internal_value"))
    blocks = [
        re.sub(rf"^({names})=(.*)$", _zeros, f"Tree={block}", flags=re.MULTILINE)
        for block in body.split("\nTree=")
    ]
    # LightGBM cuts the text by these sizes, each with the line's end before the next tree.
    sizes = " ".join(str(len(block.encode()) + 1) for block in blocks)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.MULTILINE)
    head = re.sub(r"^(feature_infos)=(.*)$", _no_ranges, head, flags=re.MULTILINE)
    head = re.sub(r"^monotone_constraints=.*\n", "", head, flags=re.MULTILINE)
    categories = re.search(r"^pandas_categorical:.*$", tail, flags=re.MULTILINE)
    end = "" if categories is None else f"\n{categories[0]}\n"
    return "\n".join([head, *blocks, f"end of trees\n{end}"]).encode()


def _zeros(line: re.Match[str]) -> str:
    return f"{line[1]}={' '.join('0' for _ in line[2].split())}"


def _no_ranges(line: re.Match[str]) -> str:
    return f"{line[1]}={' '.join('none' for _ in line[2].split())}"


def _catboost(data: bytes) -> bytes:
    """Empty fields in the text itself: CatBoost reads other digits of the same number as another one."""
    own = part(parse_json(data), "model_info")
    kept = {name: own[name] for name in ("class_params", "model_guid") if name in own}
    kept["params"] = {"flat_params": {}, "loss_function": part(own, "params", "loss_function")}
    text = data.decode()
    start = re.search(r'"model_info"\s*:\s*', text)
    if start is None:
        raise ModelError("its model_info is written in an unusual way")
    _, end = json.JSONDecoder().raw_decode(text, start.end())
    text = text[: start.end()] + json.dumps(kept) + text[end:]
    return re.sub(r'("leaf_weights"\s*:\s*)\[([^\]]*)\]', _no_weights, text).encode()


def _no_weights(found: re.Match[str]) -> str:
    zeros = ",".join("0" for each in found[2].split(",") if each.strip())
    return f"{found[1]}[{zeros}]"


_SCRUBBERS: dict[str, tuple[tuple[str, ...], Callable[[bytes], bytes]]] = {
    "XGBoost": ((".json",), _xgboost),
    "LightGBM": ((".txt", ".lgb"), _lightgbm),
    "CatBoost": ((".json",), _catboost),
}


def scrubbed_endings(model: TreeModel) -> tuple[str, ...]:
    """Return the endings of the files that `scrubbed_file` writes for a model; .npz if it writes none."""
    return _SCRUBBERS[model.framework][0] if model.framework in _SCRUBBERS else (".npz",)


def scrubbed_file(model: TreeModel, data: bytes, read: Callable[[bytes], TreeModel]) -> bytes:
    """Return a model's file without what its predictions do not need.

    Parameters
    ----------
    model
        As read from `data`.
    data
        The file's content.
    read
        Reads what is returned, to check that it is the same model.

    Raises
    ------
    ModelError
        The result would be another model.
    """
    content = _SCRUBBERS[model.framework][1](data)
    again = read(content)
    if not same_model(model, again):
        raise ModelError("scrubbed, it would be another model: nothing was written")
    return content


def same_model(model: TreeModel, other: TreeModel) -> bool:
    """Return whether two models predict alike: the same trees, margins, link and base scores."""
    if model.forest.content_hash != other.forest.content_hash:
        return False
    one, two = model.margins, other.margins
    if one is None or two is None:
        return one is two
    if (one.link, one.scale, one.is_mean) != (two.link, two.scale, two.is_mean):
        return False
    arrays = ((one.leaf, two.leaf), (one.column, two.column), (one.base, two.base))
    return all(np.array_equal(*pair) for pair in arrays)
