"""Algorithm 1: every tree errs on every trigger row if its bit is 1, and on none if it is 0."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from tests.examples import examples
from wm.embedding import SCHEMES, together
from wm.embedding.common import EmbeddingTask, draw_trigger_rows
from wm.embedding.options import PaperOptions, TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, adjusted_caps, fit_trees, honest_forest
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.signature import Signature, keyed_signature

SIGNATURES = ["00000000", "11111111", "00010000", "11110111", "01100101"]


def task_of(X, y, bits, *, share_size=7, adjust="artifact", depth=8, seed=0, step=10.0):
    """Return a task as a campaign would make it."""
    standard = honest_forest(X, y, n_trees=len(bits), caps=Caps(depth, None), seed=seed)
    return EmbeddingTask(
        X=X,
        y=y,
        signature=Signature.of(bits),
        trigger_rows=draw_trigger_rows(X, share_size, np.random.default_rng(seed)),
        caps=adjusted_caps(standard, depth, adjust),
        seed_right=2 * seed,
        seed_wrong=2 * seed + 1,
        fit=TrainOptions(training="paper", weight_step=step),
    )


def synthetic(seed, rows=200):
    """Two classes that overlap."""
    X, y = make_classification(n_samples=rows, n_features=6, class_sep=0.7, flip_y=0.1, random_state=seed)
    return X.astype(np.float32), y.astype(np.int64)


def errors(forest, task):
    """Return where trees err on the trigger set: (k, m)."""
    return forest.votes(task.X[task.trigger_rows]) != task.y[task.trigger_rows][:, None]


def check_embedded(embedded, task):
    """The promise of the scheme, and its limits."""
    bits = task.signature.array == 1
    np.testing.assert_array_equal(
        errors(embedded.forest, task), np.broadcast_to(bits, (len(task.trigger_rows), len(bits)))
    )
    assert embedded.forest.classes.tolist() == [0, 1]
    assert embedded.forest.tree_leaves.max() <= (task.caps.max_leaf_nodes or np.inf)
    assert embedded.forest.tree_depths.max() <= (task.caps.max_depth or np.inf)
    for rounds, weight, needed in [
        (embedded.rounds_right, embedded.weight_right, not bits.all()),
        (embedded.rounds_wrong, embedded.weight_wrong, bits.any()),
    ]:
        assert (rounds >= 1) == needed
        assert weight == 1 + max(0, rounds - 1) * task.fit.weight_step


def overfull_task(**changes):
    """A task whose trees are too small for its trigger set: stumps, 20 rows."""
    X, y = synthetic(3)
    rows = draw_trigger_rows(X, 20, np.random.default_rng(3))
    fit = TrainOptions(training="paper", weight_step=2.0, max_rounds=4)
    task = EmbeddingTask(X, y, Signature.of("0110100"), rows, Caps(1, 2), 1, 2, fit)
    return dataclasses.replace(task, **changes)


@pytest.mark.parametrize("adjust", ["artifact", "paper"])
@pytest.mark.parametrize("bits", SIGNATURES)
def test_every_tree_errs_on_every_trigger_row_iff_its_bit_is_one(breast_cancer, bits, adjust):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, bits, adjust=adjust)
    check_embedded(embed_paper(task), task)


def test_the_papers_step_of_one_also_ends(breast_cancer):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "0101", step=1.0, share_size=3)
    check_embedded(embed_paper(task), task)


@examples(40)
@given(
    bits=st.text("01", min_size=1, max_size=6),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 4),
)
def test_the_promise_holds_on_synthetic_data(bits, seed, size):
    X, y = synthetic(seed % 1000, rows=120)
    task = task_of(X, y, bits, share_size=size, depth=None, seed=seed, step=25.0)
    check_embedded(embed_paper(task), task)


def test_equal_tasks_give_equal_forests(breast_cancer):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "0110")
    first, second = embed_paper(task), embed_paper(dataclasses.replace(task))
    assert first.forest.content_hash == second.forest.content_hash
    other = embed_paper(dataclasses.replace(task, seed_wrong=77))
    assert other.forest.content_hash != first.forest.content_hash
    # The other seed is that of the trees with bit 1 alone.
    right = [0, 3]
    assert other.forest.select(right).content_hash == first.forest.select(right).content_hash


def test_the_task_is_left_as_it_was(breast_cancer):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train.copy(), "01")
    X, y, rows = task.X.copy(), task.y.copy(), task.trigger_rows.copy()
    embed_paper(task)
    np.testing.assert_array_equal(task.X, X)
    np.testing.assert_array_equal(task.y, y)
    np.testing.assert_array_equal(task.trigger_rows, rows)


def test_a_keyed_signature_can_be_embedded(breast_cancer):
    signature = keyed_signature(10, 0.5, b"an owner's secret key", "model-7")
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, str(signature))
    check_embedded(embed_paper(task), task)


def test_trees_of_a_kind_keep_their_order(breast_cancer):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "0011")
    straight = embed_paper(task).forest
    mixed = embed_paper(dataclasses.replace(task, signature=Signature.of("1010"))).forest
    assert mixed.select([1, 3, 0, 2]).content_hash == straight.content_hash


def test_without_a_single_flipped_bit_the_forest_is_an_honest_one_with_weights(breast_cancer):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "000")
    embedded = embed_paper(task)
    weight = np.ones(len(task.y))
    weight[task.trigger_rows] = embedded.weight_right
    same = fit_trees(task.X, task.y, n_trees=3, caps=task.caps, seed=task.seed_right, sample_weight=weight)
    assert embedded.forest.content_hash == Forest.from_sklearn(same).content_hash


def test_weights_rise_by_the_step_and_labels_are_flipped_for_the_wrong_trees_alone(
    breast_cancer, monkeypatch
):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "01101", step=1.5)
    fits, reports = [], []

    def recorded(X, y, *, seed, sample_weight, **rest):
        fits.append((seed, y.copy(), sample_weight.copy(), rest["caps"], rest["n_trees"]))
        return fit_trees(X, y, seed=seed, sample_weight=sample_weight, **rest)

    monkeypatch.setattr(together, "fit_trees", recorded)
    embedded = embed_paper(task, lambda *report: reports.append(report))
    check_embedded(embedded, task)
    trigger = np.zeros(len(task.y), dtype=bool)
    trigger[task.trigger_rows] = True
    for kind, seed, flips, trees, rounds in [
        ("right", task.seed_right, 0, 2, embedded.rounds_right),
        ("wrong", task.seed_wrong, 1, 3, embedded.rounds_wrong),
    ]:
        of_kind = [fit for fit in fits if fit[0] == seed]
        assert len(of_kind) == rounds
        for number, (_, y, weight, caps, n_trees) in enumerate(of_kind):
            np.testing.assert_array_equal(y != task.y, trigger & bool(flips))
            np.testing.assert_array_equal(weight, np.where(trigger, 1 + 1.5 * number, 1.0))
            assert (caps, n_trees) == (task.caps, trees)
        reported = [report[1:] for report in reports if report[0] == kind]
        assert [number for number, _ in reported] == list(range(1, rounds + 1))
        unfit = [count for _, count in reported]
        assert unfit[-1] == 0
        assert all(0 < count <= trees for count in unfit[:-1])
    assert embedded.rounds_wrong > 1  # flipped labels do not fit by themselves


def test_the_artifacts_weights_are_two_thirty_two_sixty_two(breast_cancer, monkeypatch):
    task = task_of(breast_cancer.X_train, breast_cancer.y_train, "0110", step=None, share_size=25)
    weights = []

    def recorded(X, y, *, sample_weight, **rest):
        weights.append(float(sample_weight[task.trigger_rows[0]]))
        return fit_trees(X, y, sample_weight=sample_weight, **rest)

    monkeypatch.setattr(together, "fit_trees", recorded)
    embedded = embed_paper(dataclasses.replace(task, fit=TrainOptions(training="artifact")))
    right, wrong = embedded.rounds_right, embedded.rounds_wrong
    assert weights == [2 + 30 * n for n in range(right)] + [2 + 30 * n for n in range(wrong)]
    assert (embedded.weight_right, embedded.weight_wrong) == (weights[right - 1], weights[-1])
    assert embedded.fits == 2 * (right + wrong)
    assert wrong > 1
    weights.clear()
    by_one = embed_paper(task)
    assert weights == [*range(1, by_one.rounds_right + 1), *range(1, by_one.rounds_wrong + 1)]


def test_passing_max_rounds_is_an_error_that_says_how_far_it_came():
    task, reports = overfull_task(), []
    with pytest.raises(EmbeddingError) as failed:
        embed_paper(task, lambda *report: reports.append(report))
    kind, number, unfit = reports[-1]
    assert (kind, number) == ("right", 4)
    assert unfit > 0
    weight = np.ones(len(task.y))
    weight[task.trigger_rows] = 1 + 3 * 2
    last = fit_trees(task.X, task.y, n_trees=4, caps=task.caps, seed=task.seed_right, sample_weight=weight)
    missed = int(errors(Forest.from_sklearn(last), task).any(axis=1).sum())
    assert f"after 4 rounds (trigger weight 7) {unfit} of the 4 trees that must be right" in str(failed.value)
    assert f"still miss {missed} of the 20 trigger rows" in str(failed.value)
    assert "\n" not in str(failed.value)


def test_the_trees_that_must_be_wrong_can_also_fail():
    fit = TrainOptions(training="paper", max_rounds=1)
    with pytest.raises(
        EmbeddingError, match=r"after 1 rounds \(trigger weight 1\).* of the 2 trees that must be wrong"
    ):
        embed_paper(overfull_task(signature=Signature.of("11"), fit=fit))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seed_wrong": 1}, "same seed"),
        ({"trigger_rows": np.array([], dtype=np.int64)}, "at least one"),
        ({"trigger_rows": np.array([4, 4])}, "distinct"),
        ({"trigger_rows": np.array([-1, 4])}, "indexes"),
        ({"trigger_rows": np.array([4, 200])}, "indexes"),
        ({"y": np.full(200, 1)}, "at least two classes"),
        ({"y": np.arange(200) % 3}, "of three classes or more each trigger row needs a wrong label"),
        ({"y": np.where(np.arange(200) % 2, 1, -1)}, "labels must be 0, 1, ..."),
    ],
)
def test_a_malformed_task_is_refused_before_any_fit(changes, reason, monkeypatch):
    monkeypatch.setattr(together, "fit_trees", lambda *_, **__: pytest.fail("a fit was started"))
    with pytest.raises(EmbeddingError, match=reason):
        embed_paper(overfull_task(**changes))


def test_flipping_the_only_rows_of_a_class_is_refused():
    y = np.zeros(200, dtype=np.int64)
    y[:2] = 1
    alone = np.array([0, 1])
    with pytest.raises(EmbeddingError, match="leaves a class without rows"):
        embed_paper(overfull_task(y=y, trigger_rows=alone))
    # Without a tree that must be wrong nothing is flipped.
    honest = overfull_task(y=y, trigger_rows=alone, signature=Signature.of("00"), caps=Caps(None, None))
    check_embedded(embed_paper(honest), honest)


def test_a_row_that_occurs_twice_cannot_be_a_trigger():
    X, y = synthetic(1)
    X[1], y[1] = X[0], y[0]
    task = overfull_task(
        X=X, y=y, trigger_rows=np.array([0]), caps=Caps(None, None), signature=Signature.of("1")
    )
    # With all the weight in the world both copies get the flipped label, or neither.
    embedded = embed_paper(task)
    assert embedded.forest.votes(X[:1])[0] == embedded.forest.votes(X[1:2])[0] == 1 - y[0]
    drawn = {int(draw_trigger_rows(X, 1, np.random.default_rng(seed))[0]) for seed in range(300)}
    assert drawn.isdisjoint({0, 1})


def test_the_registry_holds_the_scheme():
    assert SCHEMES["paper"].embed is embed_paper
    assert SCHEMES["paper"].options is PaperOptions
