"""Training per-tree: the scheme's promise for every tree, at hardly more fits than an honest forest takes."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from tests.examples import examples
from wm.embedding import per_tree
from wm.embedding.common import EmbeddingTask, draw_trigger_rows
from wm.embedding.options import TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, fit_tree
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.signature import Signature

UNLIMITED = Caps(None, None)


def synthetic(seed, rows=200):
    """Two classes that overlap."""
    X, y = make_classification(n_samples=rows, n_features=6, class_sep=0.7, flip_y=0.1, random_state=seed)
    return X.astype(np.float32), y.astype(np.int64)


def task_of(X, y, bits, *, size=7, caps=UNLIMITED, seed=0, **fit):
    """Return a task; the seeds of the trainings that share one are left at what they do not need."""
    return EmbeddingTask(
        X=X,
        y=y,
        signature=Signature.of(bits),
        trigger_rows=draw_trigger_rows(X, size, np.random.default_rng(seed)),
        caps=caps,
        seed_right=0,
        seed_wrong=0,
        fit=TrainOptions(**fit),
        tree_seeds=tuple(range(1000 * seed, 1000 * seed + len(bits))),
    )


@pytest.fixture
def task(breast_cancer):
    return task_of(breast_cancer.X_train, breast_cancer.y_train, "0110100111", caps=Caps(6, 19))


@pytest.fixture
def recorded(monkeypatch):
    """Every fit: seed, labels, weights, limits."""
    fits = []

    def recording(X, y, *, caps, seed, sample_weight):
        fits.append((seed, y.copy(), sample_weight.copy(), caps))
        return fit_tree(X, y, caps=caps, seed=seed, sample_weight=sample_weight)

    monkeypatch.setattr(per_tree, "fit_tree", recording)
    return fits


def trigger_weights(fits, task):
    """Return, for each tree, the weights of the trigger rows in its fits, in order."""
    return [
        [float(weight[task.trigger_rows[0]]) for seed, _, weight, _ in fits if seed == tree_seed]
        for tree_seed in task.tree_seeds
    ]


def check_promise(embedded, task):
    wrong = embedded.forest.votes(task.X[task.trigger_rows]) != task.y[task.trigger_rows][:, None]
    bits = task.signature.array == 1
    np.testing.assert_array_equal(wrong, np.broadcast_to(bits, wrong.shape))
    assert embedded.forest.classes.tolist() == [0, 1]
    assert embedded.forest.tree_leaves.max() <= (task.caps.max_leaf_nodes or np.inf)
    assert embedded.forest.tree_depths.max() <= (task.caps.max_depth or np.inf)


@examples(60)
@given(
    bits=st.text("01", min_size=1, max_size=9),
    seed=st.integers(0, 1000),
    size=st.integers(1, 6),
    caps=st.sampled_from([UNLIMITED, Caps(9, 60), Caps(None, 45)]),
    least=st.booleans(),
)
def test_every_tree_errs_on_every_trigger_row_iff_its_bit_is_one(bits, seed, size, caps, least):
    X, y = synthetic(seed, rows=150)
    task = task_of(X, y, bits, size=size, caps=caps, seed=seed, least_weight=least)
    embedded = embed_paper(task)
    check_promise(embedded, task)
    assert (embedded.rounds_right >= 1, embedded.rounds_wrong >= 1) == ("0" in bits, "1" in bits)
    assert min(embedded.weight_right, embedded.weight_wrong) >= 1
    assert len(bits) <= embedded.fits <= len(bits) * max(embedded.rounds_right, embedded.rounds_wrong)


@pytest.mark.parametrize("caps", [Caps(None, None), Caps(5, None), Caps(None, 9), Caps(4, 9)])
@pytest.mark.parametrize("weight", [1.0, 12.5])
def test_a_tree_is_the_random_forests_own(breast_cancer, caps, weight):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    weights = np.where(np.arange(len(y)) < 9, weight, 1.0)
    model = RandomForestClassifier(
        n_estimators=8,
        bootstrap=False,
        max_depth=caps.max_depth,
        max_leaf_nodes=caps.max_leaf_nodes,
        random_state=3,
    ).fit(X, y, sample_weight=weights)
    mine = [
        fit_tree(X, y, caps=caps, seed=tree.random_state, sample_weight=weights) for tree in model.estimators_
    ]
    for one, other in zip(mine, model.estimators_, strict=True):
        first, second = Forest.from_sklearn(one), Forest.from_sklearn(other)
        for name in ("left", "right", "feature", "threshold", "value"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_each_tree_is_the_one_of_its_last_weight_and_no_other_is_fitted_again(task, recorded):
    embedded = embed_paper(task)
    assert embedded.fits == len(recorded)
    for position, tried in enumerate(trigger_weights(recorded, task)):
        seed = task.tree_seeds[position]
        _, y, weight, caps = next(fit for fit in recorded if fit[0] == seed)
        assert caps == task.caps
        flipped = np.flatnonzero(y != task.y)
        wanted = task.trigger_rows if task.signature.bits[position] else []
        np.testing.assert_array_equal(flipped, wanted)
        assert (np.delete(weight, task.trigger_rows) == 1).all()
        trees = {
            tried_weight: Forest.from_sklearn(
                fit_tree(task.X, y, caps=caps, seed=seed, sample_weight=task.weights(tried_weight))
            )
            for tried_weight in tried
        }
        trigger = task.X[task.trigger_rows]
        fitting = [
            w for w, tree in trees.items() if (tree.votes(trigger)[:, 0] == y[task.trigger_rows]).all()
        ]
        mine = embedded.forest.select([position])
        chosen = trees[min(fitting)]
        np.testing.assert_array_equal(mine.threshold, chosen.threshold)
        np.testing.assert_array_equal(mine.feature, chosen.feature)
        # Raising ends with the first weight that fits; only the first tree of a kind is bisected after it.
        if position not in (0, 1):
            assert fitting == [tried[-1]]
            np.testing.assert_allclose(np.diff(np.log(tried)), np.log(per_tree.GROWTH), rtol=1e-3)


def test_a_kind_starts_at_its_least_weight_and_later_trees_where_earlier_ones_ended(task, recorded):
    embed_paper(task)
    tried = trigger_weights(recorded, task)
    assert (tried[0][0], tried[1][0]) == (per_tree.MIN_START["right"], per_tree.MIN_START["wrong"])
    second_wrong = tried[2][0]  # bits 0 1 1 ...: the second tree that must be wrong
    fitted_first = min(w for w in tried[1] if w >= max(tried[1]) / per_tree.FIRST_GROWTH)
    assert second_wrong >= 1
    assert fitted_first / per_tree.GROWTH <= second_wrong <= max(tried[1])


@pytest.mark.parametrize(("least", "from_weight"), [(False, per_tree.MIN_START["right"]), (True, 1.0)])
def test_trees_that_must_be_right_carry_a_weight_of_their_own_unless_the_least_is_wanted(
    task, recorded, least, from_weight
):
    embedded = embed_paper(dataclasses.replace(task, fit=TrainOptions(least_weight=least)))
    tried = trigger_weights(recorded, task)
    assert min(min(tried[position]) for position in task.trees_of("right")) == from_weight
    assert (embedded.weight_right >= per_tree.MIN_START["right"]) != least


def test_few_more_fits_are_needed_than_for_an_honest_forest(breast_cancer):
    bits = "01" * 35
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, bits, caps=Caps(6, 19))
    quick = embed_paper(task)
    loop = TrainOptions(training="paper")
    slow = embed_paper(dataclasses.replace(task, fit=loop, seed_right=1, seed_wrong=2, tree_seeds=()))
    check_promise(quick, task)
    assert quick.fits < 2 * len(bits) < slow.fits


def test_the_number_of_threads_changes_nothing(task):
    hashes = {
        embed_paper(dataclasses.replace(task, fit=TrainOptions(n_jobs=jobs))).forest.content_hash
        for jobs in (1, 2, 5, -1)
    }
    assert len(hashes) == 1


def test_a_seed_of_one_tree_changes_no_other_of_its_wave(task):
    first = embed_paper(task).forest
    seeds = (*task.tree_seeds[:-1], 999)
    other = embed_paper(dataclasses.replace(task, tree_seeds=seeds)).forest
    rest = list(range(len(seeds) - 1))
    assert other.select(rest).content_hash == first.select(rest).content_hash
    assert other.content_hash != first.content_hash


def test_the_least_weight_is_bracketed_by_one_that_fails(task, recorded):
    embedded = embed_paper(dataclasses.replace(task, fit=TrainOptions(least_weight=True)))
    lightest = []
    for position, tried in enumerate(trigger_weights(recorded, task)):
        y = next(fit[1] for fit in recorded if fit[0] == task.tree_seeds[position])
        fits = {}
        for weight in tried:
            tree = fit_tree(
                task.X,
                y,
                caps=task.caps,
                seed=task.tree_seeds[position],
                sample_weight=task.weights(weight),
            )
            fits[weight] = (tree.predict(task.X[task.trigger_rows]) == y[task.trigger_rows]).all()
        least = min(weight for weight, good in fits.items() if good)
        lightest.append(least)
        if least > 1:
            assert any(least / per_tree.PRECISION <= weight < least and not fits[weight] for weight in fits)
    wrong = task.signature.array == 1
    assert embedded.weight_wrong == max(np.array(lightest)[wrong])
    assert embedded.weight_right == max(np.array(lightest)[~wrong])


def test_given_weights_are_multiplied(task, recorded):
    given_weights = np.linspace(0.5, 2.0, len(task.y))
    check_promise(embed_paper(dataclasses.replace(task, sample_weight=given_weights)), task)
    trigger = np.isin(np.arange(len(task.y)), task.trigger_rows)
    for _, _, weight, _ in recorded:
        np.testing.assert_array_equal(weight[~trigger], given_weights[~trigger])
        factors = weight[trigger] / given_weights[trigger]
        np.testing.assert_allclose(factors, factors[0])
        assert factors[0] >= 1 - 1e-12


def test_rounds_are_reported_until_no_tree_is_left(task):
    reports = []
    embed_paper(task, lambda *report: reports.append(report))
    # 4 trees with bit 0, 6 with bit 1: waves of 1, 1, 2 and 2.
    assert [report for report in reports if report[0] == "right"] == [
        ("right", 1, 3),
        ("right", 2, 2),
        ("right", 3, 0),
    ]
    assert [report for report in reports if report[0] == "wrong"] == [
        ("wrong", 1, 5),
        ("wrong", 2, 4),
        ("wrong", 3, 2),
        ("wrong", 4, 0),
    ]


def test_long_waves_are_reported_in_parts_and_give_the_same_forest(task, monkeypatch):
    whole = embed_paper(task)
    monkeypatch.setattr(per_tree, "REPORTED", 1)
    reports = []
    assert embed_paper(task, lambda *report: reports.append(report)).forest.content_hash == (
        whole.forest.content_hash
    )
    assert [number for _, number, _ in reports] == list(range(1, 11))
    for kind, trees in (("right", 4), ("wrong", 6)):
        assert [unfit for each, _, unfit in reports if each == kind] == list(range(trees))[::-1]


def test_trees_that_are_too_small_are_an_error_that_says_how_far_it_came():
    X, y = synthetic(3)
    task = task_of(X, y, "0110100", size=20, caps=Caps(1, 2))
    with pytest.raises(EmbeddingError, match="the watermark does not fit") as failed:
        embed_paper(task)
    text = str(failed.value)
    missed, fits, weight = re.search(
        r"misses (\d+) of the 20 trigger rows after (\d+) fits \(trigger weights up to ([^)]*)\)", text
    ).groups()
    assert 0 < int(missed) <= 20
    assert int(fits) < task.fit.max_rounds
    assert float(weight) >= per_tree.MAX_WEIGHT
    assert text.endswith("allow deeper trees (max_depth), or take fewer trigger rows")
    assert "\n" not in text


def test_a_tree_that_fits_at_no_weight_takes_another_seed(task, monkeypatch):
    tried = []

    def fit(each, y, seed, weight):
        tried.append((seed, weight))
        good = seed != task.tree_seeds[0] and weight > 50
        return SimpleNamespace(predict=lambda rows, check_input: y[each.task.trigger_rows] ^ (not good))

    monkeypatch.setattr(per_tree.TaskFits, "fit", fit)
    each = per_tree.TaskFits(task, None)
    found = per_tree.fit_one(each, task.y, 0, per_tree.Start(32.0, blind=False)).fitted()
    assert found.weight == tried[-1][1] == 72
    assert len({seed for seed, _ in tried}) == 2
    assert found.fits == len(tried)


def test_max_rounds_bounds_the_fits_of_every_tree(task, recorded):
    with pytest.raises(EmbeddingError, match=r"one that must be wrong still misses .* after 2 fits"):
        embed_paper(dataclasses.replace(task, fit=TrainOptions(max_rounds=2)))
    assert max(map(len, trigger_weights(recorded, task))) == 2
    recorded.clear()
    allowed = dataclasses.replace(task, fit=TrainOptions(max_rounds=6, least_weight=True))
    check_promise(embed_paper(allowed), allowed)
    assert max(map(len, trigger_weights(recorded, task))) <= 6


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tree_seeds": ()}, "a seed of its own for each of the 10 trees; 0 different"),
        ({"tree_seeds": (1,) * 10}, "could be paired"),
        ({"tree_seeds": (*range(9), 3)}, "9 different"),
        ({"sample_weight": np.zeros(398)}, "above 0"),
        ({"sample_weight": np.ones(3)}, "for each training row"),
    ],
)
def test_a_malformed_task_is_refused_before_any_fit(task, changes, reason, recorded):
    with pytest.raises(EmbeddingError, match=reason):
        embed_paper(dataclasses.replace(task, **changes))
    assert not recorded
