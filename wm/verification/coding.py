"""Code a suspect's answers in a claim's classes, whatever a thief changed that changes no answer.

A copy may have other class names or exchanged classes. Libraries answer with the mean of the trees' class
shares: a thief can shift these, up in one tree, down in the next, so that no answer changes and each tree
votes for one class. So the mean is an answer too, and a tree that votes for one class only is taken by how
its shares differ from row to row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest
from wm.verification.answers import AnswerKind, Answers, name_of
from wm.verification.asked_rows import Rows

CLEARLY_BETTER = 0.1
"""Gain from which other classes than the named ones are preferred."""

_ROWS_AT_ONCE = 512
"""Rows whose leaves are looked up at the same time."""

_SAME_SHARE = 1e-9
"""Difference of two class shares that is only rounding."""


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
        area = np.mean([areas(answers[:, [label]], labels == label)[0] for label in np.unique(labels)])
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
