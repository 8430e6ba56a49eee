"""Whether the trees of a line-up differ by their seeds: on few distinct rows all seeds may give one tree."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import BoostingSettings, Settings
from wm.embedding.lineup.boosting import first_margins, train_round
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.lineup.trees import votes_of_seeds
from wm.errors import EmbeddingError
from wm.verification.evidence import DEFAULT_LEVEL

_TREES = 10
"""Trees that are compared with each other."""

_ALIKE = 0.5
"""Share of equal pairs from which trees hardly differ; smaller ones are not measured well by so few trees."""

_ROWS, _MIXUPS = 2000, 500
"""Training rows, and mixtures of two of them, on which they are compared."""


def check_entropy(training: Settings, rows: TrainingRows, trees: int) -> None:
    """Refuse settings and rows on which other seeds give the same trees.

    A suspect cannot be more like the owner's tree than like those of other seeds that answer as it does.
    If a share s of candidates do, m positions give p = s^m at best.

    Parameters
    ----------
    trees
        m.

    Raises
    ------
    EmbeddingError
        Most pairs of trees are equal, and p would be above `DEFAULT_LEVEL`.
    """
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(rows.y), size=(2, _MIXUPS))
    share = rng.uniform(size=(_MIXUPS, 1)).astype(np.float32)
    X = np.concatenate([rows.X[:_ROWS], (1 - share) * rows.X[first] + share * rows.X[second]])
    answers = _answers(training, rows, X)
    alike = float(np.mean([np.array_equal(*pair) for pair in combinations(answers, 2)]))
    if alike < _ALIKE or trees * math.log10(alike) <= math.log10(DEFAULT_LEVEL):
        return
    is_boosted = isinstance(training, BoostingSettings)
    bootstrap = "" if isinstance(training, BoostingSettings) or training.bootstrap else "bootstrap, "
    raise EmbeddingError(
        f"a line-up needs trees that differ by their seeds: on these rows {alike:.0%} of pairs of trees "
        "answer alike, so that no suspect could be told from others; give "
        + ("a subsample below 1" if is_boosted else f"{bootstrap}a smaller max_features, boosting")
        + ", or a scheme with trigger rows"
    )


def _answers(training: Settings, rows: TrainingRows, X: NDArray[np.float32]) -> NDArray[np.generic]:
    """Return the answers of one tree in each row: (trees, q)."""
    if isinstance(training, BoostingSettings):
        start = first_margins(rows)
        return np.stack([train_round(rows, training, start, seed).outputs(X) for seed in range(_TREES)])
    return votes_of_seeds(rows, training, range(_TREES), X)
