"""The orchestrator as a service: what its loop does and reports, turn by turn."""

from __future__ import annotations

import threading

import pytest

from orchestrator.errors import StoreUnavailableError
from orchestrator.plan import plan
from orchestrator.service import Orchestrator
from orchestrator.store import campaigns, launched, services
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, JobState
from tests.orchestrator.test_loop import Inline
from workers.jobs.base import Outcome, OutcomeStatus
from workers.runtime.owners import owner_name
from workers.runtime.version import protocol_version


class Notes:
    """Records the reports of an orchestrator."""

    def __init__(self):
        self.led, self.turns, self.seen, self.taken = [], [], [], []

    def leads(self, leads):
        self.led.append(leads)

    def turn(self, unfinished):
        self.turns.append(list(unfinished))

    def progress(self, campaign_id, progress):
        self.seen.append((campaign_id, progress))

    def taken_back(self, *, expired, gone):
        self.taken.append((expired, gone))


@pytest.fixture
def campaign_id(store, spec, facts):
    made = campaigns.create_campaign(store, spec, plan(spec, facts), {})
    launched.hand_over(store, made)
    return made


@pytest.fixture
def notes():
    return Notes()


class Idle(Inline):
    """An executor that takes no jobs."""

    def capacity(self):
        return 0


def orchestrator_of(store, notes, executor=Inline, **options):
    reported = []
    return Orchestrator(store, executor(store, **options), reported.append, notes), reported


def turns(orchestrator, clock, until, most=100):
    for _ in range(most):
        if until():
            return
        clock.now += 1.0  # counted each time
        orchestrator.turn()
    raise AssertionError


def test_a_launched_campaign_is_run_to_its_end_and_reported(store, campaign_id, notes, clock):
    orchestrator, reported = orchestrator_of(store, notes)
    turns(orchestrator, clock, lambda: not launched.unfinished(store))
    assert notes.led == [True]
    assert notes.turns[0] == [campaign_id]
    done = [progress.done_weight for _, progress in notes.seen]
    assert done == sorted(done)
    assert notes.seen[-1] == (campaign_id, campaigns.progress(store, campaign_id))
    assert notes.seen[-1][1].is_over
    assert reported == ["sending jobs", f"campaign {campaign_id}: finished"]
    assert notes.taken == []


def test_jobs_without_a_result_make_it_incomplete(store, campaign_id, notes, clock):
    def ends(job):
        if job.kind == "embed":
            return Outcome(OutcomeStatus.TIMEOUT, None, {}, "too long")
        return Outcome(OutcomeStatus.DONE, {}, {})

    orchestrator, reported = orchestrator_of(store, notes, ends=ends)
    turns(orchestrator, clock, lambda: not launched.unfinished(store))
    assert campaigns.get_campaign(store, campaign_id).state is CampaignState.INCOMPLETE
    assert reported[-1] == f"campaign {campaign_id}: incomplete"


def test_expired_leases_and_jobs_of_dead_workers_are_reported_separately(store, campaign_id, notes, clock):
    ledger = StoreLedger(store)
    ledger.lease(1, "elsewhere:1:1:0")
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE job SET lease_until = lease_until - 60 WHERE id = 1")
    orchestrator, reported = orchestrator_of(store, notes, Idle)
    orchestrator.turn()
    assert notes.taken == [(1, 0)]
    host, pid, start, slot = owner_name().rsplit(":", 3)
    ledger.lease(1, f"{host}:{pid}:{start}1:{slot}")  # of this machine, but of no process that lives
    clock.now += 5.0
    orchestrator.turn()
    assert notes.taken == [(1, 0), (0, 1)]
    assert reported == ["sending jobs", *["1 job taken back from workers that died"] * 2]
    assert campaigns.progress(store, campaign_id).jobs[JobState.RUNNING] == 0


def test_a_second_orchestrator_stands_by_and_sends_nothing(store, campaign_id, notes, clock):
    services.beat_orchestrator(store, "elsewhere:1:1", protocol_version())
    orchestrator, reported = orchestrator_of(store, notes)
    orchestrator.turn()
    assert (notes.led, notes.turns, notes.seen) == ([False], [[]], [])
    assert reported == ["another orchestrator sends jobs: standing by"]
    services.leave_orchestrator(store, "elsewhere:1:1")
    clock.now += 10.0
    orchestrator.turn()
    assert notes.led == [False, True]
    assert notes.turns[-1] == [campaign_id]


def test_a_cancelled_campaign_is_dropped_and_can_be_resumed(store, campaign_id, notes, clock):
    orchestrator, _ = orchestrator_of(store, notes, Idle)
    for _ in range(2):
        orchestrator.turn()
    assert len(notes.seen) == 1, "not counted at each turn"
    launched.cancel(store, campaign_id)
    orchestrator.turn()
    assert notes.turns[-1] == []
    launched.revive(store, campaign_id)
    launched.hand_over(store, campaign_id)
    orchestrator.turn()
    assert len(notes.seen) == 2, "counted like a new one"
    assert campaigns.get_campaign(store, campaign_id).state is CampaignState.RUNNING


def test_after_an_outage_no_lease_counts_as_expired_before_workers_could_renew_it(
    store, campaign_id, notes, clock, monkeypatch
):
    stop = threading.Event()
    orchestrator, reported = orchestrator_of(store, notes, Idle)
    look, turns_before = launched.unfinished, []

    def unfinished(store):
        turns_before.append(clock.now)
        if len(turns_before) == 2:
            StoreLedger(store).lease(1, "elsewhere:1:1:0")
            with store.write() as connection:
                connection.exec_driver_sql("UPDATE job SET lease_until = lease_until - 60 WHERE id = 1")
            raise StoreUnavailableError("away")
        clock.now += 4.0
        if notes.taken:
            stop.set()
        return look(store)

    monkeypatch.setattr(launched, "unfinished", unfinished)
    orchestrator.run(stop)
    assert reported[1:3] == ["the store does not answer, trying again: away", "the store is back"]
    assert notes.taken == [(1, 0)]
    assert turns_before[-1] - turns_before[1] >= 15.0
