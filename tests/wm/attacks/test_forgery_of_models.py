"""Forgery of prescribed signs on models of other libraries, against brute force over their own leaves."""

from __future__ import annotations

import itertools

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from wm import engines
from wm.engines import ForgeryQuery, solver_class
from wm.engines.isolated import replay_fault
from wm.engines.meaning import Meaning
from wm.formats import lightgbm_text, xgboost_file
from wm.formats.assembling import centre_of
from wm.formats.objects import model_of
from wm.signature import Signature

RNG = np.random.default_rng(5)
ROWS = RNG.random((120, 3)).astype(np.float32).astype(np.float64)
HOLES = np.where(RNG.random(ROWS.shape) < 0.15, np.nan, ROWS)
LABELS = (ROWS.sum(axis=1) + RNG.normal(0, 0.2, 120) > 1.5).astype(int)
THREE = np.digitize(ROWS.sum(axis=1), [1.2, 1.8])
TREES = 3


def xgboosts(labels):
    made = xgboost.XGBClassifier(n_estimators=TREES, max_depth=2).fit(HOLES, labels)
    return xgboost_file.read(
        bytes(made.get_booster().save_raw("json"))
    ), lambda X: made.apply(X).astype(int).reshape(len(X), -1)


def lightgbms(labels):
    made = lightgbm.LGBMClassifier(n_estimators=TREES, num_leaves=4, min_child_samples=5, verbose=-1)
    booster = made.fit(HOLES, labels).booster_
    return lightgbm_text.read(booster.model_to_string().encode()), lambda X: booster.predict(
        X, pred_leaf=True
    )


def catboosts(labels):
    made = catboost.CatBoostClassifier(iterations=TREES, depth=2, verbose=0, allow_writing_files=False)
    made.fit(HOLES, labels)
    model = model_of(made)
    outputs = len(model.margins.base)
    return model, lambda X: np.repeat(made.calc_leaf_indexes(X), outputs, axis=1)


def gradients(labels):
    made = GradientBoostingClassifier(n_estimators=TREES, max_depth=2).fit(ROWS, labels)
    return model_of(made), lambda X: made.apply(X).astype(int).reshape(len(X), -1)


def histograms(labels):
    made = HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=4, min_samples_leaf=5)
    made.fit(HOLES, labels)
    trees = [tree for each in made._predictors for tree in each]
    none = np.zeros((0, 8), dtype=np.uint32), np.zeros(0, dtype=np.uint32)
    return model_of(made), lambda X: np.stack([tree.predict(X, *none, 1) for tree in trees], axis=1)


MAKERS = [xgboosts, lightgbms, catboosts, gradients, histograms]


def library_signs(model, leaves_of, X):
    """Each tree's sign, from the leaves that the library itself names."""
    forest, margin = model.forest, model.margins.leaf
    found = leaves_of(X)
    signs = np.empty(found.shape, dtype=bool)
    for tree in range(forest.n_trees):
        nodes = np.arange(*forest.offset[tree : tree + 2])
        leaf = nodes[forest.is_leaf[nodes]]
        values = margin[leaf]
        if found.dtype.kind == "f":  # the library gives margins
            own = found[:, tree]
        elif model.framework in ("LightGBM", "CatBoost"):  # leaves are numbered apart from other nodes
            own = values[found[:, tree].astype(int)]
        else:
            own = margin[nodes[found[:, tree].astype(int)]]
        signs[:, tree] = own > centre_of(values)
    return signs


def points(model, missing):
    """A point in every cell of [0, 1]^d, with and without missing values."""
    forest = model.forest
    each = []
    for feature in range(forest.n_features):
        cuts = [float(t) for t in forest.threshold[forest.feature == feature] if 0 <= t < 1]
        above = [np.nextafter(np.float32(t), np.float32(2)) for t in cuts]
        each.append(sorted({0.0, *map(float, above)}) + ([np.nan] if missing else []))
    return np.array(list(itertools.product(*each)))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
def test_every_signature_is_forged_where_the_library_itself_shows_it(make, labels):
    model, leaves_of = make(labels)
    forest, trees = model.forest, model.forest.n_trees
    takes_missing = forest.missing_left is not None
    solver = solver_class("portfolio")(forest)
    for missing in (False, True) if takes_missing else (False,):
        shown = {tuple(row) for row in library_signs(model, leaves_of, points(model, missing)).tolist()}
        meaning = Meaning.of_missing([True] * 3) if missing else None
        wanted = set(itertools.product((False, True), repeat=trees)) if trees < 6 else shown
        if trees >= 6:
            wanted = {*shown, *(tuple(row) for row in RNG.random((60, trees)) < 0.5)}
        seen = {True: 0, False: 0}
        for signs in sorted(wanted):
            # A signature of the true class whose prescribed signs are these.
            label = model.classes[0]
            right = [bool(bit) for bit in right_signs(model, label)]
            signature = Signature.of("".join(str(int(a != b)) for a, b in zip(signs, right, strict=True)))
            bits, vote = model.prescribed(signature, label)
            query = ForgeryQuery(signature=bits, label=vote, centre=[0.5] * 3, eps=0.5, meaning=meaning)
            witness = solver.answer(query).witness
            assert (witness is not None) == (signs in shown), (signs, missing)
            seen[witness is not None] += 1
            if witness is not None:
                assert replay_fault(forest, query, witness) is None
                drawn = library_signs(model, leaves_of, witness[None].astype(np.float64))[0]
                assert tuple(drawn.tolist()) == signs
        assert seen[True]


def right_signs(model, label):
    if len(model.margins.base) == 1:
        return [bool(label == model.classes[1])] * model.forest.n_trees
    return [model.classes[column] == label for column in model.margins.column]


def test_engines_agree_on_a_boosted_model():
    model, _ = xgboosts(LABELS)
    asked = [
        ForgeryQuery(signature=bits, label=1, centre=row, eps=eps)
        for bits in itertools.product((0, 1), repeat=TREES)
        for row in ROWS[:3]
        for eps in (0.1, 0.4)
    ]
    answers = []
    for name in engines.names():
        solver = solver_class(name)(model.forest)
        answers.append([solver.answer(query).witness is not None for query in asked])
    assert all(each == answers[0] for each in answers)
    assert 0 < sum(answers[0]) < len(asked)
