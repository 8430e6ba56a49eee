"""Trigger sets: their size, and which rows may be drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from wm.embedding import common
from wm.embedding.common import draw_trigger_rows, row_sums, single_rows, trigger_size
from wm.errors import EmbeddingError


@pytest.mark.parametrize(
    ("n_train", "share", "size"),
    [(398, 0.02, 7), (9706, 0.02, 194), (10_000, 0.02, 200), (398, 0.01, 3), (100, 0.07, 7), (100, 0.29, 29)],
)
def test_the_size_is_cut_off_as_in_the_paper(n_train, share, size):
    assert trigger_size(n_train, share) == size


@given(n_train=st.integers(1, 10**7), percent=st.integers(1, 99))
def test_the_size_is_exact_for_whole_percents(n_train, percent):
    assume(n_train * percent >= 100)
    assert trigger_size(n_train, percent / 100) == n_train * percent // 100


@given(n_train=st.integers(1, 10**6), share=st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_share_is_a_size_or_the_error_names_one_that_is(n_train, share):
    try:
        size = trigger_size(n_train, share)
    except EmbeddingError as reason:
        named = float(re.search(r"at least (\S+) is needed", str(reason)).group(1))
    else:
        assert 1 <= size <= n_train
        assert size == pytest.approx(share * n_train, abs=1)
        return
    assert share * n_train < 1
    if named < 1:  # one training row leaves no share at all
        assert trigger_size(n_train, named) == 1


@pytest.mark.parametrize("share", [0.0, 1.0, -0.02, 2, float("nan")])
def test_a_share_outside_zero_and_one_is_refused(share):
    with pytest.raises(EmbeddingError, match=f"trigger_share {share} is outside"):
        trigger_size(398, share)


def test_a_share_of_less_than_one_row_is_refused():
    with pytest.raises(
        EmbeddingError, match=r"^trigger_share 0\.002 of 398 training rows is less than one row"
    ):
        trigger_size(398, 0.002)


small_matrices = st.tuples(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(0, 4, size=shape[:2]).astype(np.float32)
)


@given(X=small_matrices, size=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
def test_only_rows_that_occur_once_are_drawn(X, size, seed):
    rows = [tuple(row) for row in X.tolist()]
    single = [index for index, row in enumerate(rows) if rows.count(row) == 1]
    if len(single) < size:
        expected = f"{size} trigger rows are wanted, but only {len(single)} of the {len(X)} training rows"
        with pytest.raises(EmbeddingError, match=expected):
            draw_trigger_rows(X, size, np.random.default_rng(seed))
        return
    drawn = draw_trigger_rows(X, size, np.random.default_rng(seed))
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert len(drawn) == size
    assert set(drawn.tolist()) <= set(single)
    assert drawn.tolist() == draw_trigger_rows(X, size, np.random.default_rng(seed)).tolist()


def test_zero_and_negative_zero_are_the_same_row():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]], dtype=np.float32)
    assert draw_trigger_rows(X, 1, np.random.default_rng(0)).tolist() == [2]
    with pytest.raises(EmbeddingError, match="only 1 of the 3"):
        draw_trigger_rows(X, 2, np.random.default_rng(0))


def test_all_rows_that_occur_once_are_equally_likely():
    X = np.array([*range(12), 3, 3, 7], dtype=np.float32)[:, None]
    rng = np.random.default_rng(8)
    counts = np.bincount(np.concatenate([draw_trigger_rows(X, 1, rng) for _ in range(3000)]), minlength=15)
    single = [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert counts[single].sum() == 3000
    assert 0.001 < stats.chisquare(counts[single]).pvalue < 0.999


FEW_VALUES = st.sampled_from([0.0, -0.0, 1.0, float(np.float32(0.1)), 3e38])


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=FEW_VALUES))
def test_single_rows_are_those_that_equal_no_other(X):
    equal = (X[:, None] == X[None]).all(axis=2)
    assert single_rows(X).tolist() == np.flatnonzero(equal.sum(axis=1) == 1).tolist()
    sums = row_sums(X)
    assert (sums[:, None] == sums[None])[equal].all()


def test_rows_whose_sums_are_equal_by_chance_are_told_apart(monkeypatch):
    monkeypatch.setattr(common, "row_sums", lambda X: np.zeros(len(X), dtype=np.uint64))
    X = np.array([[1, 2], [3, 4], [1, 2], [5, 6]], dtype=np.float32)
    assert common.single_rows(X).tolist() == [1, 3]


def test_sums_of_other_rows_differ():
    X = np.random.default_rng(0).integers(0, 3, (20_000, 8)).astype(np.float32)
    assert len(np.unique(row_sums(X))) == len(np.unique(X, axis=0))
