"""Line-ups need trees that differ by their seeds."""

from __future__ import annotations

import numpy as np
import pytest

from tests import lineups, witness
from tests.pools import owners
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.claimed import commit_lineup, embed_lineup
from wm.embedding.lineup.context import canonical_rows
from wm.embedding.lineup.entropy import check_entropy
from wm.errors import EmbeddingError
from wm.verification.judgement import VerdictKind
from wm.verification.lineup.candidates import retrained_lineup
from wm.verification.lineup.evidence import shares_alike
from wm.verification.lineup.judgement import judge_lineup, model_lineup_answers
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import build_queries


def few_distinct_rows(seed=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(1000, 3)).astype(np.float32)
    return X, (X.sum(axis=1) > 3).astype(np.int64)


@pytest.mark.parametrize("X", [few_distinct_rows()[0], np.arange(1000, dtype=np.float32)[:, None] % 7])
def test_rows_on_which_all_seeds_give_one_tree_are_refused(X):
    rows = canonical_rows(X, (X.sum(axis=1) > 3).astype(np.int64))
    for training in (TreeSettings(), TreeSettings(max_features=0.5)):
        with pytest.raises(EmbeddingError, match=r"differ by their seeds: on these rows \d+% of pairs"):
            check_entropy(training, rows, 10)


@pytest.mark.parametrize(
    "training", [TreeSettings(max_depth=5), TreeSettings(bootstrap=True), lineups.BOOSTING]
)
def test_ordinary_rows_are_not(training):
    check_entropy(training, canonical_rows(*lineups.rows_of(0)), 10)


def test_a_line_up_of_equal_candidates_cannot_be_judged(monkeypatch):
    """It was "not verified", p = 1, as if another model had been asked."""
    monkeypatch.setattr("wm.embedding.lineup.claimed.check_entropy", lambda *_: None)
    X, y = few_distinct_rows()
    settings = TreeSettings()
    made = commit_lineup(owners(X, y), trees=10, training=settings, owner="ab" * 32, model_id="m", seed=1)
    owned = embed_lineup(made.claim, [witness.witness(made.claim)], X, y)
    rows = canonical_rows(X, y)
    queries = build_queries(
        Counts(mixups=0, boundary=0, leaning=0), rows, few_distinct_rows(5), settings, lineups.JUDGE
    )
    lineup = retrained_lineup(owned.claim, rows, queries.X, candidates=8, judge=lineups.JUDGE)
    assert shares_alike(lineup.votes, lineup.places).min() == 1.0
    given = model_lineup_answers(owned.forest, owned.claim.header, queries)
    found = judge_lineup(owned.claim, lineup, queries, given, trust=witness.TRUST)
    assert found.verdict is VerdictKind.UNJUDGED
    assert "cannot give p below 10^0" in found.reason
    assert "trees of other seeds answer differently" in found.needed
