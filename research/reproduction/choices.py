"""Another experiment: which of the points of a cell a forger shows, and what a standard forest says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.forged_sets import Attempt, attempts
from orchestrator.store.database import Store
from research.reproduction.experiments import Scene
from research.reproduction.published import ONES_SHARE, TRIGGER_SHARE
from research.reproduction.runs import Run
from research.reproduction.spread import Spread
from wm.engines import ForgeryQuery
from wm.engines.encoding import nearest_witness, query_box
from wm.signature import Signature


@dataclass(frozen=True, eq=False)
class FreeChoice:
    """Accuracy of the standard forest on forged sets that differ only in the point picked from each cell.

    Attributes
    ----------
    eps
        Distance at which the sets were forged.
    sets, instances
        Sets, and rows of all of them.
    nearest, random, farthest
        Accuracy over sets: of the point of each row's cell that is nearest to the original, of a uniform
        point of what the box leaves free, and of a corner of that. All draw the same votes from the model.
    """

    run: Run
    eps: float
    sets: int
    instances: int
    nearest: Spread
    random: Spread
    farthest: Spread


def free_choice(store: Store, at: Scene, eps: float) -> FreeChoice | None:
    """Pick other points of the cells that a campaign's instances forged at `eps` are in; None without any."""
    here = [
        one
        for one in attempts(store, at.run.findings.record.id, at.run.models)
        if one.eps == eps
        and one.forgeries
        and (one.place.trigger_share, one.place.ones_share, one.place.repeat)
        == (TRIGGER_SHARE, ONES_SHARE, 0)
    ]
    if not here:
        return None
    rng = np.random.default_rng(at.run.findings.spec.seed)
    accuracies = np.array([_accuracies(at, one, eps, rng) for one in here])
    nearest, uniform, farthest = (Spread.of(column) for column in accuracies.T)
    instances = sum(len(one.forgeries) for one in here)
    return FreeChoice(at.run, eps, len(here), instances, nearest, uniform, farthest)


def _accuracies(at: Scene, attempt: Attempt, eps: float, rng: np.random.Generator) -> list[float]:
    """Return the standard forest's accuracy on the nearest, random and farthest points of the cells."""
    labels = [one.label for one in attempt.forgeries]
    points = [
        points_of_cell(at, attempt.signature, one.row, one.forged, eps, rng) for one in attempt.forgeries
    ]
    return [at.model.standard.accuracy(np.array(rows), labels) for rows in zip(*points, strict=True)]


def points_of_cell(
    at: Scene,
    signature: Signature,
    row: int,
    forged: NDArray[np.float32],
    eps: float,
    rng: np.random.Generator,
) -> Sequence[NDArray[np.float32]]:
    """Return a forged point, a uniform one and a corner of what its cell and the row's box have in common.

    Parameters
    ----------
    row
        Index among the test rows.
    forged : (d,)
        Within `eps` of it.
    """
    lower, upper = query_box(at.split.X_test[row].astype(np.float64), eps)
    wanted = (rng.uniform(lower, upper), np.where(rng.integers(0, 2, len(lower)) == 1, lower, upper))
    label = int(at.split.y_test[row])
    # Of a point of the box, the nearest one in the cell is in both: each feature is cut on its own.
    others = [
        nearest_witness(
            at.model.forest,
            at.bounds,
            forged,
            ForgeryQuery(signature=signature, label=label, centre=point, eps=1.0),
        )
        for point in wanted
    ]
    return [forged, *others]
