"""A suspect model's answers to a claim's rows, whatever a thief changed that changes no answer.

A copy may take raw units, more or other columns, other class names or exchanged classes. Libraries answer
with the mean of the trees' class shares: a thief can shift these, up in one tree, down in the next, so that
no answer changes and each tree votes for one class. So the mean is an answer too, and a tree that votes for
one class only is taken by how its shares differ from row to row. Every adaptation here looks at *all* shown
rows, trigger rows and controls alike: it does not depend on the draw, so that the tests of
`wm.verification.randomization` stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wm.datasets.preparation import MinMax, Preparation
from wm.errors import ClaimError
from wm.forest import Forest
from wm.formats.units import Domain
from wm.verification.answers import AnswerKind, Answers, name_of
from wm.verification.columns import (
    MAX_COMPARED,
    MAX_MATCHED,
    MAX_SORTED,
    columns_of,
    equal_columns,
    matched_columns,
    named_columns,
)

CLEARLY_BETTER = 0.1
"""Gain from which other classes than the named ones are preferred."""

_BETTER_FORM = 0.03
"""Gain from which another form of the rows is preferred to simpler ones, several times what chance gives."""

BY_THRESHOLDS = "columns matched by their thresholds"

_MAX_EXCHANGED = 1e8
"""Votes that are taken in exchanging columns, some ten seconds."""

_ROWS_AT_ONCE = 512
"""Rows whose leaves are looked up at the same time."""

_SAME_SHARE = 1e-9
"""Difference of two class shares that is only rounding."""


Form = TypeVar("Form", bound=NDArray[Any])
Found = TypeVar("Found")


class Header(Protocol):
    """What a claim says of its rows."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes 0, 1, ...."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d features."""

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Range of each feature."""

    @property
    def preparation(self) -> MinMax | Preparation | None:
        """How raw rows become model input."""


class Rows(Protocol):
    """Rows that a suspect is asked: a `Sample`, or the queries of a line-up."""

    @property
    def header(self) -> Header:
        """Of the claim."""

    @property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """(n, d): as model input."""

    @property
    def y(self) -> NDArray[np.int64]:
        """(n,): labels 0, 1, ...; another number where no class is known."""

    @property
    def reference(self) -> NDArray[np.float32]:
        """(r, d): rows of the kind that a copy was trained on: its thresholds lie between their values."""


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


def balanced_accuracy(predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    """Return the mean recall of the classes that occur among the labels; both (n,)."""
    found = [float((predicted[labels == label] == label).mean()) for label in np.unique(labels)]
    return float(np.mean(found))


def areas(shares: NDArray[np.float64], positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the area under the curve of each column for some rows, or one half: (n, c), (n,) -> (c,)."""
    from scipy.stats import rankdata

    count, others = int(positive.sum()), int((~positive).sum())
    if count == 0 or others == 0:
        return np.full(shares.shape[1], 0.5)
    ranks = rankdata(shares, axis=0)[positive].sum(axis=0)
    found: NDArray[np.float64] = (ranks - count * (count + 1) / 2) / (count * others)
    return found


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


def coded(
    leaves: NDArray[np.int64], forest: Forest, sample: Rows
) -> tuple[Mapping[AnswerKind, Answers], float, tuple[str, ...]]:
    """Return the answers of `AdaptedVotes`, how well the suspect answers with them, and notes.

    Classes are matched by name. They are exchanged only if both the majority of votes and the mean of class
    shares answer better so: a thief can add trees that decide one of them and leave the other as it was.
    Better is a larger sum of balanced accuracy, which is left to chance where one class is rare and hardly
    ever answered, and area under the curve, which a thief could change alone.

    Parameters
    ----------
    leaves : (n, m)
        The leaf that each row reaches in each tree.
    """
    wanted, names = sample.header.class_names, [name_of(each) for each in forest.classes.tolist()]
    share = forest.value / forest.value.sum(axis=1, keepdims=True)
    codes = _leaf_codes(forest, share, leaves)
    rules = [_mean_of_leaves(np.eye(len(names))[codes], leaves), _mean_of_leaves(share, leaves)]
    known = np.isin(sample.y, np.arange(len(wanted)))

    def answers(places: NDArray[np.int64]) -> Mapping[AnswerKind, Answers]:
        found: dict[AnswerKind, Answers] = {"votes": Answers("votes", places[codes][leaves])}
        if not np.allclose(rules[0], rules[1], rtol=0.0, atol=_SAME_SHARE):
            mean = np.clip(rules[1] @ (places[:, None] == np.arange(len(wanted))), 0.0, 1.0)
            found["probabilities"] = Answers("probabilities", mean[:, 1] if len(wanted) == 2 else mean)
        return found

    def quality(rule: NDArray[np.float64], places: NDArray[np.int64]) -> _Quality:
        if not known.any():
            return _Quality(1 / len(wanted), 0.5)
        labels, answers = sample.y[known], rule[known] @ (places[:, None] == np.arange(len(wanted)))
        area = np.mean([areas(answers, labels == label)[label] for label in np.unique(labels)])
        return _Quality(balanced_accuracy(answers.argmax(axis=1), labels), float(area))

    matched = []
    for rule in rules:
        of_labels = [rule[sample.y == label] for label in range(len(wanted))]
        mean = np.stack([each.mean(axis=0) if len(each) else np.zeros(len(names)) for each in of_labels])
        matched.append(mean.argmax(axis=0))
    found = [quality(rule, places) for rule, places in zip(rules, matched, strict=True)]
    for spelt in (wanted, tuple(map(str, range(len(wanted))))):
        if set(names) <= set(spelt):
            named = np.array([spelt.index(name) for name in names], dtype=np.int64)
            as_named = [quality(rule, named) for rule in rules]
            if all(other.is_clearly_above(own) for other, own in zip(found, as_named, strict=True)):
                return answers(matched[0]), max(each.both for each in found), ("classes exchanged",)
            return answers(named), max(each.both for each in as_named), ()
    best = int(found[1] >= found[0])
    return answers(matched[best]), max(each.both for each in found), ("classes matched by the labels",)


class _Quality(NamedTuple):
    """How well a rule answers the rows whose class is known."""

    accuracy: float
    """Balanced."""
    area: float
    """Under the curve of a class's share, mean over the classes."""

    @property
    def both(self) -> float:
        """Mean of both, at most 1."""
        return (self.accuracy + self.area) / 2

    def is_clearly_above(self, other: _Quality) -> bool:
        return self.both > other.both + CLEARLY_BETTER / 2


def _leaf_codes(forest: Forest, share: NDArray[np.float64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the vote of each node; of trees that always vote alike, by what shares have above their mean."""
    times = np.bincount(leaves.ravel(), minlength=len(share))
    reached = np.flatnonzero(times)
    tree = np.searchsorted(forest.offset, reached, side="right") - 1
    codes, first = forest.node_class.copy(), np.searchsorted(tree, np.arange(forest.n_trees))
    voted, shares = codes[reached], share[reached]
    alike = np.minimum.reduceat(voted, first) == np.maximum.reduceat(voted, first)
    spread = (np.maximum.reduceat(shares, first) - np.minimum.reduceat(shares, first)).max(axis=1)
    mean = np.add.reduceat(shares * times[reached, None], first) / len(leaves)
    leaning = (alike & (spread > _SAME_SHARE))[tree]
    codes[reached[leaning]] = (shares - mean[tree])[leaning].argmax(axis=1)
    return codes


def _mean_of_leaves(values: NDArray[np.float64], leaves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean over trees of what nodes hold, (nodes, c), at the leaves that rows reach: (n, c)."""
    found = np.empty((len(leaves), values.shape[1]))
    for code, column in enumerate(values.T):
        for start in range(0, len(leaves), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            found[some, code] = column[leaves[some]].mean(axis=1)
    return found
