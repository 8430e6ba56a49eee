"""A small owner of scheme `lineup`, for tests: rows, a witnessed claim, its forest, and a judge's queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tests import witness
from tests.pools import owners
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_settings import BoostingSettings, Settings, TreeSettings
from wm.embedding.lineup.boosting import embed_boosted_lineup
from wm.embedding.lineup.claimed import CommittedLineup, commit_lineup, embed_lineup
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.forest import Forest
from wm.models import TreeModel
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import Queries, build_queries

TREES = 10
SETTINGS = TreeSettings(max_depth=5)
JUDGE = Judge("court of X, case 17")
COUNTS = Counts(natural=60, mixups=100, boundary=150, leaning=0)


def rows_of(seed: int, count: int = 200) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows, (count, 6), and labels that trees do not quite learn."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6)).astype(np.float32)
    return X, (X[:, :3].sum(axis=1) + rng.normal(scale=0.7, size=count) > 0).astype(np.int64)


BOOSTING = BoostingSettings(max_depth=2, learning_rate=0.2, subsample=0.6)


@dataclass(frozen=True, eq=False)
class LineupOwner:
    """All that an owner has, and what a judge asks."""

    claim: LineupClaim
    forest: Forest
    candidates: Forest | None
    rows: TrainingRows
    queries: Queries


def commit(
    training: Settings,
    committed: int | None = None,
    seed: int = 1,
    model_id: str = "model",
    key: Ed25519PrivateKey | None = None,
) -> CommittedLineup:
    """Return a claim whose draw is open, with its candidates."""
    X, y = rows_of(0)
    return commit_lineup(
        owners(X, y),
        trees=TREES,
        training=training,
        owner="ab" * 32 if key is None else public_hex(key),
        model_id=model_id,
        committed=committed,
        seed=seed,
    )


@dataclass(frozen=True, eq=False)
class BoostedOwner:
    """All that an owner of a boosted line-up has, and what a judge asks."""

    claim: LineupClaim
    model: TreeModel
    rows: TrainingRows
    queries: Queries


def boosted_owner(seed: int = 1, key: Ed25519PrivateKey | None = None) -> BoostedOwner:
    """Return an owner whose secrets follow from a seed."""
    X, y = rows_of(0)
    made = commit(BOOSTING, seed=seed, key=key)
    owned = embed_boosted_lineup(made.claim, [witness.witness(made.claim)], X, y)
    rows = canonical_rows(X, y)
    queries = build_queries(COUNTS, rows, rows_of(9, 60), BOOSTING, JUDGE)
    return BoostedOwner(owned.claim, owned.model, rows, queries)


def owner(
    committed: int | None = None,
    seed: int = 1,
    model_id: str = "model",
    key: Ed25519PrivateKey | None = None,
) -> LineupOwner:
    """Return an owner whose secrets follow from a seed; equal arguments give equal owners."""
    X, y = rows_of(0)
    made = commit(SETTINGS, committed, seed, model_id, key)
    owned = embed_lineup(made.claim, [witness.witness(made.claim)], X, y, candidates=made.candidates)
    rows = canonical_rows(X, y)
    queries = build_queries(COUNTS, rows, rows_of(9, 60), SETTINGS, JUDGE)
    return LineupOwner(owned.claim, owned.forest, made.candidates, rows, queries)
