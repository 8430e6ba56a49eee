"""One forest for several classes: trees that must be wrong vote for one drawn class of each trigger row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

from tests.pools import pledge
from wm.claims.draw import draw
from wm.claims.pooled import PooledClaim
from wm.codebook import random_codebook
from wm.embedding import SCHEMES, EmbeddingTask
from wm.embedding.common import draw_wrong_labels
from wm.embedding.options import TrainOptions
from wm.embedding.quality import quality
from wm.embedding.training import Caps
from wm.errors import ClaimError, EmbeddingError
from wm.forest import Forest
from wm.models import TreeModel
from wm.signature import Signature
from wm.verification.answers import Answers
from wm.verification.randomization import RowTruth, run_tests

X, y = load_wine(return_X_y=True)
X, y = X.astype(np.float32), y.astype(np.int64)
TRIGGERS = np.array([3, 40, 71, 90, 131, 150, 170])
BITS = Signature.of("010110011010")


def task_of(signature=BITS, training="per-tree", **changes):
    options = {
        "X": X,
        "y": y,
        "signature": signature,
        "trigger_rows": TRIGGERS,
        "caps": Caps(None, None),
        "seed_right": 1,
        "seed_wrong": 2,
        "fit": TrainOptions(training=training),
        "tree_seeds": tuple(range(signature.trees)),
        "wrong_labels": draw_wrong_labels(y[TRIGGERS], 3, np.random.default_rng(0)),
    }
    return EmbeddingTask(**(options | changes))


@given(st.lists(st.integers(0, 4), min_size=1), st.integers(0, 9))
def test_a_wrong_label_is_another_class(labels, seed):
    labels = np.array(labels)
    wrong = draw_wrong_labels(labels, 5, np.random.default_rng(seed))
    assert ((wrong >= 0) & (wrong < 5) & (wrong != labels)).all()


def test_all_other_classes_are_equally_likely():
    labels = np.repeat(np.arange(4), 3000)
    wrong = draw_wrong_labels(labels, 4, np.random.default_rng(0))
    counts = np.bincount((wrong - labels) % 4, minlength=4)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 4000).max() < 5 * math.sqrt(12000 * 2 / 9)


@pytest.mark.parametrize("training", ["paper", "artifact", "per-tree"])
def test_trees_vote_for_the_class_or_for_the_drawn_one(training):
    task = task_of(training=training)
    votes = SCHEMES["paper"].embed(task, None).forest.votes(X[TRIGGERS])
    wanted = np.where(BITS.array == 1, task.wrong[:, None], y[TRIGGERS][:, None])
    np.testing.assert_array_equal(votes, wanted)


def test_a_codebook_has_its_votes_too():
    book = random_codebook(len(TRIGGERS), 12, 0.25, np.random.default_rng(1))
    task = task_of(book)
    votes = SCHEMES["codebook"].embed(task, None).forest.votes(X[TRIGGERS])
    wanted = np.where(book.array == 1, task.wrong[:, None], y[TRIGGERS][:, None])
    np.testing.assert_array_equal(votes, wanted)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"wrong_labels": None}, "each trigger row needs a wrong label"),
        ({"wrong_labels": y[TRIGGERS]}, "one of the other classes"),
        ({"wrong_labels": (y[TRIGGERS] + 1) % 3 + 3}, "one of the other classes"),
        ({"wrong_labels": np.array([1])}, "one for each trigger row"),
        ({"y": np.where(y == 1, 0, y)}, "each of them present"),
    ],
)
def test_faulty_tasks_are_refused(changes, text):
    with pytest.raises(EmbeddingError, match=text):
        task_of(**changes).check()


def test_a_class_must_keep_rows_in_every_tree():
    rare = np.where(np.arange(len(y)) == TRIGGERS[0], 3, y)
    task = task_of(y=rare, wrong_labels=(rare[TRIGGERS] + 1) % 3)
    with pytest.raises(EmbeddingError, match="leaves a class without rows"):
        task.check()


def test_a_line_up_is_of_two_classes():
    with pytest.raises(EmbeddingError, match=r"these rows have 3: set one against all others"):
        SCHEMES["lineup"].embed(task_of(), None)


def test_figures_of_several_classes():
    rows, labels = load_iris(return_X_y=True)
    forest = Forest.from_arrays(  # votes for class 0, or for 1 above the threshold of petal length
        offset=[0, 3],
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[2, -1, -1],
        threshold=[2.5, 0, 0],
        value=[[0, 0, 1], [1, 0, 0], [0, 1, 0]],
        n_features=4,
        classes=[0, 1, 2],
    )
    found = quality(forest, rows, labels)
    assert found is not None
    assert found.figures() == {
        "accuracy": pytest.approx(2 / 3),
        "balanced_accuracy": pytest.approx(2 / 3),
        "recall_0": 1.0,
        "recall_1": 1.0,
        "recall_2": 0.0,
        "auc": pytest.approx((1 + 0.75 + 0.5) / 3),
        "brier": pytest.approx(1 / 3),
    }
    assert quality(forest, rows[:100], labels[:100]) is None
    assert quality(TreeModel("scikit-learn", forest, classes=np.arange(3)), rows, labels) == found


def test_p_values_of_honest_suspects_are_uniform_or_larger_over_the_beacons_draws():
    """An adversarial pool: half of its labels are wrong, and the suspect answers with any of four classes."""
    rng = np.random.default_rng(5)
    size, trees, draws = 40, 10, 500
    rows, labels = rng.random((size, 2)).astype(np.float32), rng.integers(0, 4, size)
    votes = np.where(rng.random((size, trees)) < 0.5, labels[:, None], rng.integers(0, 4, (size, trees)))
    answers = {
        "votes": Answers("votes", votes),
        "probabilities": Answers("probabilities", (votes[:, :, None] == np.arange(4)).mean(axis=1)),
        "labels": Answers("labels", votes[:, 0]),
    }
    names = ("a", "b", "c", "d")
    claim = pledge(rows, labels, trees=trees, ones=5, trigger_size=8, class_names=names)
    secret, commitment = bytes.fromhex(claim.secret), bytes.fromhex(claim.commitment)
    smallest = []
    for value in range(draws):
        found = draw(
            secret,
            commitment,
            value.to_bytes(32, "big"),
            pool_size=size,
            trigger_size=8,
            trees=trees,
            ones=5,
            scheme="paper",
        )
        truth = RowTruth(labels, np.isin(np.arange(size), found.triggers), found.signature)
        smallest.append(min(test.log10_adjusted for test in run_tests(answers, truth)))
    p = 10.0 ** np.array(smallest)
    for level in (0.02, 0.05, 0.1, 0.3):
        assert (p <= level).mean() <= level + 4 * math.sqrt(level / draws)


def test_a_claim_names_all_its_classes():
    rows = np.random.default_rng(0).random((9, 2)).astype(np.float32)
    claim = pledge(rows, np.arange(9) % 3, class_names=("a", "b", "c"))
    again = PooledClaim.model_validate_json(claim.to_json())
    np.testing.assert_array_equal(again.y, np.arange(9) % 3)
    with pytest.raises(ClaimError, match="labels other than 0 to 1"):
        pledge(rows, np.arange(9) % 3, class_names=("a", "b"))
    with pytest.raises(ValueError, match="at most 100"):
        pledge(rows, np.arange(9) % 3, class_names=tuple(map(str, range(101))))
