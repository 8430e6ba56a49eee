"""False claims: pools of a claimant who has seen a model, and wants it to look stolen from him.

Rows and labels are chosen with the model's own answers, which is more than most claimants have. The draw is
honest: trigger rows and signature come from a beacon, here from the campaign's seed. So no pool may help.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wm.claims.draw import Draw
from wm.embedding.common import single_rows
from wm.forest import Forest
from wm.signature import Signature
from wm.verification.samples import Sample

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]
Pool = tuple[Rows, Labels]

_STEPS = 21
"""Points on each line between two rows of different labels."""


def _mislabelled(y: Labels, which: NDArray[np.bool_], seen: Forest) -> Labels:
    """Return labels of which some are those of the next class."""
    return np.where(which, (y + 1) % len(seen.classes), y)


def _every_second(y: Labels) -> NDArray[np.bool_]:
    second: NDArray[np.bool_] = np.arange(len(y)) % 2 == 1
    return second


def _half_mislabelled(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    sure = np.argsort(-seen.vote_shares(X).max(axis=1), kind="stable")[:size]
    return X[sure], _mislabelled(y[sure], _every_second(sure), seen)


def _all_mislabelled(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    return X[:size], _mislabelled(y[:size], np.ones(len(y[:size]), dtype=bool), seen)


def _border_rows(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    """Half of the rows lie where the model's trees are divided between two classes, labelled at random."""
    present = np.unique(y)[:2]
    if len(present) < 2:  # there is nothing between
        return X[:size], y[:size]
    half = max(1, size // 2)
    ends = [X[rng.choice(np.flatnonzero(y == label), half)] for label in present]
    lines: Rows = ends[0] + np.linspace(0, 1, _STEPS, dtype=np.float32)[:, None, None] * (ends[1] - ends[0])
    shares = seen.vote_shares(lines.reshape(-1, X.shape[1]))[:, present]
    division = np.abs(np.round(shares[:, 1] - shares[:, 0], 9)).reshape(_STEPS, half)
    border = lines[division.argmin(axis=0), np.arange(half)]
    return np.vstack([X[:half], border]), np.concatenate([y[:half], present[rng.integers(0, 2, half)]])


def _near_duplicates(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    """Ten rows, five of them mislabelled, each again and again, an ulp apart in its first feature."""
    times = max(1, size // 10)
    copies = np.repeat(X[:10], times, axis=0)
    step = np.spacing(np.abs(X[:, 0]).max(initial=np.float32(1)))
    copies[:, 0] += np.tile(np.arange(times, dtype=np.float32) * step, len(X[:10]))
    return copies, np.repeat(_mislabelled(y[:10], _every_second(y[:10]), seen), times)


def _one_label(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    return X[:size], np.zeros(len(X[:size]), dtype=np.int64)


def _noisy_labels(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    return X[:size], _mislabelled(y[:size], rng.random(len(y[:size])) < 0.3, seen)


def _true_rows(X: Rows, y: Labels, seen: Forest, size: int, rng: np.random.Generator) -> Pool:
    return X[:size], y[:size]


FALSE_CLAIMS: dict[str, Callable[[Rows, Labels, Forest, int, np.random.Generator], Pool]] = {
    "half mislabelled": _half_mislabelled,
    "all mislabelled": _all_mislabelled,
    "border rows": _border_rows,
    "near-duplicates": _near_duplicates,
    "one label": _one_label,
    "noisy labels": _noisy_labels,
    "true rows": _true_rows,
}
"""How a claimant may choose a pool; distinct rows, known labels, the model, a size, and random numbers."""


def false_sample(
    name: str, true: Sample, X: Rows, y: Labels, seen: Forest, rng: np.random.Generator
) -> Sample:
    """Return what a judge sees of a false claim with as many rows, trees and ones as a true one.

    Parameters
    ----------
    name
        Of `FALSE_CLAIMS`.
    X : (n, d), y : (n,)
        Rows that the claimant has, and their labels, 0, 1, ....
    seen
        The model that the claimant has seen.
    """
    single = rng.permutation(single_rows(X))
    rows, labels = FALSE_CLAIMS[name](X[single], y[single], seen, len(true.y), rng)
    distinct = single_rows(rows)
    rows, labels = rows[distinct], labels[distinct]
    size = min(true.header.trigger_size, len(rows) - 1)
    triggers = np.sort(rng.choice(len(rows), size, replace=False))
    ones = np.zeros(true.header.trees, dtype=np.int64)
    ones[rng.choice(len(ones), true.header.ones, replace=False)] = 1
    header = true.header.model_copy(
        update={
            "trigger_size": size,
            "pool_size": len(rows),
            "domain": tuple(zip(rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)),
        }
    )
    return replace(
        true,
        header=header,
        draw=Draw(tuple(triggers.tolist()), Signature.of(ones.tolist())),
        indices=np.arange(len(rows)),
        X=rows,
        y=labels,
        is_trigger=np.isin(np.arange(len(rows)), triggers),
    )
