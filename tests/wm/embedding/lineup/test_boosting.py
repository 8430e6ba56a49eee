"""Honest gradient boosting with a seed for each round."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from tests import lineups, witness
from tests.pools import owners
from wm.claims.lineup_opened import open_lineup
from wm.claims.lineup_settings import BoostingSettings, TreeSettings
from wm.embedding.boosted.rounds import BoostingTask, boost
from wm.embedding.claimed import owner_key
from wm.embedding.lineup.boosting import (
    boosting_settings,
    embed_boosted_lineup,
    first_margins,
    owner_rounds,
    train_round,
    train_rounds,
)
from wm.embedding.lineup.claimed import embed_lineup, is_reproduced
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.embedding.options import GradientOptions, LineupOptions
from wm.errors import ClaimError, EmbeddingError, ModelError


@pytest.fixture(scope="module")
def owner():
    return lineups.boosted_owner()


def test_the_released_model_adds_what_its_rounds_add(owner):
    margins = first_margins(owner.rows)
    for step in owner_rounds(owner.claim, owner.rows):
        margins = margins + step.outputs(owner.rows.X)
    assert owner.model.raw(owner.rows.X)[:, 0] == pytest.approx(margins, abs=1e-5)
    assert (owner.model.predict(owner.rows.X) == owner.rows.y).mean() > 0.8


def test_a_claim_is_trained_to_the_same_bytes_again(owner):
    X, y = lineups.rows_of(0)
    order = np.random.default_rng(3).permutation(len(y))
    made = lineups.commit(lineups.BOOSTING)
    first, second = (
        embed_boosted_lineup(made.claim, [witness.witness(made.claim)], X[some], y[some])
        for some in (slice(None), order)
    )
    assert first.content == second.content
    assert is_reproduced(first.claim, owner.rows)
    assert not is_reproduced(first.claim.model_copy(update={"released": "00" * 32}), owner.rows)
    assert lineups.boosted_owner(seed=2).model.forest.content_hash != owner.model.forest.content_hash


def test_without_sampling_rounds_are_those_of_gradient_boosting():
    X, y = lineups.rows_of(4)
    rows = canonical_rows(X[:, :1], y)
    settings = BoostingSettings(max_depth=2, learning_rate=0.3, subsample=1.0)
    steps = train_rounds(rows, settings, range(8))
    none = np.zeros(0, dtype=np.int64)
    plain = boost(
        BoostingTask(
            X=rows.X,
            y=rows.y,
            trigger_rows=none,
            wanted=np.zeros((0, 8), dtype=np.bool_),
            max_depth=2,
            options=GradientOptions(learning_rate=0.3),
            seed=1,
        )
    )
    found = first_margins(rows) + sum(step.outputs(rows.X) for step in steps)
    assert plain.model.raw(rows.X)[:, 0] == pytest.approx(found, abs=1e-5)


def test_a_round_sees_its_share_of_the_rows():
    rows = canonical_rows(*lineups.rows_of(5))
    step = train_round(rows, lineups.BOOSTING, first_margins(rows), 11)
    assert step.tree.tree_.n_node_samples[0] == round(0.6 * len(rows.y))


def test_every_seed_gives_another_round():
    rows = canonical_rows(*lineups.rows_of(5))
    found = {
        train_round(rows, lineups.BOOSTING, first_margins(rows), seed).outputs(rows.X).tobytes()
        for seed in range(20)
    }
    assert len(found) > 15


def test_rows_without_a_choice_are_refused_where_every_round_sees_them_all():
    X, y = lineups.rows_of(0)
    whole = BoostingSettings(max_depth=2, learning_rate=0.1, subsample=1.0)
    with pytest.raises(EmbeddingError, match="give a subsample below 1"):
        lineups.commit_lineup(owners(X[:, :1], y), trees=4, training=whole, owner="ab" * 32, model_id="m")


def test_candidates_cannot_be_committed_before_the_draw():
    with pytest.raises(EmbeddingError, match="depend on the draw"):
        lineups.commit(lineups.BOOSTING, committed=4)


def test_some_rounds_alone_are_not_opened():
    key = owner_key(3)
    claim = lineups.boosted_owner(key=key).claim
    with pytest.raises(ClaimError, match="by its whole claim"):
        open_lineup(claim, key, "case 17", 4)


def test_claims_of_forests_and_of_boosted_models_are_not_mixed_up(owner):
    forest = lineups.owner()
    X, y = lineups.rows_of(0)
    with pytest.raises(ClaimError, match="of a forest"):
        embed_boosted_lineup(forest.claim, forest.claim.receipts, X, y)
    with pytest.raises(ClaimError, match="of a boosted model"):
        embed_lineup(owner.claim, owner.claim.receipts, X, y)
    with pytest.raises(ClaimError, match="of a forest"):
        boosting_settings(forest.claim)


def test_other_rows_than_the_claims_are_refused(owner):
    other = TrainingRows(owner.rows.X[1:], owner.rows.y[1:])
    with pytest.raises(ClaimError, match="are not those"):
        owner_rounds(owner.claim, other)


def test_the_file_is_json_only(owner, tmp_path):
    made = embed_boosted_lineup(owner.claim, owner.claim.receipts, *lineups.rows_of(0))
    made.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == made.content
    with pytest.raises(ModelError, match="must end in"):
        made.save(tmp_path / "model.bin")


def test_options_are_of_one_kind():
    made = LineupOptions(boosting=True).training(None)
    assert made == BoostingSettings(max_depth=3, learning_rate=0.1, subsample=0.5)
    for wrong in ({"boosting": True, "bootstrap": True}, {"subsample": 0.5}, {"learning_rate": 0.5}):
        with pytest.raises(EmbeddingError, match=r"for boosted models|no meaning for boosting"):
            LineupOptions.of(**wrong)


def test_a_row_that_is_certain_and_wrong_asks_for_a_finite_step():
    rows = canonical_rows(*lineups.rows_of(5))
    margins = np.where(rows.y == 1, -95.0, -120.0)
    whole = BoostingSettings(max_depth=2, learning_rate=1.0, subsample=1.0)
    assert np.abs(train_round(rows, whole, margins, 3).value).max() <= 1e6


def test_settings_that_no_tree_takes_are_no_claims():
    for name in ("min_samples_leaf", "max_leaf_nodes"):
        with pytest.raises(ValidationError, match=name):
            TreeSettings.model_validate({name: 2**70})
