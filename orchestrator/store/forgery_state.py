"""Load and save the resume state of forgery jobs: their answers, those at other distances, shared proofs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import REASON_LENGTH, forgery_answer, global_proof, job, job_need
from wm.engines import Status
from workers.jobs.forging import ForgeryAnswer, ForgeryState, GlobalProof, KnownAnswer
from workers.jobs.kinds import KINDS, JobKind

_CUT = " [...] "
_BATCH_PARAMETERS = frozenset({"eps", "cap", "first", "count"})
_ANSWER = [forgery_answer.c[field.name] for field in fields(ForgeryAnswer)]


def load(
    connection: sa.Connection,
    job_id: int,
    parameters: Mapping[str, Any],
    needs: Iterable[Any],
    *,
    again: bool,
) -> ForgeryState:
    """Return the state of a forgery job that is being leased.

    Parameters
    ----------
    parameters
        `workers.jobs.ForgeryParameters` as JSON-ready data.
    needs
        Rows of the jobs that it needs: `id`, `kind`, `parameters` and `optional`.
    again
        Whether it was leased before: else it has no answers yet.
    """
    forests = [need.id for need in needs if need.kind == JobKind.EMBED]
    helpers = {
        need.id: need.parameters["eps"] for need in needs if need.optional and need.kind == JobKind.FORGERY
    }
    own = sa.select(forgery_answer.c.instance).where(forgery_answer.c.job_id == job_id)
    labels = sa.select(global_proof.c.label).where(
        global_proof.c.embed_id.in_(forests), global_proof.c.subject == _subject(parameters)
    )
    return ForgeryState(
        answered=frozenset(connection.execute(own).scalars()) if again else frozenset(),
        known=_known(connection, helpers) if helpers else (),
        proved=frozenset(connection.execute(labels).scalars()) if forests else frozenset(),
    )


def _known(connection: sa.Connection, helpers: Mapping[int, float]) -> tuple[KnownAnswer, ...]:
    """Return the decisions of forgery jobs, given as their distances by id."""
    decisions = (
        sa.select(forgery_answer.c.job_id, *_ANSWER)
        .where(
            forgery_answer.c.job_id.in_(helpers),
            forgery_answer.c.status.in_((Status.FORGED, Status.IMPOSSIBLE)),
        )
        .order_by(forgery_answer.c.job_id, forgery_answer.c.instance)
    )
    rows = connection.execute(decisions)
    return tuple(KnownAnswer(helpers[helper], ForgeryAnswer(*answer)) for helper, *answer in rows)


def save(store: Store, connection: sa.Connection, job_id: int, rows: Sequence[object]) -> None:
    """Add answers and proofs; those already there stay."""
    answers, labels = [], []
    for row in rows:
        match row:
            case ForgeryAnswer():
                answers.append({"job_id": job_id, **vars(row), "reason": _short(row.reason)})
            case GlobalProof(label):
                labels.append(label)
            case _:
                raise TypeError("a resume state has answers and proofs only")
    store.insert_new(connection, forgery_answer, answers)
    if labels:
        needed = job.alias("needed")
        forest = (
            sa.select(job.c.parameters, job_need.c.needs_id)
            .join(job_need, job_need.c.job_id == job.c.id)
            .join(needed, needed.c.id == job_need.c.needs_id)
            .where(job.c.id == job_id, needed.c.kind == JobKind.EMBED)
        )
        asked = connection.execute(forest).one()
        about = {"embed_id": asked.needs_id, "subject": _subject(asked.parameters), "job_id": job_id}
        store.insert_new(connection, global_proof, [about | {"label": label} for label in labels])


def _subject(parameters: Mapping[str, Any]) -> str:
    """Return a hash of the subject of a forgery job's proofs apart from its forest: 64 hex digits.

    Equal for all batches and distances of one attack with one signature. Other engines and limits have other
    hashes: the proofs of one attack must not make another look fast.
    """
    asked = {name: value for name, value in parameters.items() if name not in _BATCH_PARAMETERS}
    content = [KINDS[JobKind.FORGERY].version, asked]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _short(reason: str) -> str:
    """Return a reason that fits its column: beginning and end of a long one, as a traceback."""
    if len(reason) <= REASON_LENGTH:
        return reason
    part = (REASON_LENGTH - len(_CUT)) // 2
    return reason[:part] + _CUT + reason[-part:]
