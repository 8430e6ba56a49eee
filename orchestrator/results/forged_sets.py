"""Score the forged trigger sets of a campaign, from the witnesses and forests in its store.

A set holds the rows that one attacker's signature forged within one eps of the test rows. From an attack with
eps "minimal" they are the nearest ones known; from one at a given distance, any that the engine found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa
from numpy.typing import NDArray

from orchestrator.results.stored_models import Place, StoredModels, Watermarked
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, forgery_answer, job
from wm.attacks.forgery import attacker_signature
from wm.attacks.forgery.forged_sets import ForgedSet, score_forged_set
from wm.signature import Signature
from workers.jobs.forging import ForgeryParameters
from workers.jobs.kinds import JobKind

PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The paper's distances: limits of the sets from minimal distances."""

NEAREST, ANY = "nearest", "any"

COLUMNS = (
    *Place._fields,
    "signature",
    "engine",
    "eps",
    "witnesses",
    "instances",
    "trigger_size",
    "size",
    "size_over_k",
    "distinct_cells",
    "mean_distance",
    "max_distance",
    "independent_accuracy",
    "independent_accuracy_true",
    "log10_p",
    "stopped_by",
    "stopped_but_for_commitment",
)
"""Columns of `forged_sets`, in order."""


@dataclass(frozen=True, eq=False)
class Forgery:
    """One answer with a witness."""

    row: int
    """Index among the test rows."""
    label: int
    """Of that row, and so of the forged one: 0 or 1."""
    original: NDArray[np.float32]
    """The test row, (d,)."""
    forged: NDArray[np.float32]
    """The witness, (d,)."""
    distance: float
    """Largest change of a feature."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """The forgeries of one watermark with one signature at one distance, or at minimal distances."""

    place: Place
    """Of the watermark."""
    number: int
    """Of the attacker's signature."""
    engine: str
    eps: float | None
    """The given distance; None for minimal distances."""
    cap: float
    """Maximum distance of the search."""
    signature: Signature
    """The attacker's."""
    instances: int
    """Number of answered queries."""
    forgeries: tuple[Forgery, ...]
    """Answers with a witness."""


def forged_sets(store: Store, campaign_id: int, places: Sequence[float] = PLACES) -> pd.DataFrame:
    """Return the evidence of each forged trigger set, and the rules of verification that reject it.

    Parameters
    ----------
    places
        Limits of the sets from minimal distances.

    Returns
    -------
    DataFrame
        `COLUMNS`. `witnesses` is "nearest" for minimal distances, else "any". `independent_accuracy` is that
        of the honest standard forest of the same repeat on the forged set, `independent_accuracy_true` on
        the true one. The claimant has published no commitment.
    """
    models = StoredModels(store, campaign_id)
    rows = [
        _row(attempt, models.watermarked(attempt.place), eps)
        for attempt in attempts(store, campaign_id, models)
        for eps in (places if attempt.eps is None else [attempt.eps])
        if eps <= attempt.cap
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(attempt: Attempt, model: Watermarked, eps: float) -> dict[str, Any]:
    kept = [one for one in attempt.forgeries if attempt.eps is not None or one.distance <= eps]
    features = model.forest.n_features
    forged = ForgedSet(
        method="prescribed signature",
        X=np.array([one.forged for one in kept], dtype=np.float32).reshape(-1, features),
        labels=np.array([one.label for one in kept], dtype=np.int64),
        signature=attempt.signature,
        centres=np.array([one.original for one in kept], dtype=np.float32).reshape(-1, features),
    )
    truth = model.claim.trigger_set
    size = len(truth.rows)
    scored = score_forged_set(forged, model.forest, trigger_size=size, independent=model.standard)
    own = {
        "signature": attempt.number,
        "engine": attempt.engine,
        "eps": eps,
        "witnesses": NEAREST if attempt.eps is None else ANY,
        "instances": attempt.instances,
        "trigger_size": size,
        "independent_accuracy_true": model.standard.accuracy(truth.X, truth.y),
    }
    unknown = {} if kept else {"mean_distance": None, "max_distance": None}
    return attempt.place._asdict() | scored.model_dump() | own | unknown


def attempts(store: Store, campaign_id: int, models: StoredModels) -> Iterator[Attempt]:
    """Yield every attempt of a campaign that has answers, in the order of the grid."""
    grid = [cell.c[name] for name in (*Place._fields, "signature", "engine", "eps")]
    cells = (
        sa.select(cell.c.id, *grid, sa.func.min(job.c.id).label("job"))
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(job, job.c.id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id, job.c.kind == JobKind.FORGERY)
        .group_by(cell.c.id, *grid)
        .order_by(*grid)
    )
    for row in store.rows(cells):
        ((parameters,),) = store.rows(sa.select(job.c.parameters).where(job.c.id == row.job))
        answers = store.rows(
            sa.select(forgery_answer.c.row, forgery_answer.c.distance, forgery_answer.c.witness)
            .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
            .where(campaign_job.c.cell_id == row.id)
            .order_by(forgery_answer.c.instance)
        )
        if answers:
            yield _attempt(row, ForgeryParameters.model_validate(parameters), answers, models)


def largest_attempt(store: Store, campaign_id: int, models: StoredModels) -> Attempt | None:
    """Return the first attempt at minimal distances with the most forgeries; None if there are none."""
    minimal = (one for one in attempts(store, campaign_id, models) if one.eps is None and one.forgeries)
    return max(minimal, key=lambda one: len(one.forgeries), default=None)


def _attempt(
    row: Any, parameters: ForgeryParameters, answers: Sequence[Any], models: StoredModels
) -> Attempt:
    split = models.split
    return Attempt(
        place=Place(row.scheme, row.trigger_share, row.ones_share, row.repeat),
        number=parameters.signature,
        engine=parameters.engine,
        eps=row.eps,
        cap=parameters.cap if parameters.eps == "minimal" else parameters.eps,
        signature=attacker_signature(
            parameters.seed,
            number=parameters.signature,
            length=models.trees,
            ones_share=parameters.ones_share,
            repeat=parameters.repeat,
        ),
        instances=len(answers),
        forgeries=tuple(
            Forgery(
                row=answer.row,
                label=int(split.y_test[answer.row]),
                original=split.X_test[answer.row],
                forged=np.frombuffer(answer.witness, dtype="<f4").astype(np.float32),
                distance=answer.distance,
            )
            for answer in answers
            if answer.witness is not None
        ),
    )
