"""A pipeline's trees over raw columns answer as the pipeline does, on every threshold and beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from wm.errors import ModelError
from wm.formats.objects import model_of
from wm.formats.raw_form import raw_form

RAW, y = load_breast_cancer(return_X_y=True)
NUMBERS = list("abcd")
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RAW[:, :4], columns=NUMBERS).assign(
    kind=np.array(["x", "y", None], dtype=object)[np.arange(len(y)) % 3],
    size=np.array(["s", "m", "l"], dtype=object)[RNG.integers(0, 3, len(y))],
    code=RNG.integers(3, 6, len(y)) - y,
    unused=1,
)
FRAME.loc[::7, "b"] = np.nan
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
SIZES = [["s", "m", "l"]]

PREPARATIONS = {
    "imputed, scaled, passed twice": make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        ("passthrough", ["a"]),
        (ONE_HOT, ["kind", "code"]),
        (OrdinalEncoder(categories=SIZES), ["size"]),
    ),
    "a slice, a dropped value, scaled categories": make_column_transformer(
        (RobustScaler(), slice("a", "d")),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first"), MaxAbsScaler()
            ),
            ["kind", "size"],
        ),
        ("drop", ["code"]),
    ),
    "indexes, a mask, a missing place": make_column_transformer(
        (MinMaxScaler(), [0, 3]),
        ("passthrough", [name in "bc" for name in FRAME.columns]),
        (OrdinalEncoder(encoded_missing_value=-7), ["kind"]),
        (make_pipeline(OrdinalEncoder(), StandardScaler()), ["code"]),
    ),
    "selected": make_pipeline(
        make_column_transformer((FunctionTransformer(), ["a", "c"]), (ONE_HOT, ["kind"])), SelectKBest(k=3)
    ),
}
MODELS = (
    RandomForestClassifier(5, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=8, random_state=0),
)


def _form(preparation, model):
    pipeline = make_pipeline(preparation, model).fit(FRAME, y)
    return pipeline, raw_form(model_of(pipeline))


@pytest.mark.parametrize("name", PREPARATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_choices_are_answered_as_the_raw_rows_that_they_stand_for(name, model):
    pipeline, form = _form(PREPARATIONS[name], model)
    choices, votes = form.choices(FRAME), form.pipeline.forest.votes
    assert form.fits(choices).all()
    np.testing.assert_array_equal(form.model.forest.votes(choices), votes(form.prepared(FRAME)))
    np.testing.assert_array_equal(form.model.predict(choices), pipeline.predict(FRAME))
    np.testing.assert_array_equal(form.choices(form.raw_rows(choices, FRAME)), choices)

    forest = form.model.forest
    inner = np.flatnonzero(~forest.is_leaf)
    rows = choices[RNG.integers(0, len(choices), 2 * len(inner))]
    numbers = {column.start for column in form.columns if column.kind == "number"}
    for place, node in enumerate(inner):
        feature, threshold = forest.feature[node], forest.threshold[node]
        if feature in numbers and abs(threshold) < 3e38:  # others part missing values from all numbers
            rows[2 * place, feature] = threshold
            rows[2 * place + 1, feature] = np.nextafter(threshold, np.inf)
    # Another value of each category and, where the pipeline takes them, missing numbers.
    for column in form.columns:
        if column.kind == "onehot":
            rows[:, list(column.choices)] = np.eye(len(column.values))[
                RNG.integers(0, len(column.values), len(rows))
            ]
        elif column.kind == "ordinal":
            rows[:, column.start] = RNG.integers(0, len(column.values), len(rows))
        if column.takes_missing:
            rows[RNG.random(len(rows)) < 0.2, column.start] = np.nan
    start = FRAME.iloc[np.arange(len(rows)) % len(FRAME)].reset_index(drop=True)
    raw = form.raw_rows(rows, start)
    np.testing.assert_array_equal(forest.votes(rows), votes(form.prepared(raw)))


def test_values_that_the_pipeline_does_not_know_do_not_fit():
    _, form = _form(PREPARATIONS["imputed, scaled, passed twice"], MODELS[0])
    strange = FRAME.iloc[:2].assign(kind=["z", "x"])
    assert form.fits(form.choices(strange)).tolist() == [False, True]
    assert "kind=x" in form.model.feature_names


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PCA(2), "PCA makes features that do not come of one raw column each"),
        (PolynomialFeatures(), "PolynomialFeatures makes features"),
        (FunctionTransformer(np.abs), "FunctionTransformer calls a function"),
        (SimpleImputer(add_indicator=True), "SimpleImputer has an indicator"),
        (SimpleImputer(missing_values=0), "takes an ordinary value for a missing one"),
        (OneHotEncoder(max_categories=2, sparse_output=False), "puts rare values together"),
        (make_pipeline(OrdinalEncoder(), OneHotEncoder(sparse_output=False)), "is encoded already"),
        (make_column_transformer((MinMaxScaler(), ["a"]), (OrdinalEncoder(), ["a"])), "in two ways"),
    ],
)
def test_steps_that_cannot_be_followed_are_refused_by_name(step, message):
    frame = FRAME[NUMBERS].round().fillna(20)
    model = model_of(make_pipeline(step, RandomForestClassifier(2, max_depth=2)).fit(frame, y))
    with pytest.raises(ModelError, match=message):
        raw_form(model)


def test_a_derived_class_is_not_trusted_to_do_what_its_parent_does():
    class Turned(StandardScaler):
        def transform(self, X, copy=None):
            return -super().transform(X, copy)

    model = model_of(make_pipeline(Turned(), RandomForestClassifier(2)).fit(RAW, y))
    with pytest.raises(ModelError, match="Turned makes features"):
        raw_form(model)
