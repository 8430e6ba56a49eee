"""The questions of a line-up: rows that no key had a part in choosing.

- natural: rows that the owner's forest was not trained on, if there are enough;
- mixups: (1 - l) a + l b of two training rows, l uniform below a half, with the label of a;
- boundary: points between two training rows of different classes on which an honest screening model of the
  judge is divided, 40 to 60% for class 1 (of votes, or as a boosted model's probability). Only there a label
  says something about single trees;
- leaning: the same, 10 to 90%. A suspect that answers by a coin where it is divided says something at the
  edges of that margin, wherever they are.

Queries need not be secret: an owner of another forest gains nothing from knowing them. But who could choose
them would: some rows make any two forests look alike. The claim's context fixes the training rows; natural
rows, which it does not fix, must be the judge's, or fixed before the suspect was known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import BoostingSettings, Settings
from wm.embedding.lineup.boosting import first_margins, train_rounds
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.lineup.trees import forest_of_seeds
from wm.errors import ClaimError
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts

DIVIDED = (0.4, 0.6)
"""Share for class 1 by the screening model at a boundary point."""

LEANING = (0.1, 0.9)
"""The same of a leaning one."""

_SCREENING_TREES = 100
"""Of the honest model that finds points between the classes."""

_TRIED_AT_ONCE = 4096

_MAX_TRIED = 500
"""Times that so many points are tried: a forest that is hardly ever divided has no boundary to ask at."""

UNLABELLED = -1
"""Label of a query of which no class is known."""


Shares = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""An honest model's share for class 1 of each row: (n, d) -> (n,)."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows to ask.

    Attributes
    ----------
    X : (q, d) float32
        As model input.
    y : (q,)
        0, 1, or `UNLABELLED`.
    reference : (r, d)
        The rows that queries were made of.
    notes
        Which kinds of queries are fewer than were asked for, and why.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    reference: NDArray[np.float32]
    notes: tuple[str, ...] = ()


def build_queries(
    counts: Counts,
    rows: TrainingRows,
    held_out: tuple[NDArray[np.float32], NDArray[np.int64]],
    training: Settings,
    judge: Judge,
) -> Queries:
    """Draw a judge's queries.

    Parameters
    ----------
    rows
        Rows to mix; those that the owner trained on, or others of the same kind.
    held_out : (n, d), (n,)
        Natural rows and their labels.
    training
        Settings of the screening model.

    Raises
    ------
    ClaimError
        There are no queries.
    """
    notes = []
    parts = [_natural(counts.natural, held_out, judge), _mixups(counts.mixups, rows, judge)]
    screening = _screening(rows, training, judge) if counts.boundary or counts.leaning else _unasked
    wanted = {"boundary": (counts.boundary, DIVIDED), "leaning": (counts.leaning, LEANING)}
    for name, points in _between_classes(wanted, rows, screening, judge.generator("boundary")).items():
        if len(points) < (count := wanted[name][0]):
            notes.append(
                f"only {len(points)} of {count} {name} points were found: an honest model is hardly ever "
                "divided here"
            )
        parts.append((points, np.full(len(points), UNLABELLED, dtype=np.int64)))
    X = np.concatenate([part for part, _ in parts])
    if not len(X):
        raise ClaimError(
            "; ".join(["a line-up needs queries: natural rows, mixups or boundary points", *notes])
        )
    labels = np.concatenate([labels for _, labels in parts])
    return Queries(np.ascontiguousarray(X), labels, rows.X, tuple(notes))


def _unasked(X: NDArray[np.float32]) -> NDArray[np.float64]:
    raise AssertionError("no boundary points are asked for")


def _screening(rows: TrainingRows, training: Settings, judge: Judge) -> Shares:
    """Train an honest model of the judge's own."""
    seeds = [judge.tree_seed("screening", number) for number in range(_SCREENING_TREES)]
    if isinstance(training, BoostingSettings):
        from scipy.special import expit

        steps, start = train_rounds(rows, training, seeds), first_margins(rows)[0]
        return lambda X: expit(start + sum(step.outputs(X) for step in steps))
    forest = forest_of_seeds(rows, training, seeds)
    return lambda X: forest.votes(X).mean(axis=1)


def _natural(
    count: int, held_out: tuple[NDArray[np.float32], NDArray[np.int64]], judge: Judge
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    X, y = held_out
    chosen = np.sort(judge.generator("natural").permutation(len(y))[:count])
    return X[chosen], y[chosen]


def _mixups(count: int, rows: TrainingRows, judge: Judge) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = judge.generator("mixups")
    first, second = rng.integers(len(rows.y), size=(2, count))
    return _between(rows.X[first], rows.X[second], rng.uniform(0, 0.5, size=count)), rows.y[first]


def _between_classes(
    wanted: Mapping[str, tuple[int, tuple[float, float]]],
    rows: TrainingRows,
    screening: Shares,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.float32]]:
    """Return points by kind, of which a count and an interval of the screening model's shares are wanted.

    A point of several intervals is of the first kind that has room for it.
    """
    found = {name: [rows.X[:0]] for name in wanted}
    missing = {name: count for name, (count, _) in wanted.items()}
    classes = [np.flatnonzero(rows.y == label) for label in (0, 1)]
    for _ in range(_MAX_TRIED):
        if not any(missing.values()):
            break
        first, second = (rng.choice(members, size=_TRIED_AT_ONCE) for members in classes)
        points = _between(rows.X[first], rows.X[second], rng.uniform(0, 1, size=_TRIED_AT_ONCE))
        shares = screening(points)
        free = np.ones(len(points), dtype=bool)
        for name, (_, (low, high)) in wanted.items():
            taken = np.flatnonzero(free & (shares > low) & (shares < high))[: missing[name]]
            found[name].append(points[taken])
            free[taken] = False
            missing[name] -= len(taken)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _between(
    first: NDArray[np.float32], second: NDArray[np.float32], share: NDArray[np.float64]
) -> NDArray[np.float32]:
    part = share[:, None].astype(np.float32)
    return (1 - part) * first + part * second
