"""Many machines, and whatever breaks: each time exactly the outcomes of an undisturbed run on one machine.

Real servers and real processes; the lettered faults are those of docs/scaling.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.store import campaigns, launched, services
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState, JobState, attempt, forgery_answer, job, outcome
from tests import servers

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]
FILE = """\
name = "faults"
seed = 1

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 12
max_depth = 4

[embedding]
trigger_share = 0.02

[[attack]]
kind = "detection"

[[attack]]
kind = "suppression"

[[attack]]
kind = "forgery"
engine = ["sat", "z3"]
signatures = 1
eps = [0.3, 0.7]
instances = 100
timeout_s = 20
"""
JOBS = 13
QUERIES = 400


class Fleet:
    """A broker, a store, and the `wm` processes around them."""

    def __init__(self, directory: Path, store_url: str, broker_url: str) -> None:
        self.directory = directory
        self.mark = f"TREEPROOF_TEST_{os.urandom(8).hex()}"
        self.environment = os.environ | {
            self.mark: "1",
            "PYTHONPATH": str(ROOT),
            "WM_STORE_URL": store_url,
            "WM_BROKER_URL": broker_url,
        }
        self.store = Store(store_url)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.said: dict[int, Path] = {}
        (directory / "c.toml").write_text(FILE)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command; what it says goes to a file."""
        log = self.directory / f"log-{len(self.processes)}"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.cli", *arguments],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.processes.append(process)
        self.said[process.pid] = log
        return process

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """Return what a command has said."""
        return self.said[process.pid].read_text(errors="replace")

    def wm(self, *arguments: str) -> str:
        """Run a command that must succeed; return what it says."""
        process = self.start(*arguments)
        assert process.wait(timeout=120) == 0, self.log(process)
        return self.log(process)

    def worker(self, concurrency: int = 2) -> subprocess.Popen[bytes]:
        """Start a worker."""
        return self.start("worker", "--concurrency", str(concurrency))

    def launch(self) -> None:
        """Launch the campaign."""
        self.wm("campaign", "launch", "c.toml")

    def until(self, moment: Callable[[], Any], *, within_s: float = 60.0) -> Any:
        """Wait for a moment and return what it gave."""
        deadline = time.monotonic() + within_s
        while not (found := moment()):
            assert time.monotonic() < deadline, "\n".join(self.log(process) for process in self.processes)
            time.sleep(0.02)
        return found

    def scalar(self, query: Any) -> Any:
        """Return the one value of a query."""
        with self.store.read() as connection:
            return connection.execute(query).scalar_one()

    def answers(self) -> int:
        """Return how many queries have an answer."""
        return int(self.scalar(sa.select(sa.func.count()).select_from(forgery_answer)))

    def state(self) -> CampaignState:
        """Return the campaign's state."""
        return campaigns.find_campaign(self.store, "faults").state

    def finish(self, *, within_s: float = 120.0) -> None:
        """Wait until the campaign is over."""
        over = (CampaignState.FINISHED, CampaignState.INCOMPLETE)
        self.until(lambda: self.state() in over, within_s=within_s)

    def living(self) -> list[int]:
        """Return all living processes that were started here, directly or not."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # ended meanwhile, or another user's
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
        return found

    def below(self, pid: int, module: str) -> list[int]:
        """Return the children of the template process of a service somewhere below a process."""
        parents, words = {}, {}
        for living in self.living():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{living}/stat").read_text().rpartition(")")[2].split()
                parents[living] = int(fields[1])
                words[living] = Path(f"/proc/{living}/cmdline").read_bytes().decode().split("\0")

        def is_below(child: int) -> bool:
            while child in parents:
                child = parents[child]
                if child == pid:
                    return True
            return False

        # A forked child has its template's command line.
        return [
            child
            for child in parents
            if module in words.get(child, []) and module in words.get(parents[child], []) and is_below(child)
        ]

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        """End a command in good order; return its exit code."""
        process.terminate()
        return process.wait(timeout=30)

    def close(self) -> None:
        """End everything."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(timeout=30)
        self.until(lambda: not self.living(), within_s=30)
        self.store.close()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Fingerprint of the campaign, run by one local worker with nothing in its way."""
    directory = tmp_path_factory.mktemp("faults")
    url = f"sqlite:///{directory / 'wm.db'}"
    fleet = Fleet(directory, url, "redis://127.0.0.1:1/0")
    fleet.wm("campaign", "run", "c.toml", "--workers", "1")
    found = results.fingerprint(fleet.store, 1)
    fleet.close()
    return found


@pytest.fixture
def broker() -> Iterator[servers.Valkey]:
    """A broker of one's own, to be broken."""
    server = servers.Valkey()
    yield server
    server.close()


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, broker: servers.Valkey) -> Iterator[Fleet]:
    """Servers with an empty PostgreSQL store."""
    made = Fleet(tmp_path, postgres_url, broker.url)
    yield made
    made.close()


@pytest.fixture
def one_host(tmp_path: Path, broker: servers.Valkey) -> Iterator[Fleet]:
    """Servers with an empty SQLite store."""
    made = Fleet(tmp_path, f"sqlite:///{tmp_path / 'wm.db'}", broker.url)
    yield made
    made.close()


def assert_as(fleet: Fleet, undisturbed: str) -> None:
    """The same rows, no duplicates, none missing."""
    assert fleet.state() is CampaignState.FINISHED
    states = campaigns.progress(fleet.store, 1).jobs
    assert {state: count for state, count in states.items() if count} == {JobState.DONE: JOBS}
    assert fleet.scalar(sa.select(sa.func.count()).select_from(outcome)) == JOBS
    assert fleet.answers() == QUERIES
    assert results.fingerprint(fleet.store, 1) == undisturbed


def attempts(fleet: Fleet) -> list[str]:
    """Return the reasons of all failed attempts."""
    with fleet.store.read() as connection:
        return list(connection.execute(sa.select(attempt.c.reason)).scalars())


def begun(fleet: Fleet, number: int = 1) -> Callable[[], bool]:
    """Return the moment when so many queries are answered."""
    return lambda: fleet.answers() >= number


def test_two_slots_on_sqlite_find_the_same_and_stop_in_good_order(one_host, undisturbed):
    one_host.wm("db", "upgrade")
    worker = one_host.worker()
    said = one_host.wm("campaign", "run", "c.toml", "--executor", "celery")
    assert "faults: finished" in said
    assert_as(one_host, undisturbed)
    assert services.workers(one_host.store)[0].slots == 2
    assert one_host.stop(worker) == 0
    assert services.workers(one_host.store) == []


def test_a_and_c_killed_workers_and_orchestrators_lose_nothing(fleet, undisturbed):
    fleet.launch()
    orchestrator, worker = fleet.start("orchestrate"), fleet.worker()
    for number in (1, 60, 150):
        fleet.until(begun(fleet, number))
        worker.kill()
        orchestrator.kill()
        worker.wait()
        fleet.until(lambda: not fleet.living(), within_s=10)  # no orphan solver process
        orchestrator, worker = fleet.start("orchestrate"), fleet.worker()
    fleet.finish()
    assert_as(fleet, undisturbed)
    assert attempts(fleet) == [], "known to be dead: no fault of the job"


def test_a_a_worker_that_falls_silent_loses_its_jobs_and_healthy_ones_do_not(fleet, undisturbed):
    """Fault l too: the other worker is busy on every core meanwhile, and none of its leases lapses."""
    fleet.launch()
    fleet.start("orchestrate")
    silent = fleet.worker()
    fleet.until(begun(fleet))
    for process in fleet.living():
        if process in (silent.pid, *fleet.below(silent.pid, "workers.service")):
            os.kill(process, signal.SIGSTOP)
    stopped_at = time.monotonic()
    held = fleet.scalar(sa.select(sa.func.count()).select_from(job).where(job.c.state == JobState.RUNNING))
    fleet.worker()
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        fleet.finish(within_s=150)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert time.monotonic() - stopped_at > 20, "the lease held for its time"
    assert_as(fleet, undisturbed)
    assert attempts(fleet) == ["the worker was not heard of any more"] * held


def test_b_a_killed_job_process_costs_an_attempt(one_host, undisturbed):
    one_host.launch()
    one_host.start("orchestrate")
    worker = one_host.worker()
    one_host.until(begun(one_host))
    os.kill(one_host.until(lambda: one_host.below(worker.pid, "workers.service"))[0], signal.SIGKILL)
    one_host.finish()
    assert_as(one_host, undisturbed)
    assert len(attempts(one_host)) <= 1, "none if the process was idle"


def test_b_a_killed_solver_costs_one_query(one_host):
    one_host.launch()
    one_host.start("orchestrate")
    worker = one_host.worker()
    one_host.until(begun(one_host))
    os.kill(one_host.until(lambda: one_host.below(worker.pid, "wm.engines.isolated"))[0], signal.SIGKILL)
    one_host.finish()
    assert (one_host.state(), one_host.answers()) == (CampaignState.FINISHED, QUERIES)
    assert attempts(one_host) == []
    statuses = sa.select(forgery_answer.c.status, sa.func.count()).group_by(forgery_answer.c.status)
    with one_host.store.read() as connection:
        counts = {row[0]: row[1] for row in connection.execute(statuses)}
    assert counts.pop("error", 0) <= 1, "none if the solver was idle"
    assert set(counts) <= {"forged", "impossible"}


def test_d_and_e_a_broker_stopped_wiped_and_lost_for_good(fleet, broker, undisturbed):
    fleet.launch()
    orchestrator, worker = fleet.start("orchestrate"), fleet.worker()
    fleet.until(begun(fleet))
    broker.client().flushall()
    fleet.until(begun(fleet, 60))
    broker.kill()
    time.sleep(5)
    broker.start()  # it kept nothing: a new, empty one
    fleet.finish()
    assert_as(fleet, undisturbed)
    for process in (orchestrator, worker):
        said = fleet.log(process)
        assert "Traceback" not in said
        assert len(re.findall("the broker .* does not answer, trying again", said)) <= 1, said
    assert fleet.stop(worker) == 0


def test_f_a_database_restarted_and_connections_cut(tmp_path, broker, undisturbed):
    database = servers.Postgres()
    fleet = Fleet(tmp_path, database.url(), broker.url)
    try:
        fleet.launch()
        orchestrator, worker = fleet.start("orchestrate"), fleet.worker()
        fleet.until(begun(fleet))
        with database.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        fleet.store.close()
        fleet.until(begun(fleet, 60))
        fleet.store.close()
        database.stop()
        time.sleep(3)
        database.start()
        fleet.finish()
        assert_as(fleet, undisturbed)
        assert attempts(fleet) == []
        for process in (orchestrator, worker):
            assert process.poll() is None
            said = fleet.log(process)
            assert "Traceback" not in said
            assert said.count("the store does not answer") == said.count("the store is back") <= 2, said
    finally:
        fleet.close()
        database.close()


POISON = """
import os, signal, sys

if "workers.service" in sys.orig_argv:
    import workers.handlers.suppression

    workers.handlers.suppression.run = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""
"""Python runs this in every process that finds it; jobs of one kind then always kill theirs."""


def test_g_a_job_that_always_kills_its_process_ends_as_error_and_the_rest_goes_on(one_host):
    (one_host.directory / "sitecustomize.py").write_text(POISON)
    one_host.launch()
    one_host.start("orchestrate")
    one_host.environment |= {"PYTHONPATH": os.pathsep.join([str(one_host.directory), str(ROOT)])}
    one_host.worker(1)
    one_host.finish()
    assert one_host.state() is CampaignState.INCOMPLETE
    states = campaigns.progress(one_host.store, 1).jobs
    assert (states[JobState.DONE], states[JobState.FAILED]) == (JOBS - 1, 1)
    poison = sa.select(outcome.c.error).join(job).where(job.c.kind == "suppression")
    error = one_host.scalar(poison)
    assert error.startswith("failed 3 times\nattempt 1: the job's process died")
    assert error.count("attempt") == 3


def test_h_a_query_that_never_returns_is_a_timeout_and_the_others_are_answered(one_host):
    file = one_host.directory / "c.toml"
    file.write_text(FILE.replace("timeout_s = 20", "timeout_s = 3").replace('["sat", "z3"]', '["z3"]'))
    one_host.launch()
    one_host.start("orchestrate")
    worker = one_host.worker(1)
    one_host.until(begun(one_host))
    victim = one_host.until(lambda: one_host.below(worker.pid, "wm.engines.isolated"))[0]
    os.kill(victim, signal.SIGSTOP)
    one_host.finish()
    assert one_host.state() is CampaignState.FINISHED
    query = sa.select(forgery_answer.c.seconds).where(forgery_answer.c.status == "timeout")
    with one_host.store.read() as connection:
        (seconds,) = connection.execute(query).scalars()
    assert seconds >= 3
    assert one_host.answers() == QUERIES // 2


def test_i_a_second_orchestrator_stands_by_and_takes_over(fleet, undisturbed):
    fleet.launch()
    first = fleet.start("orchestrate")
    fleet.until(lambda: "handing out jobs" in fleet.log(first))
    second = fleet.start("orchestrate")
    fleet.until(lambda: "standing by" in fleet.log(second))
    fleet.worker()
    fleet.until(begun(fleet))
    assert fleet.stop(first) == 0
    fleet.finish()
    assert "handing out jobs" in fleet.log(second)
    assert_as(fleet, undisturbed)


def test_j_a_store_that_refuses_writes_stops_the_worker_with_one_line_and_no_half_outcome(fleet, undisturbed):
    fleet.launch()
    fleet.start("orchestrate")
    worker = fleet.worker()
    fleet.until(begun(fleet))

    def set_full(full: bool) -> None:
        with fleet.store.write() as connection:
            if full:
                connection.exec_driver_sql(
                    "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$"
                    " BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$"
                )
                for table in ("outcome", "forgery_answer"):
                    connection.exec_driver_sql(
                        f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION full_disk()"
                    )
            else:
                connection.exec_driver_sql("DROP FUNCTION full_disk CASCADE")

    set_full(True)
    assert worker.wait(timeout=60) == 4
    last = fleet.log(worker).splitlines()[-1]
    assert last.startswith("wm: store postgresql+psycopg://")
    assert "no space left on device" in last
    assert "Traceback" not in fleet.log(worker)
    set_full(False)
    fleet.worker()
    fleet.finish()
    assert_as(fleet, undisturbed)


FORGED = {
    "no JSON": b"garbage",
    "JSON, no message": b'{"body": 1}',
    "a list": b"[]",
}


def test_k_malformed_and_forged_messages_are_refused_once_and_the_worker_lives(one_host, broker, undisturbed):
    from workers.app import QUEUE, TASK, make_app
    from workers.version import protocol_version

    one_host.launch()
    worker = one_host.worker(1)
    one_host.until(lambda: "ready" in one_host.log(worker))
    client = broker.client()
    for raw in FORGED.values():
        client.lpush(QUEUE, raw)
    app = make_app(broker.url)
    good = {"job_ids": [1], "version": protocol_version()}
    with app.connection_for_write() as connection:
        producer = app.amqp.Producer(connection, auto_declare=False)

        def send(name: str, keywords: object, **options: object) -> None:
            options = {"kwargs": keywords, "serializer": "json", **options}
            app.send_task(name, producer=producer, exchange="", routing_key=QUEUE, **options)

        send(TASK, {"job_ids": ["1; DROP TABLE job"], "version": protocol_version()})
        send(TASK, {"job_ids": list(range(1, 2000)), "version": protocol_version()})
        send(TASK, good | {"surprise": 1})
        send(TASK, good | {"version": "0.0.0"})
        send(TASK, good | {"version": "0.0.0"})
        send(TASK, good, args=[1])
        send("os.system", {"command": "true"})
        producer.publish(
            b"\x80\x04.", content_type="application/x-python-serialize", routing_key=QUEUE, exchange=""
        )
    one_host.start("orchestrate")
    one_host.finish()
    assert worker.poll() is None
    said = one_host.log(worker)
    assert "Traceback" not in said
    refused = [line for line in said.splitlines() if "refused" in line]
    assert len(refused) == len(FORGED) + 7, said
    assert sum("version 0.0.0" in line for line in refused) == 1
    assert_as(one_host, undisturbed)


def test_cancel_stops_new_work_and_resume_takes_it_up_again(fleet, undisturbed):
    fleet.launch()
    fleet.start("orchestrate")
    fleet.worker(1)
    fleet.until(begun(fleet))
    assert launched.cancel(fleet.store, 1) > 0
    assert "faults: 0 jobs cancelled" in fleet.wm("campaign", "cancel", "faults")
    fleet.until(lambda: campaigns.progress(fleet.store, 1).is_over, within_s=40)
    states = campaigns.progress(fleet.store, 1).jobs
    assert states[JobState.CANCELLED] > 0
    assert states[JobState.READY] == states[JobState.RUNNING] == 0
    assert fleet.state() is CampaignState.CANCELLED
    assert launched.unfinished(fleet.store) == []
    fleet.launch()
    fleet.finish()
    assert_as(fleet, undisturbed)


def test_a_worker_of_another_version_is_refused_with_a_clear_message(one_host):
    one_host.wm("db", "upgrade")
    services.beat_orchestrator(one_host.store, "elsewhere:1:1", "0.0.1+abcdef01")
    worker = one_host.worker(1)
    assert worker.wait(timeout=60) == 2
    (line,) = one_host.log(worker).splitlines()
    assert line.startswith("wm: an orchestrator of version 0.0.1+abcdef01 is at work, this worker is ")
    assert "install the same version on both" in line
