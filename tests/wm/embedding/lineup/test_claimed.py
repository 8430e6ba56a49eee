"""The owner's procedure of a line-up."""

from __future__ import annotations

import pytest

from tests import lineups, witness
from tests.pools import owners
from wm.claims.lineup import drawn_value
from wm.claims.lineup_keys import tree_seed
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.claimed import (
    candidates_root,
    commit_lineup,
    embed_lineup,
    is_reproduced,
    owner_forest,
    trained_forest,
)
from wm.errors import ClaimError, EmbeddingError


def test_the_forest_is_the_one_of_the_drawn_seeds():
    owner = lineups.owner()
    value, _ = drawn_value(owner.claim)
    context = bytes.fromhex(owner.claim.header.context)
    seeds = [tree_seed(key, context, i) for i, key in enumerate(owner.claim.keys(value).values())]
    wanted = trained_forest(owner.rows, lineups.SETTINGS, seeds)
    assert owner.forest.content_hash == wanted.content_hash == owner.claim.released


def test_rows_in_another_order_give_the_same_forest():
    owner = lineups.owner()
    X, y = lineups.rows_of(0)
    bare = owner.claim.model_copy(update={"receipts": (), "released": None})
    again = embed_lineup(bare, owner.claim.receipts, X[::-1], y[::-1])
    assert again.forest.content_hash == owner.forest.content_hash
    assert again.claim == owner.claim


def test_a_forest_that_is_trained_again_is_the_released_one():
    owner = lineups.owner()
    assert is_reproduced(owner.claim, owner.rows)
    elsewhere = owner.claim.model_copy(update={"released": "00" * 32})
    assert not is_reproduced(elsewhere, owner.rows)


def test_another_secret_or_model_identifier_gives_other_trees():
    hashes = {
        each.forest.content_hash
        for each in (lineups.owner(), lineups.owner(seed=2), lineups.owner(model_id="another"))
    }
    assert len(hashes) == 3


def test_a_committed_forest_is_drawn_from_its_candidates():
    owner = lineups.owner(committed=4)
    header, candidates = owner.claim.header, owner.candidates
    assert (header.mode, header.candidates, candidates.n_trees) == ("committed", 4, 40)
    assert header.candidates_root == candidates_root(candidates)
    votes = candidates.votes(owner.queries.X).T.reshape(lineups.TREES, 4, -1)
    released = owner.forest.votes(owner.queries.X).T
    assert (votes == released[:, None]).all(axis=2).any(axis=1).all()


def test_other_candidates_are_refused():
    owner = lineups.owner(committed=4)
    X, y = lineups.rows_of(0)
    swapped = owner.candidates.select([1, 0, *range(2, 40)])
    for given, match in (
        (swapped, "these 40 trees are not the 40 candidates"),
        (owner.candidates.select(range(39)), "these 39 trees are not the 40 candidates"),
        (None, "give their file"),
    ):
        with pytest.raises(ClaimError, match=match):
            embed_lineup(owner.claim, owner.claim.receipts, X, y, candidates=given)
    with pytest.raises(ClaimError, match="commits to no candidates"):
        owner_forest(lineups.owner().claim, owner.rows, owner.candidates)


def test_a_receipt_of_another_claim_is_refused():
    one, other = lineups.owner(), lineups.owner(seed=2)
    with pytest.raises(ClaimError, match="of another commitment"):
        embed_lineup(one.claim, [witness.witness(other.claim)], *lineups.rows_of(0))


def test_an_impossible_line_up_is_refused():
    X, y = lineups.rows_of(0)
    with pytest.raises(EmbeddingError, match="no claim can be made of this: "):
        commit_lineup(owners(X, y), trees=1, training=TreeSettings(), owner="ab" * 32, model_id="model")
