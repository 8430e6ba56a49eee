"""Ready jobs, and jobs taken back from dead workers."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from orchestrator.store import queue
from orchestrator.store.tables import JobState, attempt


def test_ready_jobs_come_in_the_plans_order(workshop):
    campaign_id = workshop.campaign(*map(workshop.job, ["c", "a", "d", "b"]), workshop.job("e", "a"))
    ids = [workshop.id(key) for key in ("c", "a", "d", "b")]

    def ready(limit, *other_than):
        return queue.ready_jobs(workshop.store, campaign_id, limit=limit, excluded=set(other_than))

    assert ready(10) == ids
    assert ready(2) == ids[:2]
    assert ready(2, *ids[:2]) == ids[2:]
    assert ready(1, *ids) == []
    assert ready(0) == ready(-1) == []
    workshop.ledger.lease(ids[0], "me")
    assert ready(2, ids[0]) == ids[1:3]


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_next_jobs_are_found_without_looking_at_all_of_them(workshop, analyzed):
    """Whatever the database guesses of the numbers: a walk along an index of ready jobs, with no sorting."""
    campaign_id = workshop.campaign(*(workshop.job(f"{number:05}") for number in range(1500)))
    statements = []

    def listen(_connection, _cursor, statement, parameters, *_rest):
        if statement.startswith("SELECT job.id"):
            statements.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    assert len(queue.ready_jobs(workshop.store, campaign_id, limit=20, excluded=())) == 20
    sa.event.remove(sa.Engine, "before_cursor_execute", listen)
    ((statement, parameters),) = statements
    explain = "EXPLAIN QUERY PLAN" if workshop.store.is_sqlite else "EXPLAIN"
    with workshop.store.write() as connection:
        if analyzed:
            connection.exec_driver_sql("ANALYZE")
        rows = connection.exec_driver_sql(f"{explain} {statement}", parameters).all()
    plan = "\n".join(str(row[-1]) for row in rows)
    assert "ix_job_ready" in plan or (workshop.store.is_sqlite and "ix_job_state" in plan), plan
    for bad in ("Sort", "TEMP B-TREE", "Seq Scan", "Bitmap", "Hash", "Merge"):
        assert bad not in plan, plan


def test_a_large_plan_updates_the_statistics_of_postgresql(workshop):
    workshop.campaign(*(workshop.job(f"{number:05}") for number in range(1500)))
    if workshop.store.is_sqlite:
        pytest.skip("SQLite's plans do not need it")
    with workshop.store.read() as connection:
        known = connection.exec_driver_sql(
            "SELECT reltuples FROM pg_class WHERE relname = 'job'"
        ).scalar_one()
    assert known == 1500


def test_other_campaigns_jobs_are_not_handed_out(workshop):
    workshop.jobs("a", "b")
    other = workshop.campaign(workshop.job("b"), workshop.job("c"), name="other")
    found = queue.ready_jobs(workshop.store, other, limit=9, excluded=())
    assert found == [workshop.id("b"), workshop.id("c")]


def test_jobs_of_dead_workers_are_ready_at_once_without_a_failed_attempt(workshop):
    dead, alive, ready = workshop.jobs("a", "b", "c")
    workshop.ledger.lease(dead, "dead")
    workshop.ledger.lease(alive, "alive")
    asked = []

    def is_gone(owner):
        asked.append(owner)
        return owner == "dead"

    assert queue.release_dead(workshop.store, is_gone) == 1
    assert set(asked) == {"alive", "dead"}
    assert workshop.states("a", "b", "c") == [JobState.READY, JobState.RUNNING, JobState.READY]
    assert (workshop.row(dead).failures, workshop.count(attempt)) == (0, 0)
    assert workshop.row(dead).lease_owner is None
    assert workshop.ledger.heartbeat(alive, "alive")
    assert queue.release_dead(workshop.store, is_gone) == 0
    assert workshop.ledger.lease(ready, "me") is not None
