"""Exported models against the libraries themselves, on each threshold and one ulp beside it."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
import xgboost
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.attacks.leakage import inspect
from wm.datasets.applying import model_rows
from wm.datasets.csv_file import read_csv
from wm.datasets.preparation import CategoryColumn, MinMax, NumberColumn, Preparation
from wm.errors import ModelError
from wm.exporting import TARGETS, exported
from wm.exporting.labels import class_labels
from wm.exporting.onnx_model import _weight
from wm.exporting.pipeline import to_pipeline
from wm.exporting.rounding import float32_below
from wm.forest import Forest
from wm.formats.sklearn_metadata import from_model
from wm.interface import Interface
from wm.testing import forest_of, random_forest

SEEDS = st.integers(0, 2**32 - 1)


def rows_at_thresholds(forest, rng, count=300):
    """Return rows whose values are thresholds, as float32, or their neighbours."""
    inner = ~forest.is_leaf
    near = [np.float32(0)]
    for threshold in np.clip(forest.threshold[inner], -3e38, 3e38).astype(np.float32):
        near += [threshold, np.nextafter(threshold, np.float32(9)), np.nextafter(threshold, np.float32(-9))]
    return rng.choice(np.array(near, dtype=np.float32), size=(count, forest.n_features))


def interface_of(forest, names=None):
    columns = tuple(NumberColumn(name=f"x[{place}]<1") for place in range(forest.n_features))
    names = names or tuple(f"class {place}" for place in range(len(forest.classes)))
    return Interface(class_names=names, preparation=Preparation(columns=columns))


@examples(60)
@given(SEEDS)
def test_onnx_runtime_answers_as_the_forest(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng)
    X = rows_at_thresholds(forest, rng)
    interface = interface_of(forest)
    session = onnxruntime.InferenceSession(exported(forest, interface, "onnx"))
    labels, shares = session.run(None, {"X": X})
    codes = np.argmax(forest.vote_shares(X), axis=1)
    assert labels.tolist() == [interface.class_names[code] for code in codes]
    assert np.allclose(shares, forest.vote_shares(X), atol=1e-3)


@examples(60)
@given(SEEDS)
def test_xgboost_answers_as_the_forest(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng)
    if len(forest.classes) != 2:
        with pytest.raises(ModelError, match="margins of two classes"):
            exported(forest, None, "xgboost-json")
        return
    if (forest.threshold >= np.finfo(np.float32).max).any():
        with pytest.raises(ModelError, match="largest float32"):
            exported(forest, None, "xgboost-json")
        return
    X = rows_at_thresholds(forest, rng)
    booster = xgboost.Booster(model_file=bytearray(exported(forest, interface_of(forest), "xgboost-json")))
    data = xgboost.DMatrix(X, feature_names=booster.feature_names)
    votes = np.stack(
        [
            booster.predict(data, output_margin=True, iteration_range=(tree, tree + 1)) > 0
            for tree in range(forest.n_trees)
        ],
        axis=1,
    )
    assert np.array_equal(votes, forest.vote_codes(X))
    majority = np.searchsorted(forest.classes, forest.predict(X))
    assert np.array_equal(booster.predict(data) > 0.5, majority)


def test_xgboosts_own_classifier_reads_it(tmp_path):
    forest = forest_of([(0, 0.5, 0, 1), 1, (1, 0.25, 1, 0)], n_features=2, classes=[0, 1])
    (tmp_path / "m.json").write_bytes(exported(forest, None, "xgboost-json"))
    model = xgboost.XGBClassifier()
    model.load_model(tmp_path / "m.json")
    X = np.random.default_rng(0).random((50, 2), dtype=np.float32)
    assert np.array_equal(model.predict(X), forest.predict(X))


@examples(20)
@given(SEEDS)
def test_scikit_learn_answers_as_the_forest(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng)
    X = rows_at_thresholds(forest, rng)
    model = skops.io.loads(exported(forest, None, "sklearn"), trusted=["sklearn.tree._tree.Tree"])
    with np.errstate(invalid="ignore"):  # scikit-learn adds all numbers up to see whether they are finite
        assert np.array_equal(model.predict(X), forest.predict(X))
    assert np.array_equal(Forest.from_sklearn(model).votes(X), forest.votes(X))


@given(st.floats(-1e38, 1e38))
def test_the_float32_below_a_threshold_compares_as_the_threshold(threshold):
    below = float32_below(np.array([threshold]))[0]
    assert float(below) <= threshold < float(np.nextafter(below, np.float32(np.inf)))


@given(st.integers(1, 4186))
def test_halves_of_votes_are_not_above_a_half_and_one_more_is(trees):
    weight = np.float32(_weight(trees))
    counts = np.cumsum(np.full(trees, weight, dtype=np.float32), dtype=np.float32)
    assert np.array_equal(counts > 0.5, 2 * np.arange(1, trees + 1) > trees)
    assert np.array_equal(counts.astype(np.float64), np.arange(1, trees + 1) * float(weight))


def test_too_many_trees_for_onnx_are_refused():
    with pytest.raises(ModelError, match="4187 trees are too many"):
        _weight(4187)


PREPARATION = Preparation(
    columns=(
        NumberColumn(name="age", fill=40.5),
        NumberColumn(name="hours"),
        NumberColumn(name="owner", words=("no", "yes"), fill=1.0),
        NumberColumn(name="member", words=("False", "True")),
        CategoryColumn(kind="onehot", name="job", values=("?", "cook", "judge")),
        CategoryColumn(kind="onehot", name="sex", values=("f", "m")),
        CategoryColumn(kind="ordinal", name="level", values=("high", "low")),
    ),
    scaling=MinMax(low=(0.0,) * 10, span=(7.0, 3.0, 0.0, *[1.0] * 7)),
)
TABLE = b"""\
level,age,hours,owner,member,job,sex
low,39,1.5,yes,True,cook,m
high,,2,no,False,,f
low,50,3,,True,judge,x
high,28,4,no,False,cook,m
"""


@pytest.mark.parametrize("scaling", [None, PREPARATION.scaling])
def test_the_pipeline_takes_the_raw_frame_that_pandas_reads(tmp_path, scaling):
    import io

    preparation = PREPARATION.model_copy(update={"scaling": scaling})
    forest = forest_of([(0, 40.2, 0, 1), (4, 0.5, 1, 0)], n_features=10, classes=[0, 1])
    interface = Interface(class_names=("good", "bad"), preparation=preparation)
    data = exported(forest, interface, "sklearn")
    model = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    raw = pd.read_csv(io.BytesIO(TABLE))
    expected = model_rows(preparation, read_csv(TABLE, where="w", label=None, known="age"))[0]
    found = model[:-1].transform(raw)
    assert np.array_equal(found.astype(np.float32), expected)
    assert np.array_equal(model.predict(raw), forest.predict(expected))  # "good" > "bad": values of its own
    with pytest.raises(ValueError, match="unknown categories"):
        model.predict(raw.assign(level="middle"))


def test_whole_numbers_as_columns_with_fills():
    preparation = Preparation(columns=(NumberColumn(name="a", fill=2.5),))
    forest = forest_of([(0, 2.0, 0, 1)], n_features=1, classes=[0, 1])
    model = to_pipeline(forest, Interface(class_names=("1", "2"), preparation=preparation))
    assert model.predict(pd.DataFrame({"a": [1, 3]})).tolist() == [1, 2]
    assert model.predict(pd.DataFrame({"a": [1.0, None]})).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("1", "2"), [1, 2]),
        (("a", "b"), ["a", "b"]),
        (("b", "a"), [0, 1]),
        (("10", "9"), [0, 1]),
        (("9", "10"), [9, 10]),
    ],
)
def test_labels_are_names_where_libraries_take_their_order(names, labels):
    forest = forest_of([0, 1], n_features=1, classes=[0, 1])
    assert class_labels(forest, interface_of(forest, names)).tolist() == labels


@pytest.mark.parametrize("target", TARGETS)
def test_what_training_leaves_is_not_exported(target):
    forest = forest_of([(0, 0.5, 0, 1), (0, 0.25, 1, 0)], n_features=1, classes=[0, 1])
    heavy = forest.changed(value=forest.value * [[3.0, 1.0]])
    assert exported(heavy, None, target) == exported(forest, None, target) or target == "sklearn"
    if target == "sklearn":
        model = skops.io.loads(exported(heavy, None, target), trusted=["sklearn.tree._tree.Tree"])
        assert not inspect(**from_model(model).arguments()).leaks
        assert np.isin(model.estimators_[0].tree_.value[1:], (0, 1)).all()
    if target == "xgboost-json":
        trees = json.loads(exported(heavy, None, target))["learner"]["gradient_booster"]["model"]["trees"]
        assert {value for tree in trees for value in tree["sum_hessian"]} == {0.0}
