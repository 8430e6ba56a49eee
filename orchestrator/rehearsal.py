"""Estimate how long a campaign takes: run small parts of it, and take the rest in proportion."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from orchestrator.executors import LocalExecutor
from orchestrator.launch import planned_jobs
from orchestrator.loop import run_campaign
from orchestrator.plan import DataFacts, PlannedJob
from orchestrator.spec import CampaignSpec
from orchestrator.store.campaigns import Progress, create_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import forgery_answer, job, outcome
from wm.engines import Status
from workers.jobs.base import OutcomeStatus
from workers.jobs.kinds import JobKind

SAMPLES = 5
"""Jobs that are timed of each part, if there is time for them."""


class PartKey(NamedTuple):
    """What distinguishes jobs of different cost; None where it does not apply."""

    kind: str
    scheme: str | None
    engine: str | None
    eps: float | None


@dataclass(frozen=True)
class Part:
    """Jobs of about the same cost: how many are planned, and what some of them took.

    Attributes
    ----------
    planned, timed
        Numbers of forgery queries, or of other jobs.
    seconds
        Time in a slot of those that were timed.
    at_limit
        How many of the timed queries ended at their limit of time or memory.
    estimate_s
        Time in one slot of all that is planned; None if nothing was timed. What only the first job of a part
        does, as to start an engine, is counted once.
    """

    key: PartKey
    planned: int
    timed: int
    seconds: float
    at_limit: int
    estimate_s: float | None

    def as_row(self) -> dict[str, str | int | float | None]:
        """Return what is shown of it; `seconds` is the estimate."""
        counts = {"planned": self.planned, "timed": self.timed, "at_limit": self.at_limit}
        return self.key._asdict() | counts | {"seconds": self.estimate_s}


@dataclass
class _Group:
    planned: int = 0
    sample: tuple[PlannedJob, ...] = ()


def rehearse(spec: CampaignSpec, facts: DataFacts, *, seconds: float) -> list[Part]:
    """Run parts of a campaign in one slot for so many seconds; return what they took, in the plan's order.

    The first jobs of each part are run in turn, those that they need before them. What ends at a limit, and
    what finds proofs from which later answers follow, takes more time at the beginning of a campaign than
    later on: such parts are rather overestimated.
    """
    groups, makers = _groups(planned_jobs(spec, facts))
    sample = _in_turn(groups.values(), makers)
    with tempfile.TemporaryDirectory() as folder, closing(Store(f"sqlite:///{folder}/wm.db")) as store:
        store.upgrade()
        campaign_id = create_campaign(store, spec, sample, {})
        _run(store, campaign_id, seconds)
        taken = _taken(store)
    return [_part(key, group, taken) for key, group in groups.items()]


def _groups(jobs: Iterable[PlannedJob]) -> tuple[dict[PartKey, _Group], dict[str, PlannedJob]]:
    """Return the parts of a plan, and by key the jobs that others may need."""
    groups: dict[PartKey, _Group] = {}
    makers: dict[str, PlannedJob] = {}
    for planned in jobs:
        cell = planned.cell
        group = groups.setdefault(PartKey(str(planned.kind), cell.scheme, cell.engine, cell.eps), _Group())
        group.planned += planned.weight
        signatures = {one.cell.signature for one in group.sample}
        if planned.kind != JobKind.FORGERY:
            makers[planned.key] = planned
        elif cell.signature in signatures:  # other signatures say more than other instances
            continue
        if len(group.sample) < SAMPLES:
            group.sample += (planned,)
    return groups, makers


def _in_turn(groups: Iterable[_Group], makers: Mapping[str, PlannedJob]) -> Sequence[PlannedJob]:
    """Return the first job of each part, then the second of each, with all that they need before them."""
    ordered: dict[str, PlannedJob] = {}

    def add(planned: PlannedJob) -> None:
        for key in planned.needs:
            add(makers[key])
        ordered.setdefault(planned.key, planned)

    listed = list(groups)
    for turn in range(SAMPLES):
        for group in listed:
            for planned in group.sample[turn : turn + 1]:
                add(planned)
    return tuple(ordered.values())


class _TimeIsUp(Exception):  # noqa: N818 - no error
    pass


def _run(store: Store, campaign_id: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds

    def look(_progress: Progress) -> None:
        if time.monotonic() > deadline:
            raise _TimeIsUp

    executor = LocalExecutor(StoreLedger(store), 1)
    try:
        run_campaign(store, campaign_id, executor, look)
    except _TimeIsUp:
        pass
    finally:
        executor.close()


class _Taken(NamedTuple):
    timed: int
    seconds: float
    at_limit: int


def _taken(store: Store) -> dict[str, _Taken]:
    """Return by content key what each job took so far; what failed says nothing of the others."""
    late = sa.case((forgery_answer.c.status.in_([Status.TIMEOUT.value, Status.MEMOUT.value]), 1), else_=0)
    answers = (
        sa.select(
            forgery_answer.c.job_id,
            sa.func.count().label("number"),
            sa.func.sum(forgery_answer.c.seconds).label("seconds"),
            sa.func.sum(late).label("late"),
        )
        .where(forgery_answer.c.status != Status.ERROR.value)
        .group_by(forgery_answer.c.job_id)
        .subquery()
    )
    query = (
        sa.select(job.c.key, job.c.kind, outcome.c.timings, *answers.c["number", "seconds", "late"])
        .outerjoin(outcome, (outcome.c.job_id == job.c.id) & (outcome.c.status == OutcomeStatus.DONE))
        .outerjoin(answers, answers.c.job_id == job.c.id)
    )
    return {row.key: taken for row in store.rows(query) for taken in _of_job(row)}


def _of_job(row: Any) -> Iterator[_Taken]:
    """Yield what a job took if any of it has ended."""
    # Of a job of several slices only the last one is timed.
    last_s = (row.timings or {}).get("job", 0.0)
    if row.kind == JobKind.FORGERY and row.number:
        yield _Taken(row.number, max(last_s, row.seconds), row.late)
    elif row.timings is not None:
        yield _Taken(1, last_s, 0)


def _part(key: PartKey, group: _Group, taken: Mapping[str, _Taken]) -> Part:
    of_sample = [taken[one.key] for one in group.sample if one.key in taken]
    timed, seconds = sum(one.timed for one in of_sample), sum(one.seconds for one in of_sample)
    estimate_s = None
    if of_sample:
        first = of_sample[0] if len(of_sample) > 1 else _Taken(0, 0.0, 0)
        each_s = (seconds - first.seconds) / (timed - first.timed)
        estimate_s = first.seconds + each_s * (group.planned - first.timed)
    return Part(key, group.planned, timed, seconds, sum(one.at_limit for one in of_sample), estimate_s)
