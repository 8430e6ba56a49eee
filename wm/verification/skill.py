"""Whether a suspect knows the task: one that only guesses was perhaps asked in other units or classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.verification.answers import AnswerKind, Answers
from wm.verification.asked_rows import Header
from wm.verification.coding import areas, balanced_accuracy

_KNOWS = 0.2
"""Share of the way from a guess to full balanced accuracy that a suspect who knows the task has gone."""

_RANKS, _DEVIATIONS = 0.7, 3.0
"""Smallest area under the curve of one who ranks the rows, and its standard deviations above one half."""

_FEW = 5
"""Rows of a class below which nothing can be said of it."""


@dataclass(frozen=True)
class Skill:
    """How well a suspect answers rows of known classes.

    Attributes
    ----------
    accuracy
        Balanced, of the kind of answers that has the largest.
    knows
        Whether that, or the area under the curve, is clearly more than a guess gives. Where one class is
        rare, a good model may hardly ever answer it.
    rarest, count
        The class with the fewest rows, and how many it has.
    """

    accuracy: float
    knows: bool
    rarest: int
    count: int

    @classmethod
    def of(
        cls,
        answers: Mapping[AnswerKind, Answers],
        rows: NDArray[np.bool_],
        labels: NDArray[np.int64],
        classes: int,
    ) -> Skill:
        """Return the skill on some rows; (n,) and (n,), at least one row."""
        shares, labels = [each.shares(classes)[rows] for each in answers.values()], labels[rows]
        accuracy = max(balanced_accuracy(each.argmax(axis=1), labels) for each in shares)
        enough = 1 / classes + _KNOWS * (1 - 1 / classes)
        counts = np.bincount(labels, minlength=classes)
        knows = accuracy >= enough or any(_ranks(each, labels, counts) for each in shares)
        return cls(accuracy, knows, int(counts.argmin()), int(counts.min()))

    def reason(self, rows: str) -> str:
        """Return why answers to these rows that show nothing cannot be judged."""
        return (
            f"the suspect answers {rows} like a guess (balanced accuracy {self.accuracy:.2g}): other units, "
            "columns or classes, or another task"
        )

    def needed(self, header: Header) -> str:
        """Return what would help."""
        if self.count < _FEW:
            name = header.class_names[self.rarest]
            return f"answers to more rows of class {name!r}: {self.count} were asked"
        raw = "" if header.preparation is None else "; or ask with wm queries --units raw"
        return f"the suspect's units, columns and class names{raw}"


def _ranks(shares: NDArray[np.float64], labels: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Return whether each class's share ranks its rows clearly above others, in the mean over classes."""
    found, deviations = [], []
    for label in np.flatnonzero((counts > 0) & (counts < len(labels))):
        own, others = float(counts[label]), float(len(labels) - counts[label])
        found.append(areas(shares[:, [label]], labels == label)[0])
        deviations.append(np.sqrt((own + others + 1) / (12 * own * others)))  # Mann and Whitney 1947
    if not found:
        return False
    return float(np.mean(found)) > max(_RANKS, 0.5 + _DEVIATIONS * float(np.mean(deviations)))
