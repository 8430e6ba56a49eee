"""Single jobs queued again and cancelled, on both stores."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from orchestrator.errors import InUseError
from orchestrator.store import campaigns
from orchestrator.store.single_jobs import cancel_job, retry_job
from orchestrator.store.tables import CampaignState, JobState, job
from workers.jobs.base import Outcome, OutcomeStatus

FAILURE = Outcome(OutcomeStatus.ERROR, None, {}, "no")


@pytest.fixture
def chain(workshop):
    """Two chains of three jobs; the first job of each has failed."""
    for name in "ab":
        workshop.campaign(
            workshop.job(f"{name}1"),
            workshop.job(f"{name}2", f"{name}1"),
            workshop.job(f"{name}3", f"{name}2"),
            name=name,
        )
    workshop.finish(["a1", "b1"], FAILURE)
    return workshop


def test_a_failed_job_is_queued_again_with_what_it_blocked_and_nothing_else(chain):
    assert chain.states("a2", "a3", "b3") == [JobState.BLOCKED] * 3
    retry_job(chain.store, chain.id("a1"))
    assert chain.states("a1", "a2", "a3") == [JobState.READY, JobState.WAITING, JobState.WAITING]
    assert chain.states("b1", "b2", "b3") == [JobState.FAILED, JobState.BLOCKED, JobState.BLOCKED]
    chain.finish(["a1", "a2", "a3"])
    assert chain.states("a1", "a2", "a3") == [JobState.DONE] * 3


def test_what_another_failed_job_blocks_stays_blocked(workshop):
    workshop.campaign(workshop.job("x"), workshop.job("y"), workshop.job("both", "x", "y"))
    workshop.finish(["x", "y"], FAILURE)
    retry_job(workshop.store, workshop.id("x"))
    assert workshop.states("x", "y", "both") == [JobState.READY, JobState.FAILED, JobState.BLOCKED]


def test_a_cancelled_job_blocks_what_needs_it_until_it_is_queued_again(workshop):
    workshop.campaign(workshop.job("x"), workshop.job("y", "x"), workshop.job("z"))
    cancel_job(workshop.store, workshop.id("x"))
    assert workshop.states("x", "y", "z") == [JobState.CANCELLED, JobState.BLOCKED, JobState.READY]
    retry_job(workshop.store, workshop.id("x"))
    assert workshop.states("x", "y", "z") == [JobState.READY, JobState.WAITING, JobState.READY]


def test_a_running_job_is_cancelled_when_it_is_given_back(workshop):
    workshop.campaign(workshop.job("x"))
    assert workshop.ledger.lease(workshop.id("x"), "worker") is not None
    cancel_job(workshop.store, workshop.id("x"))
    assert workshop.row(workshop.id("x")).cancelled
    assert workshop.states("x") == [JobState.RUNNING]


def test_only_ended_jobs_are_queued_again_and_only_others_cancelled(chain):
    chain.campaign(chain.job("done"), chain.job("ready"), name="c")
    chain.finish(["done"])
    for act, keys in ((retry_job, ("done", "ready", "a2")), (cancel_job, ("done", "a1", "a2"))):
        for key in keys:
            before = chain.states(key)
            with pytest.raises(InUseError, match=rf"job {chain.id(key)} is {before[0].value}: only jobs"):
                act(chain.store, chain.id(key))
            assert chain.states(key) == before


def test_a_job_that_another_campaign_waits_for_is_not_cancelled(workshop):
    first, second = (workshop.campaign(workshop.job("x"), name=name) for name in ("one", "two"))
    with pytest.raises(InUseError, match="belongs to one and two"):
        cancel_job(workshop.store, workshop.id("x"))
    with workshop.store.write() as connection:
        connection.execute(sa.update(job).values(state=JobState.READY))
    campaigns.mark(workshop.store, second, CampaignState.INCOMPLETE)
    cancel_job(workshop.store, workshop.id("x"))
    assert workshop.states("x") == [JobState.CANCELLED]
    assert campaigns.get_campaign(workshop.store, first).state is CampaignState.INTERRUPTED
