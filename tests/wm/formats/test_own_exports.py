"""Our own exports read back: the same votes, and a refusal where another form would lose something."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from wm.errors import ModelError
from wm.exporting import TARGETS, exported
from wm.forest import Forest
from wm.formats.export import save_model, to_sklearn
from wm.formats.reading import read_model
from wm.formats.scrubbing import scrubbed
from wm.testing import on_thresholds

ROWS, TRUTH = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("target", ["onnx", "xgboost-json"])
def test_an_exported_forest_votes_as_before(target, tmp_path):
    made = RandomForestClassifier(9, max_depth=4, random_state=0).fit(ROWS, TRUTH)
    forest = Forest.from_sklearn(made)
    constant = forest.changed(value=np.where(forest.node_tree[:, None] == 0, [0.0, 1.0], forest.value))
    for each in (forest, constant):
        file = tmp_path / f"model{TARGETS[target].ending}"
        file.write_bytes(exported(each, None, target))
        model = read_model(file)
        X = on_thresholds(each, ROWS, np.random.default_rng(0)).astype(np.float32)
        assert model.answers == "votes"
        np.testing.assert_array_equal(model.voting_forest("it").votes(X), each.votes(X))
        np.testing.assert_array_equal(model.predict(X), each.predict(X))


def test_missing_values_survive_scrubbing_and_are_lost_in_no_other_form(tmp_path):
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(ROWS.shape) < 0.1, np.nan, ROWS)
    forest = Forest.from_sklearn(RandomForestClassifier(5, random_state=0).fit(holes, TRUTH))
    np.testing.assert_array_equal(scrubbed(forest).votes(holes), forest.votes(holes))
    save_model(forest, tmp_path / "m.npz")
    np.testing.assert_array_equal(Forest.load(tmp_path / "m.npz").votes(holes), forest.votes(holes))
    doubles = Forest.from_arrays(
        **{
            name: getattr(forest, name)
            for name in ("offset", "left", "right", "feature", "threshold", "value")
        },
        n_features=forest.n_features,
        classes=forest.classes,
        input_dtype="float64",
    )
    for each, message in ((forest, "where missing values go"), (doubles, "compares float64")):
        for write in (to_sklearn, *(lambda it, to=to: exported(it, None, to) for to in TARGETS)):
            with pytest.raises(ModelError, match=message):
                write(each)
