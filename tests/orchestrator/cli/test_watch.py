"""`wm campaign status --watch`: the view of a running campaign, and its end."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
import rich.console
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import pace
from orchestrator.cli import watch
from orchestrator.cli.watch import watch_campaign
from orchestrator.errors import StoreUnavailableError
from orchestrator.monitoring import watch as views
from orchestrator.monitoring.watch import Throughput, Watch
from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns, launched
from orchestrator.store.activity import running_jobs
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import CampaignState, JobState, job, worker
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer
from workers.jobs.kinds import JobKind
from workers.runtime.registry import WorkerRecord

SPEC = """
name = "watched"
seed = 1
dataset = { name = "breast-cancer" }
forest = { n_estimators = 12, max_depth = 4 }
"""
CELL = GridPoint(
    scheme="paper", trigger_share=0.02, ones_share=0.5, repeat=0, engine="z3", signature=3, eps=0.5
)


@pytest.fixture
def campaign_id(store):
    """A running campaign: a split that is done, one running, and four batches, two of them running."""
    batches = [
        PlannedJob(f"batch {number}", JobKind.FORGERY, {"first": 50 * number, "count": 50}, (), CELL, 50)
        for number in range(4)
    ]
    splits = [PlannedJob(f"split {number}", JobKind.SPLIT, {}, (), GridPoint(), 1) for number in range(2)]
    made = campaigns.create_campaign(store, parse_spec(SPEC), iter([*splits, *batches]), {})
    campaigns.mark(store, made, CampaignState.RUNNING)
    ledger = StoreLedger(store)
    ledger.lease(1, "host-a:1:1:0")
    ledger.record(1, "host-a:1:1:0", DONE, {})
    for job_id in (2, 3, 4):
        ledger.lease(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
    ledger.save(4, [ForgeryAnswer(50 + at, 0, "impossible", None, 0.1, "", None) for at in range(7)])
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
    for line in text_of(watch.table(view)).splitlines():
        if line.strip():
            begun, value = re.fullmatch(r" ?(\S*)\s{2,}(.*?)\s*", line).groups()
            name = begun or name
            found.setdefault(name, []).append(value)
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
    for module in (watch, views, pace):
        monkeypatch.setattr(module, "time", made)
    return made


def test_everything_about_a_running_campaign_is_shown(store, campaign_id, clock):
    watched = Watch(store, campaign_id)
    first = shown(watched.look())
    assert first["campaign"] == ["watched: running"]
    assert first["done"] == ["8 of 202"], "one job, and seven answers of a batch that goes on"
    assert first["jobs"] == ["2 ready, 3 running, 1 done"]
    assert (first["rate"], first["left"]) == (["-"], ["-"])
    summary, *workers = first["workers"]
    assert summary == "2 alive, 6 slots"
    assert sorted(line.split()[0] for line in workers[:2]) == ["host-a:1:1", "host-b:1:1"]
    assert all("last heartbeat 0 s ago" in line and "silent" not in line for line in workers[:2])
    assert workers[2].split()[0] == "host-c:1:1"
    assert workers[2].endswith("last heartbeat 100 s ago, silent")
    assert first["slowest"] == ["split job 2: 0 s or more, on host-a:1:1:2"]

    ledger = StoreLedger(store)
    ledger.record(2, "host-a:1:1:2", DONE, {})
    ledger.record(3, "host-b:1:1:3", DONE, {})
    clock.now += 10
    second = shown(watched.look())
    assert second["done"] == ["59 of 202"]
    assert second["rate"] == ["5.1/s"]
    assert second["left"] == ["0:00:28"]
    place = "scheme paper, trigger_share 0.02, ones_share 0.5, repeat 0, engine z3, signature 3, eps 0.5"
    query = f"on host-a:1:1:4 ({place})"
    assert second["slowest"] == [f"forgery job 4, instance 57: 10 s or more, {query}"]

    ledger.save(4, [ForgeryAnswer(57, 0, "timeout", None, 12.0, "", None)])
    clock.now += 2
    third = shown(watched.look())
    assert third["slowest"] == [f"forgery job 4, instance 58: 0 s or more, {query}"]


def test_no_slowest_query_if_nothing_runs(store, campaign_id, clock):
    for job_id in (2, 3, 4):
        StoreLedger(store).hand_back(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
    assert running_jobs(store, campaign_id) == []
    assert shown(Watch(store, campaign_id).look())["slowest"] == ["-"]


@given(
    steps=st.lists(
        st.tuples(st.sampled_from([1.0, 2.0, 10.0, 100.0, 1000.0]), st.integers(0, 40)), max_size=60
    )
)
def test_the_rate_covers_the_last_minute_or_enough_work(steps):
    rate, times, totals = Throughput(), [0.0], [0]
    assert rate.add(0.0, 0) is None
    for passed, more in steps:
        times.append(times[-1] + passed)
        totals.append(totals[-1] + more)
        found = rate.add(times[-1], totals[-1])
        # By hand: the latest look since when it is a minute and 20 pieces of work, or a quarter of an hour.
        since = [
            at
            for at in range(len(times) - 1)
            if times[-1] - times[at] >= 900 or (times[-1] - times[at] >= 60 and totals[-1] - totals[at] >= 20)
        ]
        first = max(since, default=0)
        assert found == (totals[-1] - totals[first]) / (times[-1] - times[first])


def test_answers_given_back_with_a_slice_make_no_negative_rate():
    rate = Throughput()
    rate.add(0.0, 10)
    assert rate.add(1.0, 3) == 0.0


def test_the_jobs_of_a_large_campaign_are_counted_rarely(store, campaign_id, monkeypatch):
    counted, count = [], campaigns.progress

    def slow(*arguments):
        counted.append(pace.time.monotonic())
        monkeypatch.setattr(pace.time, "monotonic", lambda: counted[-1] + 5.0)
        return count(*arguments)

    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr(campaigns, "progress", slow)
    watched = Watch(store, campaign_id)
    for _ in range(10):
        watched.look()
    assert len(counted) == 1


def test_a_local_run_without_workers(store, campaign_id, clock):
    with store.write() as connection:
        connection.execute(sa.delete(worker))
    assert shown(Watch(store, campaign_id).look())["workers"] == ["none; wm campaign run itself runs 3 jobs"]
    with store.write() as connection:
        running = sa.select(job.c.id).where(job.c.state == JobState.RUNNING).limit(1).scalar_subquery()
        connection.execute(sa.update(job).where(job.c.id != running).values(state=JobState.READY))
    assert shown(Watch(store, campaign_id).look())["workers"] == ["none; wm campaign run itself runs 1 job"]


def test_a_launched_campaign_without_services_in_both_views(store, campaign_id, clock):
    with store.write() as connection:
        connection.execute(sa.update(worker).values(heartbeat_at=store.clock() - 100))
    launched.hand_over(store, campaign_id)
    view = Watch(store, campaign_id).look()
    expected = [
        "no orchestrator is alive: start one with wm orchestrate",
        "no worker is alive: start one with wm worker",
    ]
    table = shown(view)
    assert table["attention"] == expected
    assert table["orchestrators"] == ["0 alive"]
    assert watch.log_line(view).endswith("; ".join(expected))
    assert "\n" not in watch.log_line(view)


def test_more_workers_than_fit_are_counted(store, campaign_id, clock, monkeypatch):
    monkeypatch.setattr(watch, "_MAX_SHOWN", 1)
    assert shown(Watch(store, campaign_id).look())["workers"][2:] == ["and 2 more"]


def test_a_campaign_is_watched_by_its_id_even_if_another_has_that_name(store, campaign_id, clock):
    named = parse_spec(SPEC.replace("watched", str(campaign_id)))
    campaigns.create_campaign(store, named, iter([]), {})
    assert Watch(store, campaign_id).look().seen.record.name == "watched"


def test_the_watch_ends_with_the_campaign_and_survives_an_outage(
    store, campaign_id, clock, monkeypatch, capsys
):
    ledger, looks = StoreLedger(store), []
    look = Watch.look

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

    monkeypatch.setattr(Watch, "look", disturbed)
    monkeypatch.setenv("TERM", "dumb")
    assert watch_campaign(store, campaign_id) is CampaignState.FINISHED
    assert looks == [0, 1, 2]
    assert clock.slept == [2.0, 2.0]
    printed = capsys.readouterr()
    assert printed.err == "the store does not answer, trying again: store gone: the server is restarting\n"
    first, last = printed.out.splitlines()
    assert first.startswith("watched: running; 8 of 202; 2 ready, 3 running, 1 done; ")
    assert last.startswith("watched: finished; 202 of 202; 6 done; "), "although not marked yet"


def test_a_terminal_keeps_the_last_table_through_an_outage(store, campaign_id, clock, monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    console = rich.console.Console(file=out, force_terminal=True, width=150, _environ={"TERM": "xterm"})
    monkeypatch.setattr(rich.console, "Console", lambda: console)
    look, looks = Watch.look, []

    def disturbed(self):
        looks.append(len(looks))
        if looks[-1] == 1:
            out.truncate(0)
            raise StoreUnavailableError("store gone")
        if looks[-1] == 2:
            shown_away.append(out.getvalue())
            launched.cancel(store, campaign_id)
            for job_id in (2, 3, 4):
                StoreLedger(store).hand_back(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
        return look(self)

    shown_away = []
    monkeypatch.setattr(Watch, "look", disturbed)
    assert watch_campaign(store, campaign_id) is CampaignState.CANCELLED
    assert "8 of 202" in shown_away[0]
    assert "the store does not answer, trying again: store gone" in shown_away[0]
    assert "5 jobs are cancelled" in out.getvalue()


def test_lines_come_every_ten_seconds_and_at_changes(store, campaign_id, clock, monkeypatch, capsys):
    look, looks = Watch.look, []

    def counted(self):
        looks.append(len(looks))
        if looks[-1] == 20:
            launched.cancel(store, campaign_id)
            for job_id in (2, 3, 4):
                StoreLedger(store).hand_back(job_id, f"host-{'ab'[job_id % 2]}:1:1:{job_id}")
        return look(self)

    monkeypatch.setattr(Watch, "look", counted)
    assert watch_campaign(store, campaign_id) is CampaignState.CANCELLED
    lines = capsys.readouterr().out.splitlines()
    assert len(looks) == 21
    assert len(lines) == 4 + 1, "after 0, 10, 20 and 30 of the 40 s, and at the end"


def test_the_command_shows_a_finished_campaign_once_and_refuses_json(wm, tiny):
    ran = wm("campaign", "status", "tiny", "--watch", "--store", tiny.url)
    assert (ran.code, ran.err) == (0, "")
    (line,) = ran.out.splitlines()
    assert line.startswith("tiny: finished; 36 of 36; 12 done; ")
    refused = wm("campaign", "status", "tiny", "--watch", "--json", "--store", tiny.url)
    assert (refused.code, refused.out) == (2, "")
    assert "--watch and --json" in refused.err
