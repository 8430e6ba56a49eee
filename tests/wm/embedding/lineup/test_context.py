"""The context of a line-up: the same for the same rows in any order, another for anything else."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from tests import lineups
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import (
    LIBRARIES,
    canonical_rows,
    check_context,
    context_hash,
    environment,
)
from wm.errors import ClaimError, EmbeddingError


def context(X, y, **changes):
    given = {"training": TreeSettings(), "trees": 9, "model_id": "m", "environment": {"numpy": "2"}} | changes
    return context_hash(canonical_rows(X, y), given.pop("training"), **given)


def test_the_order_of_rows_does_not_matter():
    X, y = lineups.rows_of(3)
    X, y = np.concatenate([X, X[:5]]), np.concatenate([y, 1 - y[:5]])  # equal rows with both labels
    order = np.random.default_rng(1).permutation(len(y))
    rows, moved = canonical_rows(X, y), canonical_rows(X[order], y[order])
    assert np.array_equal(rows.X, moved.X)
    assert np.array_equal(rows.y, moved.y)
    assert sorted(map(tuple, X.tolist())) == list(map(tuple, rows.X.tolist()))
    assert context(X, y) == context(X[order], y[order])


def test_memory_layout_byte_order_and_the_sign_of_zero_do_not_matter():
    X, y = lineups.rows_of(4)
    X[0, 0] = 0.0
    negative = X.copy()
    negative[0, 0] = -0.0
    wanted = context(X, y)
    assert context(np.asfortranarray(X), y) == context(X.astype(">f4"), y) == context(negative, y) == wanted


@pytest.mark.parametrize(
    "changes",
    [
        {"training": TreeSettings(bootstrap=True)},
        {"training": TreeSettings(max_depth=3)},
        {"trees": 8},
        {"model_id": "n"},
        {"environment": {"numpy": "2.1"}},
    ],
)
def test_every_setting_matters(changes):
    X, y = lineups.rows_of(5)
    assert context(X, y, **changes) != context(X, y)


def test_every_row_and_label_matters():
    X, y = lineups.rows_of(6)
    other = X.copy()
    other[17, 2] = np.nextafter(other[17, 2], np.float32(9))
    flipped = y.copy()
    flipped[17] = 1 - flipped[17]
    assert len({context(X, y), context(other, y), context(X, flipped), context(X[1:], y[1:])}) == 4


def test_the_hash_is_as_documented():
    X = np.array([[1.5, -2.0], [0.0, 3.25], [-0.0, 1e-3]], dtype=np.float32)
    content = b"treeproof/context/v1\0" + struct.pack("<QQ", 3, 2)
    content += struct.pack("<6f", 0.0, np.float32(1e-3), 0.0, 3.25, 1.5, -2.0) + bytes([1, 0, 1])
    content += (
        b'{"environment":{"numpy":"2"},"model_id":"m","training":{"bootstrap":false,"max_depth":null,'
        b'"max_features":"sqrt","max_leaf_nodes":null,"min_samples_leaf":1},"trees":9}'
    )
    assert context(X, np.array([1, 0, 1])) == hashlib.sha256(content).digest()


@pytest.mark.parametrize("fault", ["nan", "infinite", "label", "one class"])
def test_rows_that_no_tree_can_use_are_refused(fault):
    X, y = lineups.rows_of(7)
    if fault in ("nan", "infinite"):
        X[3, 3] = {"nan": np.nan, "infinite": np.inf}[fault]
    y = {"label": y + 1, "one class": np.zeros_like(y)}.get(fault, y)
    with pytest.raises(EmbeddingError, match=r"finite, with labels 0 and 1, both|models of two classes"):
        canonical_rows(X, y)


def test_other_library_versions_are_refused_with_the_way_to_the_right_ones():
    owner = lineups.owner()
    check_context(owner.claim.header, owner.rows)
    assert set(owner.claim.header.environment) == set(LIBRARIES)
    old = environment() | {"scikit-learn": "0.1"}
    header = owner.claim.header.model_copy(update={"environment": old})
    with pytest.raises(ClaimError, match=r"pip install treeproof numpy==\S+ scikit-learn==0\.1; ") as refusal:
        check_context(header, owner.rows)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "hostile", [{"helper": "1.0"}, {"numpy": "1.0 --index-url https://evil.example"}, {"numpy": "1; sh"}]
)
def test_no_command_is_made_of_a_claims_own_words(hostile):
    owner = lineups.owner()
    header = owner.claim.header.model_copy(update={"environment": environment() | hostile})
    with pytest.raises(ClaimError, match="no such library") as refusal:
        check_context(header, owner.rows)
    assert "pip" not in str(refusal.value)


def test_other_training_rows_are_refused():
    owner = lineups.owner()
    check_context(owner.claim.header, owner.rows)
    with pytest.raises(ClaimError, match="these 150 rows of 6 features are not those"):
        check_context(owner.claim.header, canonical_rows(owner.rows.X[:150], owner.rows.y[:150]))
