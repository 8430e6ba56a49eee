"""Free forgery: what is forged really votes so, and each kind is stopped by the rule that is there for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm import engines
from wm.attacks.divisions import disagreement
from wm.attacks.forgery import Target
from wm.attacks.forgery.forged_sets import ForgedSet, score_forged_set
from wm.attacks.free_forgery.local_search import LocalSearcher
from wm.attacks.free_forgery.methods import (
    all_zeros,
    best_pattern,
    clones,
    forge_locally,
    of_outcomes,
)
from wm.attacks.suppression.recovery import recover_signature
from wm.engines import ForgeryQuery
from wm.engines.encoding import cell_of, leaf_bounds
from wm.errors import ModelError, QueryError
from wm.signature import Signature, random_signature
from wm.verification.rules import Rule


def holds(forged, forest):
    """Whether the forest errs on every row of the set in exactly the trees whose bit is 1."""
    return np.array_equal(
        forest.votes(forged.X) != forged.labels[:, None],
        np.broadcast_to(forged.signature.array == 1, (len(forged.X), forest.n_trees)),
    )


def score(forged, owner):
    return score_forged_set(forged, owner.watermarked, trigger_size=7, independent=owner.honest)


# --- chosen after seeing the model


def test_all_zeros_are_many_and_free(published_owner):
    data = published_owner.data
    forged = all_zeros(published_owner.watermarked, data.X_test, data.y_test)
    assert holds(forged, published_owner.watermarked)
    found = score(forged, published_owner)
    assert found.size_over_k > 5
    assert found.distinct_cells > 35
    assert (found.mean_distance, found.forged_ones_share) == (0.0, 0.0)
    assert found.independent_accuracy > 0.95
    assert {Rule.QUOTA, Rule.SIGNIFICANCE} <= set(found.stopped_but_for_commitment.split(", "))
    assert Rule.COMMITMENT in found.stopped_by.split(", ")


def test_the_best_pattern_is_stopped_by_the_commitment_alone(published_owner):
    data = published_owner.data
    forged = best_pattern(published_owner.watermarked, data.X_test, data.y_test)
    assert holds(forged, published_owner.watermarked)
    found = score(forged, published_owner)
    assert found.size >= 1
    assert 0.25 <= found.forged_ones_share <= 0.75
    assert found.stopped_by == Rule.COMMITMENT


@given(st.integers(0, 2**32))
def test_the_best_pattern_is_the_commonest_within_the_quota(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (30, 4))
    labels = rng.integers(0, 2, 30)

    class Votes:
        n_trees = 4

        def votes(self, X):
            return codes

    forged = best_pattern(Votes(), np.arange(30.0).reshape(-1, 1), labels)
    errors = [tuple(row) for row in (codes != labels[:, None]).astype(int)]
    within = [row for row in errors if 1 <= sum(row) <= 3]
    most = max((within.count(row) for row in within), default=0)
    assert len(forged.X) == most
    if most:
        assert all(errors[int(row)] == forged.signature.bits for row in forged.X[:, 0])


def test_no_row_is_contested_enough(owner):
    data = owner.data
    forged = best_pattern(owner.honest, data.X_test, data.y_test, least_ones=0.499, most_ones=0.499)
    assert len(forged.X) == 0
    found = score(forged, owner)
    assert (found.size, found.log10_p, found.stopped_by) == (0, None, "")
    assert found.independent_accuracy is None


def test_clones_fill_one_cell_and_are_stopped_for_it(owner):
    row, label = owner.trigger_X[0], int(owner.trigger_y[0])
    forged = clones(owner.watermarked, row, label, 200, np.random.default_rng(0))
    assert len(forged.X) == 200
    assert len(np.unique(forged.X, axis=0)) == 200
    assert holds(forged, owner.watermarked)
    assert forged.signature == owner.signature  # the trigger row's own cell: the true signature
    found = score(forged, owner)
    assert (found.size, found.distinct_cells) == (200, 1)
    assert found.stopped_but_for_commitment == Rule.DISTINCT_CELLS
    with pytest.raises(ModelError, match="too few"):
        clones(owner.watermarked, row, label, 0, np.random.default_rng(0))


@examples(30)
@given(row=st.integers(0, 170), data=st.data())
def test_a_cell_is_a_largest_box(owner, row, data):
    point = owner.data.X_test[row]
    forest = owner.watermarked
    lower, upper = cell_of(forest, leaf_bounds(forest), point)
    reached = forest.apply(point[None])[0]
    feature = data.draw(st.integers(0, forest.n_features - 1))
    for side, beyond in ((lower, -np.inf), (upper, np.inf)):
        if np.isfinite(side[feature]):
            inside, outside = point.copy(), point.copy()
            inside[feature] = side[feature]
            outside[feature] = np.nextafter(side[feature], np.float32(beyond))
            assert np.array_equal(forest.apply(inside[None])[0], reached)
            assert not np.array_equal(forest.apply(outside[None])[0], reached)


# --- local search


@examples(25)
@given(seed=st.integers(0, 2**32), eps=st.sampled_from([0.05, 0.3, 1.0]))
def test_what_local_search_finds_is_a_forgery(owner, seed, eps):
    """The signature is that of some other row, so that it can be had; the search may miss it."""
    rng = np.random.default_rng(seed)
    forest = owner.watermarked.select(range(12))
    centre, other = owner.data.X_test[rng.choice(171, 2, replace=False)]
    label = int(rng.integers(0, 2))
    bits = (forest.votes(other[None])[0] != label).astype(int)
    query = ForgeryQuery(signature=bits, label=label, centre=centre, eps=eps)
    found = LocalSearcher(forest).search(query, rng)
    if found is not None:
        errs = forest.votes(found[None])[0] != label
        assert np.array_equal(errs, bits == 1)
        assert np.abs(found.astype(float) - centre).max() <= eps
        assert ((found >= 0) & (found <= 1)).all()


def test_the_true_signature_is_forged_nearly_as_often_as_by_an_engine(published_owner):
    """An engine forges all of the authors' 7 rows at eps 0.9; so does the search, in a moment."""
    forest, data = published_owner.watermarked, published_owner.data
    target = Target(data.X_test[:7], data.y_test[:7], published_owner.signature, 0.9)
    forged = forge_locally(forest, target, np.random.default_rng(1))
    assert holds(forged, forest)
    assert len(forged.X) >= 5
    found = score(forged, published_owner)
    assert found.max_distance <= 0.9
    assert found.stopped_by == Rule.COMMITMENT


def test_an_independent_signature_is_not_forged(owner):
    signature = random_signature(70, 0.5, np.random.default_rng(77))
    target = Target(owner.data.X_test[:3], owner.data.y_test[:3], signature, 0.3)
    assert len(forge_locally(owner.watermarked, target, np.random.default_rng(1)).X) == 0


def test_a_recovered_signature_is_forged_by_an_engine(owner):
    """Queries give the bits, a solver gives the rows: only the commitment is in the way."""
    forest, data = owner.watermarked, owner.data
    stream = np.concatenate([data.X_test, owner.trigger_X])
    codes = forest.vote_codes(stream)
    guess = recover_signature(codes[disagreement(codes) >= 0.45])
    bits = guess if (guess == owner.signature.array).mean() > 0.5 else 1 - guess
    target = Target(data.X_test[:2], data.y_test[:2], Signature.of(bits), 0.9)
    with engines.create("sat", forest) as engine:
        forged = of_outcomes(
            "recovered", [engine.solve(query, timeout_s=60) for query in target.queries()], target
        )
    assert holds(forged, forest)
    assert forged.method == "recovered"
    assert len(forged.X) >= 1


def test_trivially_impossible_queries_are_not_searched(owner):
    forest = owner.watermarked
    outside = ForgeryQuery(signature=[0] * 70, label=1, centre=np.full(30, 3.0), eps=0.5)
    no_draws = None  # a search that begins would draw from it
    assert LocalSearcher(forest).search(outside, no_draws) is None
    point = owner.data.X_test[0]
    votes = forest.votes(point[None])[0]
    opposite = ForgeryQuery(signature=(votes == 1).astype(int), label=1, centre=point, eps=0.0)
    assert LocalSearcher(forest).search(opposite, no_draws) is None


def test_a_query_of_another_forest_is_refused(owner):
    query = ForgeryQuery(signature=[0] * 3, label=1, centre=owner.data.X_test[0], eps=0.5)
    with pytest.raises(QueryError, match="70 trees"):
        LocalSearcher(owner.watermarked).search(query, np.random.default_rng(0))


# --- scoring


def test_a_repeated_row_counts_in_size_but_is_no_claim_of_its_own(owner):
    X = np.repeat(owner.trigger_X[:1], 3, axis=0)
    labels = np.repeat(owner.trigger_y[:1], 3)
    forged = ForgedSet("copies", X, labels, owner.signature, X)
    found = score(forged, owner)
    assert (found.size, found.distinct_cells) == (3, 1)
    alone = ForgedSet("one", X[:1], labels[:1], owner.signature, X[:1])
    assert found.log10_p == score(alone, owner).log10_p


def test_a_published_commitment_would_be_accepted(owner):
    """The true owner's own rows pass once their commitment is older than the model."""
    X = owner.trigger_X
    forged = ForgedSet("true", X, owner.trigger_y, owner.signature, X)
    found = score(forged, owner)
    assert found.stopped_by == Rule.COMMITMENT
    assert found.stopped_but_for_commitment == ""


def test_a_set_of_another_forest_is_refused(owner):
    forged = ForgedSet("odd", owner.trigger_X, owner.trigger_y, Signature.of("01"), owner.trigger_X)
    with pytest.raises(ModelError, match="does not fit"):
        score(forged, owner)
    target = Target(owner.trigger_X, owner.trigger_y, owner.signature, 0.1)
    with pytest.raises(ModelError, match="0 outcomes are given for 7 rows"):
        of_outcomes("none", [], target)
