"""Campaigns in the store: created once, sharing jobs, found again, with their state."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from orchestrator.errors import AmbiguousNameError, NotFoundError
from orchestrator.plan import GridPoint
from orchestrator.store import campaigns, queue
from orchestrator.store.campaigns import STALE_S
from orchestrator.store.tables import CampaignState, JobState, campaign, campaign_job, cell, job, outcome
from workers.jobs.base import Outcome, OutcomeStatus

FAILURE = Outcome(OutcomeStatus.ERROR, None, {}, "no")


def test_a_campaign_is_stored_once(workshop):
    jobs = [workshop.job("a"), workshop.job("b", "a")]
    first = workshop.campaign(*jobs)
    workshop.finish("a")
    assert workshop.campaign(*jobs) == first
    assert workshop.states("a", "b") == [JobState.DONE, JobState.READY]
    assert (workshop.count(campaign), workshop.count(job), workshop.count(campaign_job)) == (1, 2, 2)


def test_a_record_holds_the_stored_campaign(workshop):
    campaign_id = workshop.campaign(workshop.job("a"), name="mine", seed=2**63 - 1)
    (record,) = campaigns.list_campaigns(workshop.store)
    assert record == campaigns.find_campaign(workshop.store, "mine")
    assert (record.id, record.name, record.seed) == (campaign_id, "mine", 2**63 - 1)
    assert (record.state, record.finished_at) == (CampaignState.INTERRUPTED, None)
    assert record.provenance == {"python": "3"}
    assert record.parsed() == workshop.spec.model_copy(update={"name": "mine", "seed": 2**63 - 1})


def test_campaigns_share_work(workshop):
    """A second campaign starts where the first is, in every state that a job can have."""
    workshop.campaign(
        workshop.job("done"),
        workshop.job("failed"),
        workshop.job("running"),
        workshop.job("blocked", "failed"),
        workshop.job("ready", "done"),
    )
    workshop.finish(["done"])
    workshop.finish(["failed"], FAILURE)
    workshop.ledger.lease(workshop.id("running"), "me")
    second = workshop.campaign(
        workshop.job("done"),
        workshop.job("failed"),
        workshop.job("running"),
        workshop.job("new", "done"),
        workshop.job("new waiting", "done", "running"),
        workshop.job("new blocked", "done", "failed"),
        workshop.job("new blocked too", "new blocked"),
        name="second",
    )
    assert workshop.states("new", "new waiting", "new blocked", "new blocked too") == [
        JobState.READY,
        JobState.WAITING,
        JobState.BLOCKED,
        JobState.BLOCKED,
    ]
    workshop.ledger.record(workshop.id("running"), "me", Outcome(OutcomeStatus.DONE, {}, {}), {})
    assert workshop.states("new waiting") == [JobState.READY]
    assert campaigns.progress(workshop.store, second).jobs == dict.fromkeys(JobState, 0) | {
        JobState.DONE: 2,
        JobState.FAILED: 1,
        JobState.READY: 2,
        JobState.BLOCKED: 2,
    }
    assert workshop.count(job) == 9


def test_a_job_may_lie_in_different_places_of_two_grids(workshop):
    workshop.campaign(workshop.job("a", cell=GridPoint(repeat=0)))
    workshop.campaign(
        workshop.job("a", cell=GridPoint(repeat=1)), workshop.job("b", cell=GridPoint(repeat=1)), name="d"
    )
    with workshop.store.read() as connection:
        rows = connection.execute(
            sa.select(campaign_job.c.campaign_id, cell.c.campaign_id, cell.c.repeat, campaign_job.c.position)
            .join(cell, cell.c.id == campaign_job.c.cell_id)
            .order_by(campaign_job.c.campaign_id, campaign_job.c.position)
        ).all()
    assert rows == [(1, 1, 0, 0), (2, 2, 1, 0), (2, 2, 1, 1)]


def test_large_campaigns_keep_their_order(workshop):
    keys = [f"{number:x}" for number in range(4500, 0, -1)]
    campaign_id = workshop.campaign(
        workshop.job("root"),
        *(workshop.job(key, "root", cell=GridPoint(repeat=len(key)), weight=2) for key in keys),
    )
    workshop.finish(["root"])
    progress = campaigns.progress(workshop.store, campaign_id)
    assert (progress.jobs[JobState.READY], progress.done_weight, progress.total_weight) == (4500, 1, 9001)
    ready = queue.ready_jobs(workshop.store, campaign_id, limit=4500, excluded=())
    with workshop.store.read() as connection:
        key_of = {row.id: row.key for row in connection.execute(sa.select(job.c.id, job.c.key))}
    assert [key_of[job_id] for job_id in ready] == keys
    assert workshop.count(cell) == 1 + 4


def test_a_campaign_is_found_by_name_or_id(workshop):
    first = workshop.campaign(workshop.job("a"))
    second = workshop.campaign(workshop.job("a"), name=str(first))

    def found(name):
        return campaigns.find_campaign(workshop.store, name).id

    assert found("c") == found("c@latest") == first
    assert found(str(second)) == second
    assert found(str(first)) == second, "a name goes before an id"
    assert [record.id for record in campaigns.list_campaigns(workshop.store)] == [first, second]


def test_a_name_of_several_campaigns_is_not_guessed(workshop):
    ids = [workshop.campaign(workshop.job("a"), seed=seed) for seed in (1, 2)]
    campaigns.mark(workshop.store, ids[0], CampaignState.FINISHED)
    with pytest.raises(AmbiguousNameError) as refused:
        campaigns.find_campaign(workshop.store, "c")
    assert refused.value.ids == tuple(ids)
    text = str(refused.value)
    assert text.startswith("2 campaigns are called c: give the id of one, 1 (finished, 20")
    assert text.endswith("), or c@latest")
    assert campaigns.find_campaign(workshop.store, "c@latest").id == ids[1]
    assert [campaigns.find_campaign(workshop.store, str(each)).id for each in ids] == ids
    assert campaigns.reference(workshop.store, ids[0], "c") == str(ids[0])
    other = workshop.campaign(workshop.job("a"), name="other")
    assert campaigns.reference(workshop.store, other, "other") == "other"


@pytest.mark.parametrize("name", ["x", "", "99", "9" * 40, "\N{SUPERSCRIPT TWO}", "-1", "c ", "%"])
def test_an_unknown_campaign_is_reported_with_the_known_ones(workshop, name):
    with pytest.raises(NotFoundError, match="there are: none at all"):
        campaigns.find_campaign(workshop.store, name)
    workshop.campaign(workshop.job("a"), name="b", seed=1)
    workshop.campaign(workshop.job("a"), name="a", seed=2)
    workshop.campaign(workshop.job("a"), name="a", seed=3)
    with pytest.raises(NotFoundError, match=r"there are: a, b$"):
        campaigns.find_campaign(workshop.store, name)


@pytest.mark.parametrize("state", list(CampaignState))
def test_a_state_is_returned_as_recorded(workshop, state):
    campaign_id = workshop.campaign(workshop.job("a"))
    campaigns.mark(workshop.store, campaign_id, state)
    record = campaigns.find_campaign(workshop.store, "c")
    assert record.state is state
    assert (record.finished_at is not None) == (state in (CampaignState.FINISHED, CampaignState.INCOMPLETE))


def test_a_running_campaign_without_heartbeats_counts_as_interrupted(workshop):
    campaign_id = workshop.campaign(workshop.job("a"))

    def told_after(silence_s, state):
        campaigns.mark(workshop.store, campaign_id, state)
        with workshop.store.write() as connection:
            last = workshop.store.clock() - silence_s
            connection.execute(sa.update(campaign).values(heartbeat_at=last))
        (listed,) = campaigns.list_campaigns(workshop.store)
        assert campaigns.find_campaign(workshop.store, "c").state is listed.state
        return listed.state

    assert told_after(STALE_S - 10, CampaignState.RUNNING) is CampaignState.RUNNING
    assert told_after(STALE_S + 1, CampaignState.RUNNING) is CampaignState.INTERRUPTED
    assert told_after(STALE_S + 1, CampaignState.FINISHED) is CampaignState.FINISHED
    campaigns.mark(workshop.store, campaign_id, CampaignState.RUNNING)
    assert campaigns.find_campaign(workshop.store, "c").state is CampaignState.RUNNING


def test_progress_counts_weights(workshop):
    campaign_id = workshop.campaign(
        workshop.job("a", weight=50), workshop.job("b", weight=7), workshop.job("c", "b", weight=3)
    )
    empty = workshop.campaign(name="empty")
    workshop.campaign(workshop.job("elsewhere", weight=1000), name="other")
    assert campaigns.progress(workshop.store, empty).is_over
    progress = campaigns.progress(workshop.store, campaign_id)
    assert (progress.done_weight, progress.total_weight, progress.is_over) == (0, 60, False)
    workshop.finish("a")
    assert campaigns.progress(workshop.store, campaign_id).done_weight == 50
    workshop.finish("b", FAILURE)
    progress = campaigns.progress(workshop.store, campaign_id)
    assert (progress.done_weight, progress.is_over) == (60, True), "blocked jobs will not run any more"


def test_failed_jobs_can_be_tried_again(workshop):
    campaign_id = workshop.campaign(
        workshop.job("a"), workshop.job("b"), workshop.job("c", "a", "b"), workshop.job("d", "c")
    )
    ledger = workshop.ledger
    workshop.finish("b")
    job_id = workshop.id("a")
    for _ in range(3):
        ledger.lease(job_id, "me")
        ledger.fail(job_id, "me", "first time")
    assert workshop.states(*"abcd") == [
        JobState.FAILED,
        JobState.DONE,
        JobState.BLOCKED,
        JobState.BLOCKED,
    ]
    assert campaigns.retry_failed(workshop.store, campaign_id) == 3
    assert workshop.states(*"abcd") == [
        JobState.READY,
        JobState.DONE,
        JobState.WAITING,
        JobState.WAITING,
    ]
    leased = ledger.lease(job_id, "me")
    assert leased is not None
    assert leased.failures == 0, "all attempts are to be had again"
    for _ in range(3):
        ledger.fail(job_id, "me", "second time")
        ledger.lease(job_id, "me")
    with workshop.store.read() as connection:
        error = connection.execute(sa.select(outcome.c.error).where(outcome.c.job_id == job_id)).scalar_one()
    assert error.splitlines() == ["failed 3 times", *(f"attempt {n}: second time" for n in (1, 2, 3))]
    campaigns.retry_failed(workshop.store, campaign_id)
    workshop.finish("acd")
    assert campaigns.progress(workshop.store, campaign_id).jobs[JobState.DONE] == 4
    assert campaigns.retry_failed(workshop.store, campaign_id) == 0


def test_trying_again_leaves_other_campaigns_failures_alone(workshop):
    workshop.campaign(workshop.job("a"), workshop.job("mine", "a"))
    other = workshop.campaign(workshop.job("b"), workshop.job("a"), name="other")
    workshop.finish("ab", FAILURE)
    assert campaigns.retry_failed(workshop.store, other) == 2
    assert workshop.states("a", "b", "mine") == [JobState.READY, JobState.READY, JobState.BLOCKED]
