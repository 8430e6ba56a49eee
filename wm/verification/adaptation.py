"""A suspect model's answers to a claim's rows, whatever a thief changed that changes no answer.

A copy may take raw units, more or other columns; `wm.verification.coding` finds out which class is which.
Every adaptation looks at *all* shown rows, trigger rows and controls alike: it does not depend on the draw,
so that the tests of `wm.verification.randomization` stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wm.errors import ClaimError
from wm.forest import Forest
from wm.formats.units import Domain
from wm.verification.answers import AnswerKind, Answers
from wm.verification.asked_rows import Rows
from wm.verification.coding import coded
from wm.verification.columns import (
    MAX_COMPARED,
    MAX_MATCHED,
    MAX_SORTED,
    columns_of,
    equal_columns,
    matched_columns,
    named_columns,
)

_BETTER_FORM = 0.03
"""Gain from which another form of the rows is preferred to simpler ones, several times what chance gives."""

BY_THRESHOLDS = "columns matched by their thresholds"

_MAX_EXCHANGED = 1e8
"""Votes that are taken in exchanging columns, some ten seconds."""


Form = TypeVar("Form", bound=NDArray[Any])
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class AdaptedVotes:
    """A suspect model's votes.

    Attributes
    ----------
    answers
        Votes as 0, 1, ..., (n, trees); and the mean of the trees' class shares if it differs from the votes.
    notes
        What was adapted, in words.
    rows : (n, f)
        Values of the features that the suspect's trees test, as they were asked.
    others
        By other adaptations that are answered nearly as well.
    """

    answers: Mapping[AnswerKind, Answers]
    notes: tuple[str, ...]
    rows: NDArray[np.float32]
    others: tuple[AdaptedVotes, ...] = ()


def model_answers(forest: Forest, sample: Rows, names: Sequence[str] = ()) -> AdaptedVotes:
    """Return a model's votes on a sample's rows by the adaptation that answers them best.

    Parameters
    ----------
    names
        Of the model's features, if its file says.

    Raises
    ------
    ClaimError
        The model has one class only, or fewer features than any adaptation needs.
    """
    if len(forest.classes) < 2:
        raise ClaimError(f"the suspect model has {len(forest.classes)} class: two are needed")
    used, compact = used_features(forest)

    def answer(rows: NDArray[np.float32], notes: tuple[str, ...]) -> tuple[float, AdaptedVotes]:
        answers, quality, class_notes = coded(compact.apply(rows), forest, sample)
        return quality, AdaptedVotes(answers, (*notes, *class_notes), rows)

    found, *others = best_answered(inputs(forest, used, sample, names), answer, forest, sample)
    return replace(found, others=tuple(others))


def best_answered(
    forms: Iterable[tuple[Form, tuple[str, ...]]],
    answer: Callable[[Form, tuple[str, ...]], tuple[float, Found]],
    forest: Forest,
    sample: Rows,
) -> list[Found]:
    """Return a suspect's answers to the form of the rows that it answers best, or nearly so and earlier.

    Answers to other forms follow that are nearly as good: a thief may have made it so. But what thresholds
    do not contradict is not looked for any further. Columns with the same set of values are exchanged where
    that form is answered clearly better then.

    Parameters
    ----------
    forms
        Rows as the suspect may take them, each with notes in words, the simplest first.
    answer
        Returns how well a form is answered, at most 1, and the answers.

    Raises
    ------
    ClaimError
        There is no form.
    """
    answered: list[tuple[tuple[float, Found], Form, tuple[str, ...]]] = []
    best: tuple[float, Found] | None = None
    for rows, notes in forms:
        found = answer(rows, notes)
        answered.append((found, rows, notes))
        if best is None or found[0] > best[0] + _BETTER_FORM:
            best = found
        if best[0] + _BETTER_FORM >= 1.0 and BY_THRESHOLDS not in notes:
            break
    if best is None:
        raise ClaimError(
            f"the suspect model takes {forest.n_features} features, the claim has {sample.X.shape[1]}: these "
            "are too many to find out which column is which"
        )
    left = int(_MAX_EXCHANGED / (len(sample.y) * forest.n_trees))
    for start in sorted(answered, key=lambda each: each[0][0], reverse=True):
        if best[0] + _BETTER_FORM >= 1.0:
            break
        found, tried = _exchanged(*start, answer, left)
        left -= tried
        if found[0] > best[0] + _BETTER_FORM:
            best = found
    near = [best[1]]
    seen = [rows for found, rows, _ in answered if found is best]
    for found, rows, _ in answered:
        is_new = not any(np.array_equal(rows, other) for other in seen)
        if is_new and found is not best and found[0] > best[0] - _BETTER_FORM:
            near.append(found[1])
            seen.append(rows)
    return near


def _exchanged(
    found: tuple[float, Found],
    rows: Form,
    notes: tuple[str, ...],
    answer: Callable[[Form, tuple[str, ...]], tuple[float, Found]],
    limit: int,
) -> tuple[tuple[float, Found], int]:
    """Return the answers with columns of equal values exchanged, pair after pair, and how many were tried."""
    pairs, tried, is_over = list(islice(equal_columns(rows), limit + 1)), 0, False
    notes = (*notes, "columns of equal values exchanged")
    while not is_over and pairs and tried + len(pairs) <= limit:
        is_over = True
        tried += len(pairs)
        for one, other in pairs:
            order = np.arange(rows.shape[1])
            order[[one, other]] = other, one
            moved: Any = rows[:, order]  # of the form's type
            exchanged = answer(moved, notes)
            if exchanged[0] > found[0]:
                found, rows, is_over = exchanged, moved, False
    return found, tried


def used_features(forest: Forest) -> tuple[NDArray[np.int64], Forest]:
    """Return the features that a forest tests, ascending, and the forest of these only."""
    inner = ~forest.is_leaf
    used, place = np.unique(forest.feature[inner], return_inverse=True)
    feature = np.full(len(forest.feature), -1, dtype=np.int32)
    feature[inner] = place
    return used.astype(np.int64), replace(forest, feature=feature, n_features=max(1, len(used)))


def inputs(
    forest: Forest, used: NDArray[np.int64], sample: Rows, names: Sequence[str] = ()
) -> Iterator[tuple[NDArray[np.float32], tuple[str, ...]]]:
    """Yield the values of the used features in every form that the suspect might take, the likeliest first.

    Names, and the order of the columns, are what the holder of a copy says. Thresholds tell more: a thief can
    exchange columns that are so much alike that the answers get only a little worse.
    """
    named = named_columns(names, sample.header.feature_names, used)
    own = used if named is None else named
    thresholds, columns = len(np.unique(forest.threshold[~forest.is_leaf])), sample.X.shape[1]
    is_compared = thresholds * columns <= MAX_COMPARED and len(used) * columns <= MAX_MATCHED
    if is_compared and sample.reference.size <= MAX_SORTED:
        for convert, notes in _units(sample):
            reference = convert(sample.reference)
            if not np.array_equal(matched_columns(forest, reference, own), own):
                yield (
                    columns_of(convert(sample.X), matched_columns(forest, reference)),
                    (*notes, BY_THRESHOLDS),
                )
    if named is not None:
        for convert, notes in _units(sample):
            yield columns_of(convert(sample.X), named), (*notes, "columns matched by their names")
    extra = forest.n_features - sample.X.shape[1]
    if extra >= 0:
        for convert, notes in _units(sample):
            more = (f"{extra} more features filled with 0",) if extra else ()
            yield columns_of(convert(sample.X), used), (*notes, *more)
    if is_compared:
        for convert, notes in _units(sample):
            matched = matched_columns(forest, convert(sample.reference))
            yield columns_of(convert(sample.X), matched), (*notes, BY_THRESHOLDS)


_Convert = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def _units(sample: Rows) -> Iterator[tuple[_Convert, tuple[str, ...]]]:
    """Yield how rows become model input, or raw units if the claim says how, else shares of each range."""
    yield lambda X: X, ()
    preparation = sample.header.preparation
    if preparation is None:
        domain = Domain(*np.array(sample.header.domain).T)
        notes = ("the suspect takes values scaled to [0, 1]",)
        yield lambda X: domain.to_unit(X).astype(np.float32), notes
    elif np.isfinite(preparation.inverse(sample.X)).all():
        yield preparation.inverse, ("the suspect takes raw units",)
