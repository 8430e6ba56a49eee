"""Forgery beyond the paper: the claimant chooses the signature after seeing the model, or knows the true one.

The paper draws the false signature at random and needs a solver. A claimant does not: the votes on any row
*are* a signature, and rows that share it are in the data (all zeros: every row on which the forest is
unanimous and right) or can be copied (clones inside one cell). Only the protocol's rules prevent such claims.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wm.attacks.forgery.forged_sets import ForgedSet
from wm.attacks.forgery.forger import Target
from wm.attacks.free_forgery.local_search import LocalSearcher
from wm.engines.encoding import cell_of, leaf_bounds
from wm.engines.protocol import ForgeryOutcome
from wm.errors import ModelError
from wm.forest import Forest
from wm.signature import Signature


def all_zeros(forest: Forest, X: NDArray[np.float32], y: NDArray[np.int64]) -> ForgedSet:
    """Return all rows that every tree gets right: a trigger set for the signature 00...0.

    Parameters
    ----------
    X : (n, d) float32
        Natural rows.
    y : (n,)
        Their labels.
    """
    rows = np.flatnonzero((_errors(forest, X, y) == 0).all(axis=1))
    return _natural("all zeros", X, y, rows, Signature.of([0] * forest.n_trees))


def best_pattern(
    forest: Forest,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    least_ones: float = 0.25,
    most_ones: float = 0.75,
) -> ForgedSet:
    """Return the rows of the commonest pattern of errors whose share of ones is within a quota.

    The set is empty where no row has such a pattern. Ties go to the share of ones nearest to the middle of
    the quota, then to the earliest row.
    """
    errors = _errors(forest, X, y)
    shares = errors.mean(axis=1)
    fit = np.flatnonzero((shares >= least_ones) & (shares <= most_ones))
    if not len(fit):
        return _natural("best pattern", X, y, fit, Signature.of([0] * forest.n_trees))
    patterns, first, inverse, count = np.unique(
        errors[fit], axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    balance = np.abs(patterns.mean(axis=1) - (least_ones + most_ones) / 2)
    chosen = int(np.lexsort((first, balance, -count))[0])
    return _natural("best pattern", X, y, fit[inverse.reshape(-1) == chosen], Signature.of(patterns[chosen]))


def clones(
    forest: Forest, row: NDArray[np.float32], label: int, count: int, rng: np.random.Generator
) -> ForgedSet:
    """Return points of the cell that a row lies in: other rows, the same leaf in every tree.

    Parameters
    ----------
    row : (d,) float32
        A natural row; it is the first of the set.
    label
        Its label.
    count
        Rows of the set, at least 1; a very small cell may hold fewer.
    """
    if count < 1:
        raise ModelError(f"{count} clones are too few: at least 1 is needed")
    centre = np.asarray(row, dtype=np.float32)
    lower, upper = cell_of(forest, leaf_bounds(forest), centre)
    # Within [0, 1] where the cell allows it, as natural rows are.
    low, high = np.maximum(lower, np.float32(0)), np.minimum(upper, np.float32(1))
    outside = low > high
    low, high = np.where(outside, centre, low), np.where(outside, centre, high)
    drawn = rng.uniform(low, high, size=(count - 1, len(centre))).astype(np.float32)
    X = np.concatenate([centre[None], np.clip(drawn, low, high)])
    _, first = np.unique(X, axis=0, return_index=True)
    X = X[np.sort(first)]
    errs = (forest.votes(centre[None])[0] != label).astype(int)
    return ForgedSet(
        method="clones",
        X=X,
        labels=np.full(len(X), label, dtype=np.int64),
        signature=Signature.of(errs),
        centres=np.broadcast_to(centre, X.shape),
    )


def forge_locally(forest: Forest, target: Target, rng: np.random.Generator) -> ForgedSet:
    """Return the rows that local search forges."""
    searcher = LocalSearcher(forest)
    found = [searcher.search(query, rng) for query in target.queries()]
    return _of_witnesses("local search", found, target)


def of_outcomes(method: str, outcomes: Iterable[ForgeryOutcome], target: Target) -> ForgedSet:
    """Return the rows that an engine forged, one outcome for each of the target's rows in order."""
    return _of_witnesses(method, [outcome.witness for outcome in outcomes], target)


def _of_witnesses(method: str, found: list[NDArray[np.float32] | None], target: Target) -> ForgedSet:
    if len(found) != len(target.X):
        raise ModelError(f"{len(found)} outcomes are given for {len(target.X)} rows")
    rows = [index for index, witness in enumerate(found) if witness is not None]
    witnesses = [witness for witness in found if witness is not None]
    centres = np.asarray(target.X, dtype=np.float32)[rows]
    return ForgedSet(
        method=method,
        X=np.array(witnesses, dtype=np.float32).reshape(len(rows), target.X.shape[1]),
        labels=np.asarray(target.labels)[rows],
        signature=target.signature,
        centres=centres,
    )


def _natural(
    method: str, X: NDArray[np.float32], y: NDArray[np.int64], rows: NDArray[np.int64], signature: Signature
) -> ForgedSet:
    chosen = np.asarray(X, dtype=np.float32)[rows]
    return ForgedSet(method=method, X=chosen, labels=y[rows], signature=signature, centres=chosen)


def _errors(forest: Forest, X: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.int64]:
    errors: NDArray[np.int64] = (forest.votes(X) != np.asarray(y)[:, None]).astype(np.int64)
    return errors
