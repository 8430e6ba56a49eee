"""Measuring public models, on models made here."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from research.public_models.__main__ import document, measured, public_models
from research.public_models.measuring import (
    PART_CELLS,
    QUESTIONS,
    ROWS,
    agreeing,
    domain_of,
    forged,
    small_part,
)
from wm.formats.objects import model_of

X, y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize(
    "made",
    [
        RandomForestClassifier(12, max_depth=5, max_features=2, random_state=0),
        lightgbm.LGBMClassifier(n_estimators=12, num_leaves=6, colsample_bytree=0.2, verbose=-1, n_jobs=1),
    ],
)
def test_every_row_has_an_outcome_and_brute_force_agrees(made):
    model = model_of(made.fit(X[:, :8], y))
    domain = domain_of(model)
    assert domain.holds(domain.from_unit(np.full((1, 8), 0.5, dtype=np.float32))).all()
    outcomes = [forged(model, domain, asked).outcomes for asked in QUESTIONS]
    assert all(sum(each.values()) == ROWS for each in outcomes)
    assert outcomes[-1]["forged"] >= outcomes[-2]["forged"]
    same, asked = agreeing(model, domain)
    assert same == asked >= 6


def test_a_small_part_has_few_cells_and_the_trees_of_the_whole():
    forest = model_of(RandomForestClassifier(9, random_state=0).fit(X, y)).forest
    part = small_part(forest)
    assert 1 <= part.n_trees <= 6
    inner = ~part.is_leaf
    cuts = [len(np.unique(part.threshold[inner & (part.feature == each)])) for each in range(part.n_features)]
    assert np.prod(np.array(cuts) + 1.0) <= PART_CELLS
    for tree in range(part.n_trees):
        root = part.offset[tree]
        assert part.threshold[root] == forest.threshold[forest.offset[tree]]


def test_the_manifest_names_each_origin_and_other_files_are_refused(tmp_path):
    models = public_models()
    assert len({each.repository for each in models}) >= 5
    assert all(len(each.commit) == 40 and len(each.sha256) == 64 for each in models)
    (tmp_path / models[0].file).write_text("tree")
    with pytest.raises(SystemExit, match="is not the file of the manifest"):
        measured(models[0], tmp_path)
    assert "| model | kind |" in document([])
