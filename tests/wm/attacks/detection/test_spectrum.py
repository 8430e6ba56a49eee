"""The vote spectrum against a singular value decomposition, planted signatures, and probes of leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.attacks.detection.guesses import above_median
from wm.attacks.detection.rows import ranked
from wm.attacks.detection.spectrum import leaf_probes, vote_spectrum
from wm.engines.encoding import leaf_bounds
from wm.signature import Signature


def by_spectrum(votes, signature):
    """Return the rows of the spectrum: as a ranking, and divided at the median."""
    return ranked("spectrum", vote_spectrum(votes).scores, signature)


codes = st.tuples(st.integers(1, 12), st.integers(2, 7)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)


@given(codes)
def test_the_spectrum_is_that_of_the_centred_plain_votes(votes):
    centred = votes - votes.mean(axis=1, keepdims=True)
    singular = np.linalg.svd(centred, compute_uv=False)
    found = vote_spectrum(votes)
    if not centred.any():
        assert found.strength == 0
        assert not found.scores.any()
        return
    assert found.strengths[: len(singular)] == pytest.approx(singular**2 / (singular**2).sum(), abs=1e-9)
    assert np.linalg.norm(centred @ found.scores) == pytest.approx(singular[0])
    assert np.abs(found.projections) == pytest.approx(np.abs(centred @ found.scores))
    assert found.scores.sum() == pytest.approx(0.0, abs=1e-7)  # every row of the centred matrix sums to 0


@examples(30)
@given(st.integers(0, 2**32))
def test_a_planted_signature_is_found_through_noise(seed):
    rng = np.random.default_rng(seed)
    bits = rng.permutation(np.arange(40) % 2)
    labels = rng.integers(0, 2, 12)
    planted = labels[:, None] ^ bits
    others = rng.integers(0, 2, (200, 1)) ^ (rng.random((200, 40)) < 0.03)
    ranking, guess = by_spectrum(np.concatenate([others, planted]), Signature.of(bits))
    assert (ranking.auc, guess.bits) == (1.0, 1.0)


def test_leaf_probes_reach_their_leaves(owner):
    forest = owner.watermarked.select(range(8))
    bounds = leaf_bounds(forest)
    for base in (None, owner.data.X_test):
        probes = leaf_probes(forest, np.random.default_rng(1), base=base)
        assert probes.shape == (len(bounds.node), forest.n_features)
        reached = forest.apply(probes)
        assert np.array_equal(reached[np.arange(len(probes)), bounds.tree], bounds.node)
    assert len(leaf_probes(forest, np.random.default_rng(1), limit=10)) == 10


def test_the_spectrum_of_a_published_forest(released_forests, published_owner):
    """About 0.8 of the bits on breast-cancer at 2% trigger rows, against 0.55 by chance."""
    if not released_forests.published:
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    forest, signature = published_owner.watermarked, published_owner.signature
    sample = published_owner.data.X_test
    _, by_sample = by_spectrum(forest.vote_codes(sample), signature)
    rng = np.random.default_rng(0)
    probes = np.concatenate([leaf_probes(forest, rng, base=sample) for _ in range(2)])
    _, by_probes = by_spectrum(forest.vote_codes(probes), signature)
    for guess in (by_sample, by_probes):
        assert 0.75 < guess.bits < 1.0
        assert guess.null_bits == pytest.approx(0.5485, abs=1e-3)
        assert guess.p_value < 1e-5
    with_triggers = forest.vote_codes(np.concatenate([sample, published_owner.trigger_X]))
    assert by_spectrum(with_triggers, signature)[1].bits > by_sample.bits


def test_the_median_divides_in_halves():
    found = vote_spectrum(np.array([[0, 0, 1, 1, 0, 1], [1, 1, 0, 0, 1, 1]]))
    assert above_median(found.scores).sum() in (2, 3)
