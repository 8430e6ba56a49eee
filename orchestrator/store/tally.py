"""All that a store holds, in numbers, for monitors: campaigns, outcomes, answers, failed attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import attempt, campaign, forgery_answer, job, outcome


@dataclass(frozen=True)
class Tally:
    """What a store holds, over all campaigns.

    Attributes
    ----------
    campaigns
        Name and state of each campaign by its id; the state as it was marked last.
    outcomes
        Number of outcomes by the job's kind and the outcome's status.
    answers
        Number of answered forgery queries by status.
    failed_attempts
        How often a job's process or its worker died.
    """

    campaigns: Mapping[int, tuple[str, str]]
    outcomes: Mapping[tuple[str, str], int]
    answers: Mapping[str, int]
    failed_attempts: int


def tally(store: Store) -> Tally:
    """Count a whole store: reads every outcome and every answer, some seconds for 10^7 of them."""
    outcomes = (
        sa.select(job.c.kind, outcome.c.status, sa.func.count())
        .join(outcome, outcome.c.job_id == job.c.id)
        .group_by(job.c.kind, outcome.c.status)
    )
    answers = sa.select(forgery_answer.c.status, sa.func.count().label("number")).group_by(
        forgery_answer.c.status
    )
    with store.read() as connection:
        return Tally(
            campaigns={
                row.id: (row.name, row.state)
                for row in connection.execute(sa.select(campaign.c.id, campaign.c.name, campaign.c.state))
            },
            outcomes={(kind, status): count for kind, status, count in connection.execute(outcomes)},
            answers={row.status: row.number for row in connection.execute(answers)},
            failed_attempts=connection.execute(sa.select(sa.func.count()).select_from(attempt)).scalar_one(),
        )
