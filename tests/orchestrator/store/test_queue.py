"""What is handed out next, and what is taken back from the dead."""

from __future__ import annotations

from orchestrator.store import queue
from orchestrator.store.tables import JobState, attempt


def test_ready_jobs_come_in_the_plans_order(workshop):
    campaign_id = workshop.campaign(*map(workshop.job, ["c", "a", "d", "b"]), workshop.job("e", "a"))
    ids = [workshop.id(key) for key in ("c", "a", "d", "b")]

    def ready(limit, *other_than):
        return queue.ready_jobs(workshop.store, campaign_id, limit=limit, other_than=set(other_than))

    assert ready(10) == ids
    assert ready(2) == ids[:2]
    assert ready(2, *ids[:2]) == ids[2:]
    assert ready(1, *ids) == []
    assert ready(0) == ready(-1) == []
    workshop.ledger.lease(ids[0], "me")
    assert ready(2, ids[0]) == ids[1:3]


def test_other_campaigns_jobs_are_not_handed_out(workshop):
    workshop.jobs("a", "b")
    other = workshop.campaign(workshop.job("b"), workshop.job("c"), name="other")
    found = queue.ready_jobs(workshop.store, other, limit=9, other_than=())
    assert found == [workshop.id("b"), workshop.id("c")]


def test_what_dead_workers_held_is_ready_at_once_and_no_attempt_is_counted(workshop):
    dead, alive, ready = workshop.jobs("a", "b", "c")
    workshop.ledger.lease(dead, "dead")
    workshop.ledger.lease(alive, "alive")
    asked = []

    def is_gone(owner):
        asked.append(owner)
        return owner == "dead"

    assert queue.release_dead(workshop.store, is_gone) == 1
    assert sorted(asked) == ["alive", "dead"]
    assert workshop.states("a", "b", "c") == [JobState.READY, JobState.RUNNING, JobState.READY]
    assert (workshop.row(dead).failures, workshop.count(attempt)) == (0, 0)
    assert workshop.row(dead).lease_owner is None
    assert workshop.ledger.heartbeat(alive, "alive")
    assert queue.release_dead(workshop.store, is_gone) == 0
    assert workshop.ledger.lease(ready, "me") is not None
