"""Frames of raw rows in `wm.embed`, and raw rows back out of the claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import wm
from wm.datasets.applying import frame_rows
from wm.errors import DataError, ModelError
from wm.forest import Forest
from wm.formats.reading import read_model
from wm.interface import read_interface

OPTIONS = {"n_estimators": 10, "trigger_rows": 4, "adjust": "artifact", "seed": 1}


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(150) < 0.1, np.nan, rng.normal(40, 10, 150)),
            "job": rng.choice(["cook", "judge", None], 150),
            "owner": rng.choice([True, False], 150),
        }
    )


def test_a_model_of_a_frame_keeps_how_its_columns_became_numbers(people, tmp_path):
    noisy = people.age + np.random.default_rng(1).normal(0, 4, 150) > 40
    y = np.where(noisy, "old", "young")
    owned = wm.embed(people, y, categorical="onehot", missing="median", **OPTIONS)
    owned.save(tmp_path / "m.npz")
    forest = Forest.load(tmp_path / "m.npz")
    interface = read_interface(tmp_path / "m.npz", forest)
    assert interface == owned.interface
    assert interface.class_names == ("old", "young")
    assert owned.claim.header.preparation == interface.preparation
    assert owned.claim.header.feature_names == ("age", "job=?", "job=cook", "job=judge", "owner")
    answers = np.array(interface.class_names)[forest.predict(frame_rows(interface.preparation, people))]
    assert (answers == y).mean() > 0.85
    assert wm.verify(owned.claim, forest).log10_p < -3
    raw = pd.DataFrame(interface.preparation.cells(owned.claim.X), columns=["age", "job", "owner"])
    np.testing.assert_array_equal(frame_rows(interface.preparation, raw), owned.claim.X)


def test_a_frame_of_numbers_is_the_array_with_names(people):
    X = people[["age"]].fillna(0).assign(more=np.arange(150) * 0.5)
    y = people.owner.to_numpy()
    by_name, by_place = wm.embed(X, y, **OPTIONS), wm.embed(X.to_numpy(), y, **OPTIONS)
    assert by_name.claim.header.feature_names == ("age", "more")
    assert by_name.claim.header.preparation is None
    np.testing.assert_array_equal(by_name.claim.X, by_place.claim.X)
    assert by_place.interface.preparation.feature_names == ("x0", "x1")


@pytest.mark.parametrize(
    ("scheme", "file"),
    [
        ({"trigger_rows": 4, "adjust": "artifact"}, "m.npz"),
        ({"trigger_rows": 12, "scheme": "boosted"}, "m.json"),
        ({"scheme": "lineup"}, "m.npz"),
        ({"scheme": "lineup", "boosting": True}, "m.json"),
    ],
    ids=["paper", "boosted", "lineup", "boosted lineup"],
)
def test_a_model_of_an_array_keeps_the_names_of_its_classes_and_features(tmp_path, scheme, file):
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = np.where(X.sum(axis=1) > 0, "yes", "no")
    X = X[:, :2]
    owned = wm.embed(X, y, n_estimators=10, feature_names=["width", "height"], seed=1, **scheme)
    owned.save(tmp_path / file)
    interface = read_interface(tmp_path / file, read_model(tmp_path / file).forest, 2)
    assert interface.class_names == ("no", "yes")
    assert interface.preparation.feature_names == ("width", "height")


def test_what_a_frame_has_is_refused_unless_it_is_said(people):
    with pytest.raises(DataError, match="the frame: 3 problems") as caught:
        wm.embed(people, people.owner, **OPTIONS)
    said = str(caught.value)
    assert "give X.dropna() with its labels or missing = 'median', or X.drop(columns=['age'])" in said
    assert "give categorical = 'onehot' or categorical = 'ordinal', or X.drop(columns=['job'])" in said
    with pytest.raises(DataError, match="for pandas frames"):
        wm.embed(np.zeros((9, 2)), [0] * 9, categorical="onehot", **OPTIONS)


def test_a_path_that_cannot_be_written_is_one_line(people, tmp_path):
    owned = wm.embed(people[["owner"]].assign(age=np.arange(150)), people.age > 40, **OPTIONS)
    with pytest.raises(ModelError, match=r"no/such/m\.npz: cannot be written"):
        owned.save(tmp_path / "no/such/m.npz")
