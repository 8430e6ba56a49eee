"""Damaged and hostile model files: refused with one clear line that names the file, never another error."""

from __future__ import annotations

import json

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from wm.errors import ModelError
from wm.formats.reading import read_model

ROWS, TRUTH = load_breast_cancer(return_X_y=True)
ROWS = ROWS[:, :4]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 2}, xgboost.DMatrix(ROWS, label=TRUTH), 2
    )
    grown = lightgbm.train(
        {"objective": "binary", "num_leaves": 4, "verbose": -1}, lightgbm.Dataset(ROWS, label=TRUTH), 2
    )
    made = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False)
    made.fit(ROWS, TRUTH).save_model(str(folder / "c.json"), format="json")
    forest = RandomForestClassifier(2, max_depth=2).fit(ROWS, TRUTH)
    return {
        "xgboost.json": bytes(booster.save_raw("json")),
        "xgboost.ubj": bytes(booster.save_raw("ubj")),
        "lightgbm.txt": grown.model_to_string().encode(),
        "catboost.json": (folder / "c.json").read_bytes(),
        "forest.onnx": to_onnx(forest, ROWS[:1].astype(np.float32)).SerializeToString(),
    }


def outcome(folder, name, content):
    """Whether the content is accepted; a refusal must be one line that names the file."""
    file = folder / name
    file.write_bytes(content)
    try:
        model = read_model(file)
    except ModelError as reason:
        text = str(reason)
        assert text.startswith(f"{file}: "), text
        assert text.isprintable(), text
        assert len(text) < 600
        return False
    assert np.isfinite(model.raw(ROWS)).all()
    return True


NAMES = ["xgboost.json", "xgboost.ubj", "lightgbm.txt", "catboost.json", "forest.onnx"]


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_refused_in_one_line(contents, name, tmp_path):
    content, rng = contents[name], np.random.default_rng(3)
    assert outcome(tmp_path, name, content)
    refused = 0
    for _ in range(80):
        damaged = bytearray(content)
        kind = rng.integers(4)
        for place in rng.integers(len(damaged), size=rng.integers(1, 4)):
            if kind == 0:
                damaged[place] = rng.integers(256)
            elif kind == 1:
                damaged[place : place + 8] = b""
            elif kind == 2:
                digits = [at for at in range(place, min(place + 400, len(damaged))) if 48 <= damaged[at] < 58]
                for at in digits[:1]:
                    damaged[at : at + 1] = rng.choice([b"-1", b"99999999", b"1e999", b"NaN", b"null"])
            else:
                del damaged[place:]
        refused += not outcome(tmp_path, name, bytes(damaged))
    assert refused > 10


OTHERS = [None, True, -1, 3, 1e300, "x", "", [], [1, 2], {}, {"a": 1}, [[0]], float("nan"), 2**70]


def places(document):
    """Every container of a document with each of its keys."""
    open_ = [document]
    while open_:
        each = open_.pop()
        keys = each.keys() if isinstance(each, dict) else range(len(each))
        for key in keys:
            yield each, key
            if isinstance(each[key], dict | list):
                open_.append(each[key])


@pytest.mark.parametrize("name", ["xgboost.json", "catboost.json"])
def test_other_types_in_any_place(contents, name, tmp_path):
    rng = np.random.default_rng(4)
    count = len(list(places(json.loads(contents[name]))))
    for place in rng.permutation(count)[:80].tolist() + list(range(min(40, count))):
        document = json.loads(contents[name])
        where, key = list(places(document))[place]
        where[key] = OTHERS[rng.integers(len(OTHERS))]
        outcome(tmp_path, name, json.dumps(document).encode())


def tree_of(document):
    return document["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree["left_children"].__setitem__(0, 0), "a cycle"),
        (lambda tree: tree["left_children"].__setitem__(0, 2**31), "a child that is not there"),
        (lambda tree: tree["right_children"].__setitem__(0, 1), "a cycle"),
        (lambda tree: tree["left_children"].__setitem__(0, -1), "one child"),
        (lambda tree: tree["split_indices"].__setitem__(0, 2**40), "range|numbers|feature"),
        (lambda tree: tree["split_conditions"].__setitem__(0, float("nan")), "not a finite number"),
        (lambda tree: tree["split_conditions"].__setitem__(6, float("inf")), "margin is not a finite number"),
        (lambda tree: tree["split_conditions"].pop(), "different lengths"),
        (lambda tree: tree.pop("default_left"), "lacks default_left"),
        (lambda tree: tree.__setitem__("split_indices", [[0]]), "not a list of numbers"),
        (lambda tree: tree["tree_param"].__setitem__("size_leaf_vector", "3"), "several outputs"),
    ],
)
def test_trees_that_are_none(contents, change, message, tmp_path):
    document = json.loads(contents["xgboost.json"])
    change(tree_of(document))
    file = tmp_path / "m.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ModelError, match=message):
        read_model(file)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", b'"gradient_booster"' + b"[" * 100_000),
        ("long.json", b'{"gradient_booster": ' + b"9" * 5000 + b"}"),
        ("deep.ubj", b"{U\x10gradient_booster" + b"[" * 100_000),
        ("big.ubj", b"{U\x10gradient_booster[$d#l\x7f\xff\xff\xff"),
        ("bytes.txt", b"num_tree_per_iteration\xff\xfe"),
        ("other.json", b"{}"),
        ("other.txt", b"tree\n"),
        ("packed.onnx", b"\x3a\xff\xff\xff\xff\x0f"),
        ("endless.onnx", b"\xff" * 50),
        ("model.xyz", b""),
    ],
)
def test_what_no_library_wrote(name, content, tmp_path):
    assert not outcome(tmp_path, name, content)


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelError, match=r"m\.onnx: cannot be read"):
        read_model(tmp_path / "m.onnx")
