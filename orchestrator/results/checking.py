"""Check stored forgery answers against the stored models: no worker has to be believed.

Every witness is replayed on its forest, and answers at several distances must not contradict each other:
what is forged at one distance is forged at every larger one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sa

from orchestrator.results.forged_sets import Attempt, attempts
from orchestrator.results.stored_models import Place, StoredModels
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, forgery_answer
from wm.engines import Status
from wm.forest import Forest


def contradictions(store: Store, campaign_id: int) -> Iterator[str]:
    """Yield a line for each stored answer that is not true of its forest or contradicts another."""
    models = StoredModels(store, campaign_id)
    for attempt in attempts(store, campaign_id, models):
        yield from false_witnesses(attempt, models.watermarked(attempt.place).forest)
    yield from _without_witness(store, campaign_id)
    yield from _against_monotonicity(store, campaign_id)


def false_witnesses(attempt: Attempt, forest: Forest) -> Iterator[str]:
    """Yield a line for each witness without the wanted votes, outside [0, 1], or too far from its row."""
    found = attempt.forgeries
    if not found:
        return
    X = np.stack([each.forged for each in found])
    labels = np.array([each.label for each in found])
    wrong = forest.vote_codes(X) != labels[:, None]
    votes = (wrong == (attempt.signature.array == 1)).all(axis=1)
    away = np.abs(X.astype(np.float64) - np.stack([each.original for each in found]).astype(np.float64))
    limits = np.array([each.distance if attempt.eps is None else attempt.eps for each in found])
    near = (away.max(axis=1) <= limits) & (X >= 0).all(axis=1) & (X <= 1).all(axis=1)
    for each, has_votes, is_near in zip(found, votes, near, strict=True):
        if not (has_votes and is_near):
            fault = "lies outside its box" if has_votes else "does not have the wanted votes"
            yield f"{_where(attempt.place, attempt.number, attempt.eps)}, row {each.row}: its witness {fault}"


def _where(place: Place, signature: int, eps: float | None) -> str:
    shares = f"trigger share {place.trigger_share:g}, ones {place.ones_share:g}, repeat {place.repeat}"
    return f"{shares}, signature {signature}, eps {'minimal' if eps is None else f'{eps:g}'}"


def _answers(campaign_id: int) -> sa.Select[Any]:
    columns = (*(cell.c[name] for name in Place._fields), cell.c.signature, cell.c.engine)
    return (
        sa.select(*columns, forgery_answer.c.row, cell.c.eps, forgery_answer.c.status)
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(forgery_answer, forgery_answer.c.job_id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id)
    )


def _without_witness(store: Store, campaign_id: int) -> Iterator[str]:
    query = _answers(campaign_id).where(
        forgery_answer.c.status == Status.FORGED, forgery_answer.c.witness.is_(None)
    )
    with store.read() as connection:
        rows = connection.execute(query).all()
    for row in rows:
        yield f"{_where(Place(*row[:4]), row.signature, row.eps)}, row {row.row}: forged without a witness"


def _against_monotonicity(store: Store, campaign_id: int) -> Iterator[str]:
    decided = forgery_answer.c.status.in_((Status.FORGED, Status.IMPOSSIBLE))
    query = _answers(campaign_id).where(cell.c.eps.is_not(None), decided)
    forged: dict[tuple[Any, ...], float] = {}
    impossible: dict[tuple[Any, ...], float] = {}
    with store.read() as connection:
        for *key, eps, status in connection.execute(query.order_by(forgery_answer.c.job_id)):
            if status == Status.FORGED:
                forged[tuple(key)] = min(eps, forged.get(tuple(key), np.inf))
            else:
                impossible[tuple(key)] = max(eps, impossible.get(tuple(key), -np.inf))
    for found, eps in forged.items():
        if impossible.get(found, -np.inf) >= eps:
            *place, signature, _, row = found
            yield (
                f"{_where(Place(*place), signature, eps)}, row {row}: forged, but impossible at "
                f"{impossible[found]:g}, with the same engine"
            )
