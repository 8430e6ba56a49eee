"""The owner's whole procedure of scheme `lineup` in one call: for `wm.embed` and for the estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons.base import Receipt
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim, with_receipts
from wm.claims.lineup_settings import BoostingSettings, Settings
from wm.embedding.claimed import own_receipt, owner_key
from wm.embedding.lineup.boosting import OwnedBoostedLineup, embed_boosted_lineup
from wm.embedding.lineup.claimed import OwnedLineup, commit_lineup, embed_lineup
from wm.embedding.merging import MergedRows
from wm.embedding.options import LineupOptions
from wm.embedding.training import Caps
from wm.errors import EmbeddingError
from wm.owner_rows import OwnerRows


def embed_rows(
    rows: OwnerRows,
    *,
    trees: int,
    max_depth: int | None,
    owner: str,
    model_id: str,
    beacon: Callable[[LineupClaim], Receipt] | None,
    seed: int | None,
    n_jobs: int,
    options: Mapping[str, Any],
) -> OwnedLineup | OwnedBoostedLineup:
    """Commit to keys, have the draw made, and train what they say; a judge will retrain the candidates.

    Parameters
    ----------
    owner
        The owner's public key, hex.
    beacon
        Returns a receipt for the claim's commitment; None: the owner's own randomness.
    seed
        As in `wm.embedding.lineup.claimed.commit_lineup`.
    options
        Fields of `LineupOptions` but ``candidates``, which the judge chooses.

    Raises
    ------
    EmbeddingError
        Unknown or impossible options, or rows that no line-up can have.
    """
    if "candidates" in options:
        raise EmbeddingError(
            "candidates are for the judge, wm.verify(candidates=...); to commit to some before the draw call "
            "wm.embedding.lineup.claimed.commit_lineup"
        )
    training = LineupOptions.of(**options).training(max_depth)
    made = commit_lineup(rows, trees=trees, training=training, owner=owner, model_id=model_id, seed=seed)
    claim = made.claim
    receipt = own_receipt(seed) if beacon is None else beacon(claim)
    if claim.header.is_boosted:
        return embed_boosted_lineup(claim, [receipt], rows.X, rows.y)
    owned = embed_lineup(claim, [receipt], rows.X, rows.y, n_jobs=n_jobs)
    return OwnedLineup(owned.forest, owned.claim, rows.interface)


def fitted_lineup(
    merged: MergedRows,
    y: NDArray[np.int64],
    claim: LineupClaim | None,
    *,
    names: tuple[str, ...],
    features: tuple[str, ...],
    trees: int,
    model_id: str,
    limits: Caps,
    seed: int | None,
    n_jobs: int,
) -> OwnedLineup:
    """Return an estimator's forest of one class, for a claim that is drawn, or else a new one.

    Parameters
    ----------
    merged, y : (n,)
        Training rows, each as often as its weight says, and their labels, 0 or 1.
    names, features
        Of classes and features.
    limits
        Of a new claim's trees.

    Raises
    ------
    ClaimError
        A claim without draw, or of other rows or library versions.
    EmbeddingError
        Weights that are not whole numbers, or limits that no line-up has.
    """
    rows = _whole_rows(merged, y, names, features)
    if claim is None:
        limited = LineupOptions.of(
            min_samples_leaf=limits.min_samples_leaf,
            max_features="1" if limits.max_features is None else str(limits.max_features),
        ).training(limits.max_depth)
        claim = _drawn_by_owner(rows, limited, trees=trees, model_id=model_id, seed=seed)
    return embed_lineup(claim, claim.receipts, rows.X, rows.y, n_jobs=n_jobs)


def fitted_boosted_lineup(
    merged: MergedRows,
    claim: LineupClaim | None,
    *,
    names: tuple[str, ...],
    features: tuple[str, ...],
    rounds: int,
    model_id: str,
    training: BoostingSettings,
    seed: int | None,
) -> OwnedBoostedLineup:
    """Return an estimator's boosted model; as `fitted_lineup`.

    Parameters
    ----------
    rounds, training
        Of a new claim.
    """
    rows = _whole_rows(merged, merged.codes, names, features)
    if claim is None:
        claim = _drawn_by_owner(rows, training, trees=rounds, model_id=model_id, seed=seed)
    return embed_boosted_lineup(claim, claim.receipts, rows.X, rows.y)


def _whole_rows(
    merged: MergedRows, y: NDArray[np.int64], names: tuple[str, ...], features: tuple[str, ...]
) -> OwnerRows:
    counts = merged.weight.astype(np.int64)
    if not np.array_equal(counts, merged.weight):
        raise EmbeddingError(
            "scheme lineup trains on rows, each as often as its weight says: whole numbers are needed as "
            "sample_weight, and no class_weight that makes others of them"
        )
    return OwnerRows(np.repeat(merged.X, counts, axis=0), np.repeat(y, counts), names, features)


def _drawn_by_owner(
    rows: OwnerRows, training: Settings, *, trees: int, model_id: str, seed: int | None
) -> LineupClaim:
    owner = public_hex(owner_key(seed))
    made = commit_lineup(
        rows,
        trees=trees,
        training=training,
        owner=owner,
        model_id=model_id,
        seed=seed,
        must_differ=False,  # an estimator fits any rows
    )
    return with_receipts(made.claim, [own_receipt(seed)])
