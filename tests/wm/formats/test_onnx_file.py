"""ONNX tree ensembles: the same answers as onnxruntime on thresholds and one ulp beside them."""

from __future__ import annotations

import warnings

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import onnx_file
from wm.testing import on_thresholds

ROWS, TRUTH = load_breast_cancer(return_X_y=True)
ROWS = ROWS[:, :5]
THREE = (ROWS[:, 1] * 7).astype(int) % 3


def converted(model, dtype=np.float32):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the converter, about itself
        from skl2onnx import to_onnx

        options = {"zipmap": False} if hasattr(model, "classes_") else None
        return to_onnx(model, ROWS[:1].astype(dtype), options=options).SerializeToString()


def answers(content, X):
    session = onnxruntime.InferenceSession(content)
    return session.run(None, {session.get_inputs()[0].name: X})


def asked(model):
    rng = np.random.default_rng(1)
    edges = np.vstack([ROWS, on_thresholds(model.forest, ROWS, rng)])
    holes = np.where(rng.random(edges.shape) < 0.3, np.nan, edges)
    return np.vstack([edges, holes]).astype(model.forest.input_dtype)


@pytest.mark.parametrize(
    ("kind", "labels", "dtype", "gives"),
    [
        (RandomForestClassifier(8, max_depth=5), TRUTH, np.float32, "votes"),
        (RandomForestClassifier(8, max_depth=5), np.array(["a", "b", "c"])[THREE], np.float32, "votes"),
        (RandomForestClassifier(8, max_depth=5), THREE, np.float64, "votes"),
        (ExtraTreesClassifier(8, max_depth=5), np.array(["no", "yes"])[TRUTH], np.float32, "votes"),
        (DecisionTreeClassifier(max_depth=4), THREE, np.float32, "votes"),
        (GradientBoostingClassifier(n_estimators=4), TRUTH, np.float32, "margins"),
        (GradientBoostingClassifier(n_estimators=4), THREE, np.float32, "margins"),
    ],
)
def test_classifiers(kind, labels, dtype, gives):
    made = kind.set_params(random_state=0).fit(ROWS, labels)
    content = converted(made, dtype)
    model = onnx_file.read(content)
    assert (model.answers, model.forest.input_dtype) == (gives, np.dtype(dtype).name)
    X = asked(model)
    label, shares = answers(content, X)
    np.testing.assert_array_equal(model.predict(X), label)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-6)


@pytest.mark.parametrize(
    "kind", [RandomForestRegressor(5, max_depth=4), GradientBoostingRegressor(n_estimators=5)]
)
def test_regressors(kind):
    content = converted(kind.set_params(random_state=0).fit(ROWS, THREE))
    model = onnx_file.read(content)
    X = asked(model)
    np.testing.assert_allclose(model.predict(X), answers(content, X)[0][:, 0], atol=1e-6)


def test_votes_are_those_of_the_forest_that_was_converted():
    made = RandomForestClassifier(8, max_depth=5, random_state=0).fit(ROWS, TRUTH)
    X = ROWS.astype(np.float32)
    model = onnx_file.read(converted(made))
    np.testing.assert_array_equal(model.voting_forest("m.onnx").votes(X), Forest.from_sklearn(made).votes(X))


def ensemble(mode, tracks, element=TensorProto.FLOAT):
    """One test at 0.5 with leaves that add 1 (true) and 2."""
    attributes = {
        "n_targets": 1,
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [1, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": [mode, "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_missing_value_tracks_true": [tracks, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    node = helper.make_node("TreeEnsembleRegressor", ["X"], ["Y"], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", element, [None, 3])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])
@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_every_kind_of_test(mode, tracks, element):
    content = ensemble(mode, tracks, element)
    model = onnx_file.read(content)
    X = asked_at(0.5, np.float32 if element == TensorProto.FLOAT else np.float64)
    assert model.forest.n_features == 3
    np.testing.assert_array_equal(model.predict(X), answers(content, X)[0][:, 0])


def asked_at(value, dtype):
    near = [value, np.nextafter(dtype(value), dtype(0)), np.nextafter(dtype(value), dtype(1)), np.nan, 0, -1]
    return np.array([[0, each, 0] for each in near], dtype=dtype)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ensemble("BRANCH_EQ", 0), "BRANCH_EQ .categorical splits."),
        (
            lambda: converted(make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(ROWS, TRUTH)),
            "Scaler",
        ),
        (
            lambda: converted(BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2).fit(ROWS, TRUTH)),
            "2 tree ensembles",
        ),
        (lambda: b"", "not an ONNX file"),
    ],
)
def test_what_is_not_one_ensemble_is_refused_by_name(make, message):
    with pytest.raises(ModelError, match=message):
        onnx_file.read(make())
