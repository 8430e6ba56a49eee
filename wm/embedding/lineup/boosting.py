"""Boosted line-ups: honest gradient boosting of two classes with a seed for each round.

A round sees a share of the rows and, at each split, some of the features, both drawn by its seed. Its tree
depends on the rounds before it: a judge trains the candidates of a round on the owner's rounds before
(`wm.verification.lineup.rounds`). So candidates cannot be committed before the draw, and to show some
positions would show nothing without the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons.base import Receipt
from wm.claims.lineup import LineupClaim, with_receipts
from wm.claims.lineup_settings import BoostingSettings
from wm.embedding.boosted.claimed import write_released
from wm.embedding.boosted.newton import Step, importances, model_of_steps, newton_step, start_margins
from wm.embedding.lineup.context import TrainingRows, canonical_rows, owner_seeds
from wm.errors import ClaimError
from wm.exporting.xgboost_model import write_margins
from wm.formats import xgboost_file
from wm.interface import Owned, claimed_interface
from wm.models import TreeModel


@dataclass(frozen=True, eq=False, repr=False)
class OwnedBoostedLineup(Owned):
    """An honest boosted model of keyed seeds and what its owner keeps.

    Attributes
    ----------
    content
        XGBoost's json of the model: to be released.
    claim
        With the beacons' receipts: secret.
    importances : (d,)
        Mean impurity decrease of the trees as trained, by feature.
    """

    content: bytes
    claim: LineupClaim
    importances: NDArray[np.float64]

    @property
    def model(self) -> TreeModel:
        """The released model, read again."""
        return xgboost_file.read(self.content)

    def save(self, path: str | Path) -> None:
        """Write what is to be released; errors as in `write_released`."""
        write_released(path, self.content)


def embed_boosted_lineup(
    claim: LineupClaim, receipts: Sequence[Receipt], X: NDArray[np.float32], y: NDArray[np.int64]
) -> OwnedBoostedLineup:
    """Train the boosted model that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows.

    Raises
    ------
    ClaimError
        Receipts of another claim, a claim of a forest, other training rows or library versions.
    """
    complete = with_receipts(claim, receipts)
    rows = canonical_rows(X, y)
    steps = owner_rounds(complete, rows)
    content = released_content(complete, steps, rows)
    claimed = complete.model_copy(update={"released": hashlib.sha256(content).hexdigest()})
    return OwnedBoostedLineup(content, claimed, importances(steps))


def owner_rounds(claim: LineupClaim, rows: TrainingRows) -> list[Step]:
    """Return the rounds that a claim's draw demands; errors as in `embed_boosted_lineup`."""
    training = boosting_settings(claim)
    return train_rounds(rows, training, list(owner_seeds(claim, rows).values()))


def boosting_settings(claim: LineupClaim) -> BoostingSettings:
    """Return how the rounds of a claim are trained; raise `ClaimError` for a claim of a forest."""
    training = claim.header.training
    if not isinstance(training, BoostingSettings):
        raise ClaimError("the claim is of a forest, not of a boosted model")
    return training


def train_rounds(rows: TrainingRows, training: BoostingSettings, seeds: Sequence[int]) -> list[Step]:
    """Train a round for each seed, one after the other."""
    margins = first_margins(rows)
    found = []
    for seed in seeds:
        found.append(train_round(rows, training, margins, seed))
        margins = margins + found[-1].outputs(rows.X)
    return found


def first_margins(rows: TrainingRows) -> NDArray[np.float64]:
    """Return the margins of the training rows before the first round: (n,)."""
    return np.full(len(rows.y), start_margins(rows.y)[0])


def train_round(
    rows: TrainingRows, training: BoostingSettings, margins: NDArray[np.float64], seed: int
) -> Step:
    """Train the tree of one round.

    The rows that it sees are the first of a permutation by numpy's `RandomState(seed)`.

    Parameters
    ----------
    margins : (n,)
        Of the training rows after the rounds before.
    seed
        In [0, 2^31).
    """
    from scipy.special import expit
    from sklearn.tree import DecisionTreeRegressor

    count = len(rows.y)
    weight = np.zeros(count)
    seen = max(2, round(training.subsample * count))
    weight[np.random.RandomState(seed).permutation(count)[:seen]] = 1.0
    # Not 1 - p, which rounding makes 0 for one of the classes only.
    p, rest = expit(margins), expit(-margins)
    tree = DecisionTreeRegressor(
        max_depth=training.max_depth,
        min_samples_leaf=training.min_samples_leaf,
        max_features=training.max_features,
        random_state=seed,
    )
    step, _ = newton_step(
        tree, rows.X, np.where(rows.y == 1, rest, -p), p * rest, weight=weight, rate=training.learning_rate
    )
    return step


def released_content(claim: LineupClaim, steps: Sequence[Step], rows: TrainingRows) -> bytes:
    """Return the model of some rounds as XGBoost's json, without anything of its training."""
    model = model_of_steps(steps, start_margins(rows.y), n_features=rows.X.shape[1], n_classes=2)
    header = claim.header
    interface = claimed_interface(header.class_names, header.feature_names, header.preparation)
    return write_margins(model, header.feature_names, interface)
