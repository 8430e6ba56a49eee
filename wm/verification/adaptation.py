"""A suspect model's answers to a claim's rows, whatever a thief changed that changes no answer.

A copy may take raw units, more or other columns, other class names or exchanged classes. Libraries answer
with the mean of the trees' class shares: a thief can shift these, up in one tree, down in the next, so that
no answer changes and each tree votes for one class. So the mean is an answer too, and a tree that votes for
one class only is taken by how its shares differ from row to row. Every adaptation here looks at *all* shown
rows, trigger rows and controls alike: it does not depend on the draw, so that the tests of
`wm.verification.randomization` stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wm.datasets.preparation import MinMax, Preparation
from wm.errors import ClaimError
from wm.forest import Forest
from wm.formats.units import Domain
from wm.verification.answers import AnswerKind, Answers, name_of

CLEARLY_BETTER = 0.1
"""Gain in balanced accuracy or area under the curve from which an adaptation is preferred to simpler ones."""

_SAME_SHARE = 1e-9
"""Difference of two class shares that is only rounding."""

_MAX_COMPARED = 5e7
"""Pairs of a suspect's threshold and a claim's column that are compared, a few seconds; beyond, none are."""

_MAX_GAP = 64
"""Steps between the two values of a column that a threshold may lie halfway between."""

_MAX_MATCHED = 4e6
"""Pairs of a suspect's feature and a claim's column of which the best are chosen, a few seconds."""


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
    """

    answers: Mapping[AnswerKind, Answers]
    notes: tuple[str, ...]
    rows: NDArray[np.float32]


def model_answers(forest: Forest, sample: Rows) -> AdaptedVotes:
    """Return a model's votes on a sample's rows by the adaptation that answers them best.

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

    return best_answered(inputs(forest, used, sample), answer, forest, sample)


def best_answered(
    forms: Iterable[tuple[Form, tuple[str, ...]]],
    answer: Callable[[Form, tuple[str, ...]], tuple[float, Found]],
    forest: Forest,
    sample: Rows,
) -> Found:
    """Return a suspect's answers to the form of the rows that it answers best, or nearly so and earlier.

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
    best: tuple[float, Found] | None = None
    for rows, notes in forms:
        found = answer(rows, notes)
        if best is None or found[0] > best[0] + CLEARLY_BETTER:
            best = found
        if best[0] + CLEARLY_BETTER >= 1.0:
            break
    if best is None:
        raise ClaimError(
            f"the suspect model takes {forest.n_features} features, the claim has {sample.X.shape[1]}: these "
            "are too many to find out which column is which"
        )
    return best[1]


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
    forest: Forest, used: NDArray[np.int64], sample: Rows
) -> Iterator[tuple[NDArray[np.float32], tuple[str, ...]]]:
    """Yield the values of the used features in every form that the suspect might take, the simplest first."""
    extra = forest.n_features - sample.X.shape[1]
    if extra >= 0:
        for rows, notes in _units(sample):
            yield _columns(rows, used), (*notes, f"{extra} more features filled with 0") if extra else notes
    thresholds, columns = len(np.unique(forest.threshold[~forest.is_leaf])), sample.X.shape[1]
    if thresholds * columns <= _MAX_COMPARED and len(used) * columns <= _MAX_MATCHED:
        for rows, notes in _units(sample):
            matched = _matched_columns(forest, rows)
            yield _columns(rows, matched), (*notes, "columns matched by their thresholds")


def _units(sample: Rows) -> Iterator[tuple[NDArray[np.float32], tuple[str, ...]]]:
    """Yield the rows as model input; in raw units if the claim says how, else as shares of each range."""
    yield sample.X, ()
    if sample.header.preparation is None:
        domain = Domain(*np.array(sample.header.domain).T)
        yield domain.to_unit(sample.X).astype(np.float32), ("the suspect takes values scaled to [0, 1]",)
    else:
        raw = sample.header.preparation.inverse(sample.X)
        if np.isfinite(raw).all():
            yield raw, ("the suspect takes raw units",)


def _columns(rows: NDArray[np.float32], columns: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return some columns, 0 for those that the rows lack; one column of 0 if none are wanted."""
    found = np.zeros((len(rows), max(1, len(columns))), dtype=np.float32)
    known = np.flatnonzero((columns >= 0) & (columns < rows.shape[1]))
    found[:, known] = rows[:, columns[known]]
    return found


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
    codes = _leaning(forest.node_class[leaves], share, leaves)
    count = range(len(names))
    rules = [
        np.stack([(codes == code).mean(axis=1) for code in count], axis=1),
        np.stack([share[:, code][leaves].mean(axis=1) for code in count], axis=1),
    ]
    known = np.isin(sample.y, np.arange(len(wanted)))

    def answers(places: NDArray[np.int64]) -> Mapping[AnswerKind, Answers]:
        found: dict[AnswerKind, Answers] = {"votes": Answers("votes", places[codes])}
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
                return answers(matched[0]), max(map(max, found)), ("classes exchanged",)
            return answers(named), max(map(max, as_named)), ()
    best = int(found[1] >= found[0])
    return answers(matched[best]), max(map(max, found)), ("classes matched by the labels",)


class _Quality(NamedTuple):
    """How well a rule answers the rows whose class is known."""

    accuracy: float
    """Balanced."""
    area: float
    """Under the curve of a class's share, mean over the classes."""

    def is_clearly_above(self, other: _Quality) -> bool:
        return sum(self) > sum(other) + CLEARLY_BETTER


def _leaning(
    codes: NDArray[np.int64], share: NDArray[np.float64], leaves: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return votes, (n, m); of trees that vote for one class only, by what shares have above their mean."""
    found = codes.astype(np.int64)
    for tree in np.flatnonzero((codes == codes[0]).all(axis=0)):
        shares = share[leaves[:, tree]]
        if np.ptp(shares, axis=0).max() > _SAME_SHARE:
            found[:, tree] = (shares - shares.mean(axis=0)).argmax(axis=1)
    return found


def _matched_columns(forest: Forest, X: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return for each used feature of the suspect the column whose values its thresholds lie between, or -1.

    Training puts a threshold halfway between two values of a column that are adjacent among the rows that
    reach the node, thus mostly close to each other in the whole column. Thresholds of a feature that are so,
    and spread like the values, give it away.
    """
    from scipy.optimize import linear_sum_assignment

    inner = ~forest.is_leaf
    used, place = np.unique(forest.feature[inner], return_inverse=True)
    counts = np.bincount(place)
    # Each value once: of whole numbers there are few. Ascending ones are found much faster than others.
    thresholds, number = np.unique(forest.threshold[inner].astype(np.float64), return_inverse=True)
    gaps = int(min(_MAX_GAP, _MAX_COMPARED // max(1, len(thresholds) * X.shape[1])))
    fit = np.zeros((len(used), X.shape[1]))
    for column in range(X.shape[1]):
        values = np.unique(X[:, column]).astype(np.float64)
        fit[:, column] = np.bincount(place, weights=_closeness(thresholds, values, gaps)[number]) / counts
    rows, columns = linear_sum_assignment(-fit)
    matched = np.full(len(used), -1, dtype=np.int64)  # more features than columns: some stay without
    matched[rows] = columns
    return matched


def _closeness(
    thresholds: NDArray[np.float64], values: NDArray[np.float64], gaps: int
) -> NDArray[np.float64]:
    """Return how well ascending thresholds fit a column of ascending values: 1 / gap if halfway between two.

    The gap is 1 for neighbours, 2 for the values next to a third, and so on.
    """
    is_inside = (thresholds > values[0]) & (thresholds < values[-1])
    found: NDArray[np.float64] = 0.1 * is_inside
    # Raw units are rounded to float32, whose steps may be wide beside the range.
    rounding = 1e-6 * (values[-1] - values[0]) + 1e-7 * float(np.abs(values).max())
    for gap in range(min(gaps, len(values) - 1), 0, -1):
        middles = (values[gap:] + values[:-gap]) / 2
        right = np.searchsorted(middles, thresholds)
        near = np.minimum(
            np.abs(middles[np.minimum(right, len(middles) - 1)] - thresholds),
            np.abs(middles[np.maximum(right - 1, 0)] - thresholds),
        )
        found[near <= rounding] = 0.1 + 1.0 / gap
    return found
