"""Help that is waited for, but not depended on; for every store."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.store import campaigns, launched, queue
from orchestrator.store.tables import JobState, job, job_need
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer, ForgeryState, KnownAnswer
from workers.jobs.kinds import JobKind

DONE = Outcome(OutcomeStatus.DONE, {"value": 1}, {"job": 0.5})
FAILURE = Outcome(OutcomeStatus.ERROR, None, {}, "no")


def needs_of(workshop):
    """Return every need as (job, needed, optional), by key."""
    needed = job.alias("needed")
    query = (
        sa.select(job.c.key, needed.c.key, job_need.c.optional)
        .join(job_need, job_need.c.job_id == job.c.id)
        .join(needed, needed.c.id == job_need.c.needs_id)
    )
    with workshop.store.read() as connection:
        return {(row[0], row[1], bool(row[2])) for row in connection.execute(query)}


def batch(workshop, *names):
    """Return jobs in this order that help each other, as those of several distances: the names are these."""
    ascending = sorted(names)
    return [
        workshop.job(
            name,
            kind=JobKind.FORGERY,
            eps=float(name),
            helped_by=(
                tuple(other for other in reversed(ascending) if other < name),
                tuple(other for other in ascending if other > name),
            ),
        )
        for name in names
    ]


def test_the_nearest_jobs_that_came_before_are_waited_for(workshop):
    workshop.campaign(*batch(workshop, "0.5", "0.3", "0.9", "0.1", "0.7"))
    assert needs_of(workshop) == {
        ("0.3", "0.5", True),
        ("0.9", "0.5", True),
        ("0.1", "0.3", True),
        ("0.7", "0.5", True),
        ("0.7", "0.9", True),
    }
    assert workshop.states("0.5", "0.3", "0.9", "0.1", "0.7") == [JobState.READY] + [JobState.WAITING] * 4
    workshop.finish(["0.5"])
    assert workshop.states("0.3", "0.9", "0.1", "0.7") == [JobState.READY] * 2 + [JobState.WAITING] * 2


@pytest.mark.parametrize("outcome", [DONE, FAILURE])
def test_help_is_waited_for_however_it_ends(workshop, outcome):
    workshop.campaign(
        workshop.job("root"), workshop.job("a", "root"), workshop.job("b", "root", helped_by=(("a",),))
    )
    workshop.finish(["root"])
    assert workshop.states("a", "b") == [JobState.READY, JobState.WAITING]
    workshop.finish(["a"], outcome)
    assert workshop.states("b") == [JobState.READY]


def test_a_blocked_helper_does_not_block_the_helped_job(workshop):
    workshop.campaign(
        workshop.job("bad"),
        workshop.job("first", "bad"),
        workshop.job("helper", "first"),
        workshop.job("helped", helped_by=(("helper",),)),
        workshop.job("both", "bad", helped_by=(("helper",),)),
    )
    workshop.finish(["bad"], FAILURE)
    assert workshop.states("first", "helper", "helped", "both") == [
        JobState.BLOCKED,
        JobState.BLOCKED,
        JobState.READY,
        JobState.BLOCKED,
    ]


def test_a_failed_helper_that_is_tried_again_is_waited_for_again(workshop):
    campaign_id = workshop.campaign(workshop.job("a"), workshop.job("b", helped_by=(("a",),)))
    workshop.finish(["a"], FAILURE)
    workshop.finish(["b"], FAILURE)
    assert campaigns.retry_failed(workshop.store, campaign_id) == 2
    assert workshop.states("a", "b") == [JobState.READY, JobState.WAITING]
    workshop.finish(["a", "b"])


def test_a_cancelled_campaign_is_taken_up_in_the_same_order(workshop):
    campaign_id = workshop.campaign(workshop.job("a"), workshop.job("b", helped_by=(("a",),)))
    assert launched.cancel(workshop.store, campaign_id) == 2
    assert campaigns.progress(workshop.store, campaign_id).done_weight == 0, "cancelled is not done"
    assert launched.revive(workshop.store, campaign_id) == 2
    assert workshop.states("a", "b") == [JobState.READY, JobState.WAITING]


def test_a_helper_that_was_cancelled_is_not_waited_for(workshop):
    """Its campaign was given up; the job that it would help is new."""
    first = workshop.campaign(workshop.job("a"))
    launched.cancel(workshop.store, first)
    workshop.campaign(workshop.job("a"), workshop.job("b", helped_by=(("a",),)), name="second")
    assert workshop.states("a", "b") == [JobState.CANCELLED, JobState.READY]


# Campaigns that share jobs


def test_lists_of_other_distances_never_wait_for_each_other_in_a_circle(workshop):
    workshop.campaign(*batch(workshop, "0.3", "0.1", "0.5"))
    second = workshop.campaign(*batch(workshop, "0.5", "0.3", "0.7"), name="second")
    needs = needs_of(workshop)
    assert ("0.5", "0.3", True) in needs
    assert ("0.3", "0.5", True) not in needs
    done = 0
    while ready := queue.ready_jobs(workshop.store, second, limit=10, excluded=()):
        done += len(ready)
        for job_id in ready:
            assert workshop.ledger.lease(job_id, "me") is not None
            workshop.ledger.record(job_id, "me", DONE, {})
    assert done == 3
    assert campaigns.progress(workshop.store, second).is_over


def test_an_enlarged_list_is_helped_by_finished_jobs(workshop):
    workshop.campaign(*batch(workshop, "0.7", "0.3"))
    workshop.finish(["0.7", "0.3"])
    workshop.campaign(*batch(workshop, "0.5", "0.3", "0.7", "0.1", "0.9"), name="larger")
    assert {need for need in needs_of(workshop) if need[0] in ("0.1", "0.5", "0.9")} == {
        ("0.1", "0.3", True),
        ("0.5", "0.3", True),
        ("0.5", "0.7", True),
        ("0.9", "0.7", True),
    }
    assert workshop.states("0.1", "0.5", "0.9") == [JobState.READY] * 3


def test_no_campaign_waits_for_a_helper_that_it_does_not_have(workshop):
    """The campaign that has it may never be run."""
    workshop.campaign(*batch(workshop, "0.5", "0.3"))
    second = workshop.campaign(*batch(workshop, "0.3"), name="second")
    assert workshop.states("0.3") == [JobState.READY]
    assert queue.ready_jobs(workshop.store, second, limit=10, excluded=()) == [workshop.id("0.3")]


def test_a_job_that_is_there_is_given_no_helper(workshop):
    """The campaign that has it may lack the helper."""
    workshop.campaign(workshop.job("root"), workshop.job("0.3", "root"))
    workshop.campaign(workshop.job("0.1"), name="second")
    workshop.campaign(
        workshop.job("root"),
        workshop.job("0.1"),
        workshop.job("0.3", "root", helped_by=(("0.1",),)),
        name="third",
    )
    assert needs_of(workshop) == {("0.3", "root", False)}


# What is known


def answers(eps):
    """Return an answer of every status, distinguished by its reason."""
    statuses = ("forged", "impossible", "timeout", "memout", "error")
    return [
        ForgeryAnswer(
            instance,
            7,
            status,
            0.25 if status == "forged" else None,
            0.1,
            f"at {eps}",
            b"w" if status == "forged" else None,
            followed_from=0.1 if status == "forged" else None,
            certified=True if status == "impossible" else None,
        )
        for instance, status in enumerate(statuses)
    ]


def test_a_lease_brings_the_decisions_of_helpers_and_no_input_of_theirs(workshop):
    root = workshop.job("root")
    jobs = [replace(planned, needs=("root",)) for planned in batch(workshop, "0.5", "0.3", "0.7", "0.4")]
    workshop.campaign(root, *jobs)
    workshop.finish(["root"])
    for key, outcome in (("0.5", DONE), ("0.3", FAILURE), ("0.7", DONE)):
        workshop.ledger.save(workshop.id(key), answers(key))
        workshop.finish([key], outcome)
    leased = workshop.ledger.lease(workshop.id("0.4"), "me")
    assert leased.inputs == {JobKind.SPLIT: (DONE.result,)}
    assert leased.state.known == tuple(
        KnownAnswer(float(eps), answer) for eps in ("0.5", "0.3") for answer in answers(eps)[:2]
    )


def test_a_job_without_helpers_knows_nothing_and_asks_the_store_nothing_more(workshop):
    workshop.campaign(workshop.job("root"), *batch(workshop, "0.5", "0.3"))
    counts = {}
    for key in ("root", "0.5", "0.3"):
        statements = []

        def listen(_connection, _cursor, statement, *_rest, statements=statements):
            statements.append(statement)

        sa.event.listen(sa.Engine, "before_cursor_execute", listen)
        leased = workshop.ledger.lease(workshop.id(key), "me")
        sa.event.remove(sa.Engine, "before_cursor_execute", listen)
        assert key == "root" or leased.state == ForgeryState()
        counts[key] = sum("SELECT" in statement for statement in statements)
        workshop.ledger.record(workshop.id(key), "me", DONE, {})
    assert counts["root"] == counts["0.5"] == counts["0.3"] - 1
