"""`wm campaign status --watch`: what is shown of a campaign that real workers are at, and when it ends."""

from __future__ import annotations

import io

import pytest
import rich.console
import sqlalchemy as sa

from orchestrator.cli import watch
from orchestrator.cli.watch import Rate, Stopwatch, view, watch_campaign
from orchestrator.errors import StoreUnavailableError
from orchestrator.plan import Cell, PlannedJob
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.running import running_jobs
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import CampaignState, worker
from workers.jobs import ForgeryAnswer, JobKind, Outcome, OutcomeStatus
from workers.registry import WorkerRecord

SPEC = """
name = "watched"
seed = 1
dataset = { name = "breast-cancer" }
forest = { n_estimators = 12, max_depth = 4 }
"""
CELL = Cell(scheme="paper", trigger_share=0.02, ones_share=0.5, repeat=0, engine="z3", signature=3, eps=0.5)


@pytest.fixture
def store(tmp_path):
    opened = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    opened.upgrade()
    yield opened
    opened.close()


@pytest.fixture
def campaign_id(store):
    """A running campaign: a split that is done, one running, and four batches, two of them running."""
    batches = [
        PlannedJob(f"batch {number}", JobKind.FORGERY, {"first": 50 * number, "count": 50}, (), CELL, 50)
        for number in range(4)
    ]
    splits = [PlannedJob(f"split {number}", JobKind.SPLIT, {}, (), Cell(), 1) for number in range(2)]
    made = campaigns.create_campaign(store, parse_spec(SPEC), iter([*splits, *batches]), {})
    campaigns.mark(store, made, CampaignState.RUNNING)
    ledger = StoreLedger(store)
    ledger.lease(1, "host-a:1:1:0")
    ledger.record(1, "host-a:1:1:0", DONE, {})
    for job_id in (2, 3, 4):
        ledger.lease(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
    ledger.answer(4, [ForgeryAnswer(50 + at, 0, "impossible", None, 0.1, "", None) for at in range(7)])
    registry = StoreRegistry(store)
    for name, slots in (("host-a:1:1", 2), ("host-b:1:1", 4), ("host-c:1:1", 8)):
        registry.beat(WorkerRecord(name, "1", slots))
    with store.write() as connection:
        silent = store.clock() - 100
        connection.execute(sa.update(worker).where(worker.c.name == "host-c:1:1").values(heartbeat_at=silent))
    return made


DONE = Outcome(OutcomeStatus.DONE, {}, {"job": 1.0})


def text_of(renderable):
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(renderable)
    return console.file.getvalue()


def shown(view):
    """Return names and values, a list where a name has several."""
    found, name = {}, ""
    for line in text_of(view.table()).splitlines():
        if line.strip():
            name = line[:10].strip() or name
            found.setdefault(name, []).append(line[10:].strip())
    return found


@pytest.fixture
def clock(monkeypatch):
    """The watch's own clock; it stands still between two looks."""

    class Clock:
        def __init__(self):
            self.now, self.slept = 1000.0, []

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.slept.append(seconds)
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(watch, "time", made)
    return made


def test_everything_about_a_running_campaign_is_shown(store, campaign_id, clock):
    rate, stopwatch = Rate(), Stopwatch()
    first = shown(view(store, campaign_id, rate, stopwatch))
    assert first["campaign"] == ["watched: running"]
    assert first["done"] == ["1 of 202"]
    assert first["jobs"] == ["2 ready, 3 running, 1 done"]
    assert (first["rate"], first["left"]) == (["-"], ["-"])
    summary, *workers = first["workers"]
    assert summary == "2 alive, 6 slots"
    assert sorted(line.split()[0] for line in workers[:2]) == ["host-a:1:1", "host-b:1:1"]
    assert all("heard 0 s ago" in line and "silent" not in line for line in workers[:2])
    assert workers[2].split()[0] == "host-c:1:1"
    assert workers[2].endswith("heard 100 s ago, silent")
    assert first["slowest"] == ["split job 2: 0 s or more, on host-a:1:1:2 ()"]

    ledger = StoreLedger(store)
    ledger.record(2, "host-a:1:1:2", DONE, {})
    ledger.record(3, "host-b:1:1:3", DONE, {})
    clock.now += 10
    second = shown(view(store, campaign_id, rate, stopwatch))
    assert second["done"] == ["52 of 202"]
    assert second["rate"] == ["5.1/s"]
    assert second["left"] == ["0:00:29"]
    place = "scheme paper, trigger_share 0.02, ones_share 0.5, repeat 0, engine z3, signature 3, eps 0.5"
    query = f"on host-a:1:1:4 ({place})"
    assert second["slowest"] == [f"forgery job 4, instance 57: 10 s or more, {query}"]

    ledger.answer(4, [ForgeryAnswer(57, 0, "timeout", None, 12.0, "", None)])
    clock.now += 2
    third = shown(view(store, campaign_id, rate, stopwatch))
    assert third["slowest"] == [f"forgery job 4, instance 58: 0 s or more, {query}"]


def test_where_nothing_runs_there_is_no_slowest(store, campaign_id, clock):
    for job_id in (2, 3, 4):
        StoreLedger(store).hand_back(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
    assert running_jobs(store, campaign_id) == []
    assert shown(view(store, campaign_id, Rate(), Stopwatch()))["slowest"] == ["-"]


def test_the_rate_is_that_of_the_last_minute():
    rate = Rate()
    assert rate.add(0.0, 0) is None
    assert rate.add(10.0, 100) == 10.0
    for now in range(20, 80, 10):
        last = rate.add(float(now), 100)
    assert last == 0.0


def test_more_workers_than_fit_are_counted(store, campaign_id, clock, monkeypatch):
    monkeypatch.setattr(watch, "_MOST_WORKERS", 1)
    assert shown(view(store, campaign_id, Rate(), Stopwatch()))["workers"][2:] == ["and 2 more"]


def test_a_campaign_is_watched_by_its_id_though_another_has_it_for_a_name(store, campaign_id, clock):
    named = parse_spec(SPEC.replace("watched", str(campaign_id)))
    campaigns.create_campaign(store, named, iter([]), {})
    assert view(store, campaign_id, Rate(), Stopwatch()).name == "watched"


def test_watching_ends_with_the_campaign_and_outlasts_an_outage(
    store, campaign_id, clock, monkeypatch, capsys
):
    ledger, looks = StoreLedger(store), []
    look = watch.view

    def disturbed(*arguments):
        looks.append(len(looks))
        if looks[-1] == 1:
            raise StoreUnavailableError("store gone: the server is restarting")
        if looks[-1] == 2:
            for job_id in (2, 3, 4, 5, 6):
                for owner in (f"host-{'ab'[job_id % 2]}:1:1:{job_id}", "late"):
                    ledger.lease(job_id, owner)
                    ledger.record(job_id, owner, DONE, {})
        return look(*arguments)

    monkeypatch.setattr(watch, "view", disturbed)
    monkeypatch.setenv("TERM", "dumb")
    watch_campaign(store, campaign_id)
    assert looks == [0, 1, 2]
    assert clock.slept == [2.0, 2.0]
    assert "202 of 202" in capsys.readouterr().out


def test_the_command_shows_a_finished_campaign_once_and_refuses_json(wm, tiny):
    ran = wm("campaign", "status", "tiny", "--watch", "--store", tiny.url)
    assert (ran.code, ran.err) == (0, "")
    assert "36 of 36" in ran.out
    assert "tiny: finished" in ran.out
    refused = wm("campaign", "status", "tiny", "--watch", "--json", "--store", tiny.url)
    assert (refused.code, refused.out) == (2, "")
    assert "leave out --json" in refused.err
