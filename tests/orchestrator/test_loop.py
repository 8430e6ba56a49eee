"""The loop: from ready jobs to a finished campaign, with lost jobs and other loops."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from orchestrator import loop
from orchestrator.executors import LocalExecutor
from orchestrator.loop import Loop, run_campaign
from orchestrator.plan import plan
from orchestrator.store import campaigns, queue, sqlite_file
from orchestrator.store.campaigns import create_campaign, find_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, JobState, job, job_need, outcome
from tests import ending
from workers.jobs.base import Outcome, OutcomeStatus
from workers.runtime.outage import Outage
from workers.runtime.owners import machine, owner_name

DONE = Outcome(OutcomeStatus.DONE, {}, {})


class Inline:
    """An executor whose `wait` runs the jobs, with the outcomes of `ends`."""

    def __init__(self, store, ends=lambda _job: DONE, owner="inline"):
        self.ledger = StoreLedger(store)
        self.ends, self.owner = ends, owner
        self.waiting: list[int] = []
        self.submitted: list[int] = []

    def capacity(self):
        return 3 - len(self.waiting)

    def in_flight(self):
        return frozenset(self.waiting)

    def submit(self, job_ids):
        assert len(job_ids) <= self.capacity()
        self.waiting += job_ids
        self.submitted += job_ids

    def wait(self, timeout_s):
        while self.waiting:
            job_id = self.waiting.pop(0)
            leased = self.ledger.lease(job_id, self.owner)
            if leased is not None:
                self.ledger.record(job_id, self.owner, self.ends(leased), {})

    def close(self):
        pass


@pytest.fixture
def campaign_id(store, spec, facts):
    return create_campaign(store, spec, plan(spec, facts), {})


def job_ids(store):
    with store.read() as connection:
        return list(connection.execute(sa.select(job.c.id).order_by(job.c.id)).scalars())


def assert_each_once_after_its_needs(store, submitted, expected):
    assert sorted(submitted) == expected
    with store.read() as connection:
        needs = connection.execute(sa.select(job_need.c.job_id, job_need.c.needs_id)).all()
    place = {job_id: number for number, job_id in enumerate(submitted)}
    assert all(place.get(needed, -1) < place[job_id] for job_id, needed in needs if job_id in place)
    # Of jobs that need the same, those planned first come first.
    alike = {}
    for job_id in submitted:
        alike.setdefault(frozenset(needed for other, needed in needs if other == job_id), []).append(job_id)
    assert all(ids == sorted(ids) for ids in alike.values())


def run(store, campaign_id, executor, seen=None):
    return run_campaign(store, campaign_id, executor, (seen if seen is not None else []).append)


def test_a_campaign_runs_to_its_end_in_order(store, campaign_id):
    executor, seen = Inline(store), []
    assert run(store, campaign_id, executor, seen) is CampaignState.FINISHED
    assert_each_once_after_its_needs(store, executor.submitted, job_ids(store))
    done = [progress.done_weight for progress in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, seen[-1].total_weight)
    assert seen[-1].jobs[JobState.DONE] == 13
    record = find_campaign(store, "small")
    assert record.state is CampaignState.FINISHED
    assert record.finished_at is not None


def test_a_finished_campaign_has_nothing_left_to_do(store, campaign_id):
    run(store, campaign_id, Inline(store))
    again = Inline(store)
    assert run(store, campaign_id, again) is CampaignState.FINISHED
    assert again.submitted == []


def test_failures_leave_it_incomplete_and_the_rest_is_done_all_the_same(store, campaign_id):
    def ends(leased):
        is_detection = leased.kind == "detection"
        return Outcome(OutcomeStatus.TIMEOUT, None, {}, "late") if is_detection else DONE

    seen = []
    assert run(store, campaign_id, Inline(store, ends), seen) is CampaignState.INCOMPLETE
    assert (seen[-1].jobs[JobState.DONE], seen[-1].jobs[JobState.FAILED]) == (12, 1)
    assert find_campaign(store, "small").state is CampaignState.INCOMPLETE


@pytest.mark.parametrize("reason", [KeyboardInterrupt, OSError])
def test_whatever_ends_the_loop_leaves_it_interrupted_and_it_can_go_on(store, campaign_id, reason):
    class Breaking(Inline):
        def wait(self, timeout_s):
            super().wait(timeout_s)
            raise reason

    with pytest.raises(reason):
        run(store, campaign_id, Breaking(store))
    record = find_campaign(store, "small")
    assert (record.state, record.finished_at) == (CampaignState.INTERRUPTED, None)
    assert campaigns.progress(store, campaign_id).jobs[JobState.DONE] == 1
    executor = Inline(store)
    assert run(store, campaign_id, executor) is CampaignState.FINISHED
    assert_each_once_after_its_needs(store, executor.submitted, job_ids(store)[1:])


def test_jobs_of_dead_workers_of_this_machine_are_taken_back_at_once(store, campaign_id):
    first = job_ids(store)[0]
    StoreLedger(store).lease(first, f"{machine()}:{os.getpid()}:not my start:0")
    assert run(store, campaign_id, Inline(store)) is CampaignState.FINISHED
    with store.read() as connection:
        assert connection.execute(sa.select(job.c.failures).where(job.c.id == first)).scalar_one() == 0


def test_an_expired_lease_of_another_machine_is_taken_back(store, campaign_id):
    first = job_ids(store)[0]
    StoreLedger(store).lease(first, "elsewhere:1:1:0")
    with store.write() as connection:
        connection.execute(sa.update(job).where(job.c.id == first).values(lease_until=0.0))
    assert run(store, campaign_id, Inline(store)) is CampaignState.FINISHED
    with store.read() as connection:
        assert connection.execute(sa.select(job.c.failures).where(job.c.id == first)).scalar_one() == 1


def test_an_expired_lease_of_a_process_that_runs_here_is_left_to_it(store, campaign_id):
    """Its lease expired because the wall clock jumped, or because all was suspended."""
    first = job_ids(store)[0]
    ledger, living = StoreLedger(store), owner_name()
    ledger.lease(first, living)
    with store.write() as connection:
        connection.execute(sa.update(job).where(job.c.id == first).values(lease_until=0.0))

    class Late(Inline):
        def wait(self, timeout_s):
            ledger.record(first, living, DONE, {})
            super().wait(timeout_s)

    executor = Late(store)
    assert run(store, campaign_id, executor) is CampaignState.FINISHED
    assert first not in executor.submitted
    with store.read() as connection:
        assert connection.execute(sa.select(job.c.failures).where(job.c.id == first)).scalar_one() == 0


def test_a_local_run_waits_for_a_store_that_another_program_keeps_locked(finished, monkeypatch):
    """Longer than SQLite waits itself; reported once, and no attempt is counted."""
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0)
    with finished.write() as connection:
        connection.execute(sa.delete(outcome).where(outcome.c.job_id > 5))
        connection.execute(sa.update(job).where(job.c.id > 5).values(state=JobState.READY))
    finished.close()
    file, said, locked = finished.folder / "finished.db", [], threading.Event()

    def hold():
        with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            locked.set()
            ending.until(lambda: said)
            other.execute("ROLLBACK")

    outage = Outage("the store", said.append)
    holder = threading.Thread(target=hold)
    with closing(LocalExecutor(StoreLedger(finished), 2, outage=outage)) as executor:
        holder.start()
        assert locked.wait(60)
        silent = Outage("the store", lambda _line: None)
        state = run_campaign(finished, 1, executor, lambda _progress: None, silent)
        ending.join(holder)
    assert state is CampaignState.FINISHED
    assert [line.partition(":")[0] for line in said] == [
        "the store does not answer, trying again",
        "the store is back",
    ]
    assert finished.rows(sa.select(sa.func.sum(job.c.failures))) == [(0,)]


@pytest.mark.parametrize("what", ["the wall clock jumps", "all is suspended"])
def test_after_a_jump_leases_elsewhere_may_be_renewed_first(store, campaign_id, clock, monkeypatch, what):
    now = SimpleNamespace(wall=1_000_000.0)
    monkeypatch.setattr(Store, "clock", lambda _store: sa.literal(now.wall))
    first, taken_back = job_ids(store)[0], []
    StoreLedger(store).lease(first, "elsewhere:1:1:0")
    idle = Inline(store)
    monkeypatch.setattr(idle, "capacity", lambda: 0)
    turns = Loop(store, idle, lambda *_: None, lambda *counts: taken_back.append(counts))

    def pass_by(seconds, *, wall=None):
        clock.now += seconds
        now.wall += seconds if wall is None else wall
        turns.turn([campaign_id])

    pass_by(0)
    pass_by(5)
    pass_by(5 if what == "the wall clock jumps" else 3600, wall=3600)
    for _ in range(2):
        pass_by(5)
    assert taken_back == []
    assert StoreLedger(store).heartbeat(first, "elsewhere:1:1:0")
    for _ in range(5):
        pass_by(5)
    assert taken_back == [], "renewed"
    for _ in range(3):
        pass_by(5)
    assert taken_back == [(1, 0)], "its owner has been silent for more than 30 s since"


def test_it_waits_for_the_job_of_a_live_worker_elsewhere(store, campaign_id):
    ledger = StoreLedger(store)
    first = job_ids(store)[0]
    elsewhere = "elsewhere:1:1:0"
    ledger.lease(first, elsewhere)
    waits = []

    class Waiting(Inline):
        def wait(self, timeout_s):
            waits.append(timeout_s)
            if len(waits) == 3:
                ledger.record(first, elsewhere, DONE, {})
            super().wait(timeout_s)

    executor = Waiting(store)
    assert run(store, campaign_id, executor) is CampaignState.FINISHED
    assert first not in executor.submitted
    with store.read() as connection:
        query = sa.select(outcome.c.owner).where(outcome.c.job_id == first)
        assert connection.execute(query).scalar_one() == elsewhere


def test_it_sends_heartbeats(store, campaign_id, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT_S", 0.0)
    marks = []
    mark = campaigns.mark
    monkeypatch.setattr(campaigns, "mark", lambda *call: (marks.append(call[2]), mark(*call)))
    run(store, campaign_id, Inline(store))
    assert marks.count(CampaignState.RUNNING) > 2
    assert marks[-1] is CampaignState.FINISHED


def test_two_loops_at_once_are_harmless(store, campaign_id):
    states, executors = [], [Inline(store, owner=f"host-{number}:1:1:0") for number in range(2)]
    threads = [
        threading.Thread(target=lambda executor=executor: states.append(run(store, campaign_id, executor)))
        for executor in executors
    ]
    for thread in threads:
        thread.start()
    ending.join(*threads)
    assert states == [CampaignState.FINISHED] * 2
    with store.read() as connection:
        owners = connection.execute(sa.select(outcome.c.owner)).scalars().all()
    assert len(owners) == 13
    assert set(owners) <= {executor.owner for executor in executors}
    assert queue.ready_jobs(store, campaign_id, limit=99, excluded=()) == []
