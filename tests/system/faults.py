"""One function for each fault of docs/scaling.md: it strikes a running campaign, and returns what was seen.

Each launches the campaign, provokes its fault, fixes it as a person would, and waits for the end. The
caller compares the rows with those of an undisturbed run. Faults m to p and r, of peers that are neither up
nor down, are in line_faults.py.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.errors import StoreUnavailableError
from orchestrator.store.tables import CampaignState, JobState, forgery_answer, job, outcome
from tests import servers
from tests.system.fleet import Fleet, RowKey, Started, busy_processors
from workers.celery.app import QUEUE, TASK, make_app
from workers.runtime.version import protocol_version

SLOTS = 2


@dataclass(frozen=True)
class Seen:
    """The effects of a fault apart from the rows.

    Attributes
    ----------
    recovery_s
        Seconds from the fault, or from the return of what was away, until work went on; one for each time.
    orphans
        Processes that outlived their killed worker by seconds.
    affected
        Rows that rightly differ from those of an undisturbed run.
    attempts
        Reasons of failed attempts.
    """

    recovery_s: tuple[float, ...] = ()
    orphans: int = 0
    affected: frozenset[RowKey] = frozenset()
    attempts: tuple[str, ...] = ()


def seen_in(
    fleet: Fleet, recovery_s: list[float], *, orphans: int = 0, affected: frozenset[RowKey] = frozenset()
) -> Seen:
    return Seen(tuple(recovery_s), orphans, affected, tuple(fleet.attempts()))


def shares(times: int) -> list[float]:
    """Return shares of the queries after which a fault strikes, from the first query to most of them."""
    return [0.8 * number / times for number in range(times)]


# Fault a: workers


def worker_killed_again_and_again(fleet: Fleet, *, times: int = 3, with_orchestrator: bool = False) -> Seen:
    """Kill -9 of the worker in the middle of a batch, perhaps the orchestrator too; new ones each time."""
    fleet.launch()
    orchestrator = fleet.start("orchestrate")
    worker = fleet.worker(SLOTS)
    recovery_s, orphans = [], 0
    for share in shares(times):
        fleet.until(fleet.begun(share))
        fleet.until(fleet.running)
        orphans += fleet.kill(worker)
        if with_orchestrator:
            fleet.kill(orchestrator)
            orchestrator = fleet.start("orchestrate")
        again = fleet.taken_again()
        worker = fleet.worker(SLOTS)
        recovery_s.append(fleet.seconds_until(again))
    fleet.finish()
    return seen_in(fleet, recovery_s, orphans=orphans)


ELSEWHERE = """
import socket

socket.gethostname = lambda: {name!r}
"""
"""Makes a process believe that it is on another machine, so that no one looks whether it lives."""


def worker_killed_elsewhere(fleet: Fleet) -> Seen:
    """Kill -9 of a worker on another machine: its leases expire, others take its jobs."""
    fleet.launch()
    victim = fleet.worker(SLOTS, custom=ELSEWHERE.format(name="elsewhere"))
    fleet.worker(SLOTS)
    fleet.until(lambda: fleet.workers_alive() == 2)
    fleet.start("orchestrate")
    fleet.until(fleet.begun())
    held = fleet.until(lambda: [at for at, owner in fleet.running().items() if owner.startswith("elsewhere")])
    orphans = fleet.kill(victim)
    killed_at = time.monotonic()
    held = [at for at, owner in fleet.running().items() if owner.startswith("elsewhere")]
    before = fleet.lease_counts()

    def are_taken() -> bool:
        now = fleet.lease_counts()
        return all(now[at] > before[at] for at in held)

    fleet.until(are_taken)
    recovery_s = [time.monotonic() - killed_at] if held else []
    fleet.finish()
    return seen_in(fleet, recovery_s, orphans=orphans)


# Fault b: a job's process, a solver


def job_process_killed(fleet: Fleet, *, times: int = 1) -> Seen:
    """Kill -9 of the process that runs a job: one attempt."""
    return _kill_below(fleet, "workers.runtime.service", times)


def solver_killed(fleet: Fleet, *, times: int = 1) -> Seen:
    """Kill -9 of the solver: its query is put to another."""
    return _kill_below(fleet, "wm.engines.isolated", times)


def _kill_below(fleet: Fleet, module: str, times: int) -> Seen:
    fleet.launch()
    fleet.start("orchestrate")
    worker = fleet.worker(SLOTS)
    recovery_s = []
    for share in shares(times):
        fleet.until(fleet.begun(share))
        os.kill(fleet.until(lambda: fleet.below(worker.pid, module))[0], signal.SIGKILL)
        before = fleet.answers()
        recovery_s.append(fleet.seconds_until(fleet.more_answers(before)))
    fleet.finish()
    return seen_in(fleet, recovery_s)


# Faults c and i: orchestrators


def orchestrator_killed_again_and_again(fleet: Fleet, *, times: int = 2) -> Seen:
    """Kill -9 of the orchestrator, and a new one each time."""
    fleet.launch()
    orchestrator = fleet.start("orchestrate")
    fleet.worker(SLOTS)
    recovery_s = []
    for share in shares(times):
        fleet.until(fleet.begun(share))
        fleet.kill(orchestrator)
        orchestrator = fleet.start("orchestrate")
        recovery_s.append(fleet.seconds_until(_leads(fleet, orchestrator)))
    fleet.finish()
    return seen_in(fleet, recovery_s)


def _leads(fleet: Fleet, orchestrator: Started) -> Callable[[], bool]:
    return lambda: "sending jobs" in fleet.log(orchestrator)


def second_orchestrator(fleet: Fleet) -> Seen:
    """A second orchestrator stands by, and takes over when the first one ends."""
    fleet.launch()
    first = fleet.start("orchestrate")
    fleet.until(_leads(fleet, first))
    second = fleet.start("orchestrate")
    fleet.until(lambda: "standing by" in fleet.log(second))
    fleet.worker(SLOTS)
    fleet.until(fleet.begun())
    assert fleet.stop(first) == 0
    recovery_s = [fleet.seconds_until(_leads(fleet, second))]
    fleet.finish()
    return seen_in(fleet, recovery_s)


# Faults d and e: the broker


def broker_stopped(
    fleet: Fleet, broker: servers.Valkey, *, away_s: float = 5.0, wiped_before: bool = False
) -> Seen:
    """The broker is away for a while, and comes back with nothing in it: lost for good, a new empty one."""
    processes = launch_all(fleet)
    if wiped_before:
        broker.client().flushall()
        fleet.until(fleet.taken_again())
    broker.kill()
    time.sleep(away_s)
    broker.start()
    recovery_s = [fleet.seconds_until(fleet.taken_again())]
    fleet.finish()
    for process in processes:
        logged = fleet.log(process)
        assert "Traceback" not in logged
        assert len(re.findall("the broker .* does not answer, trying again", logged)) <= 1, logged
    return seen_in(fleet, recovery_s)


def broker_wiped(fleet: Fleet, broker: servers.Valkey, *, times: int = 1) -> Seen:
    """All messages are lost, the broker lives."""
    launch_all(fleet)
    recovery_s = []
    for share in shares(times):
        fleet.until(fleet.begun(share))
        broker.client().flushall()
        recovery_s.append(fleet.seconds_until(fleet.taken_again()))
    fleet.finish()
    return seen_in(fleet, recovery_s)


# Fault q: all processes of a run are suspended together


def suspended_again_and_again(fleet: Fleet, *, times: int = 2) -> Seen:
    """Everything is suspended for longer than a query may take, as by ``docker pause``."""
    fleet.store.upgrade()
    run = fleet.start("campaign", "run", "c.toml", "--workers", str(SLOTS))
    for share in shares(times):
        fleet.until(fleet.begun(share))
        everyone = [run.pid, *fleet.below(run.pid)]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in everyone:
                os.kill(pid, number)
            time.sleep(fleet.size.timeout_s + 1 if number == signal.SIGSTOP else 0)
    assert fleet.end_of(run) == 0
    return seen_in(fleet, [])


# Fault f: the database


def database_restarted(fleet: Fleet, database: servers.Postgres, *, away_s: float = 3.0) -> Seen:
    """All connections to PostgreSQL are cut at once; then it is away for a while."""
    processes = launch_all(fleet)
    recovery_s = []

    def cut() -> None:
        with database.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    def restart() -> None:
        database.stop()
        time.sleep(away_s)
        database.start()

    for strike in (cut, restart):
        before = fleet.answers()
        fleet.store.close()
        strike()
        fleet.store.close()
        recovery_s.append(fleet.seconds_until(fleet.more_answers(before)))
    fleet.finish()
    for process in processes:
        assert process.poll() is None
        logged = fleet.log(process)
        assert "Traceback" not in logged
        assert logged.count("the store does not answer") == logged.count("the store is back") <= 2, logged
    return seen_in(fleet, recovery_s)


# Faults g and h: jobs and queries

POISON = """
import os, signal, sys

if "workers.runtime.service" in sys.orig_argv:
    import workers.handlers.attack

    run = workers.handlers.attack.run
    def killed(parameters, context):
        if context.kind == "suppression":
            os.kill(os.getpid(), signal.SIGKILL)
        return run(parameters, context)

    workers.handlers.attack.run = killed
"""


def poison_job(fleet: Fleet) -> Seen:
    """A job that always kills its process ends as an error after three attempts, and the rest goes on."""
    fleet.launch()
    fleet.start("orchestrate")
    fleet.worker(1, custom=POISON)
    fleet.finish()
    assert fleet.state() is CampaignState.INCOMPLETE
    poison = (
        sa.select(job.c.key, outcome.c.status, outcome.c.error)
        .join(outcome)
        .where(job.c.kind == "suppression")
    )
    with fleet.store.read() as connection:
        key, status, error = connection.execute(poison).one()
    assert status == "error"
    lines = error.splitlines()
    assert lines[0] == "failed 3 times"
    died = "the job's process died: the child process ended without an answer (killed by SIGKILL)"
    assert lines[1:] == [f"attempt {number}: {died}" for number in (1, 2, 3)]
    assert fleet.jobs() == {JobState.DONE: fleet.size.jobs - 1, JobState.FAILED: 1}
    return seen_in(fleet, [], affected=frozenset({(key, None)}))


def query_that_never_returns(fleet: Fleet) -> Seen:
    """A solver that stands still is killed on time: one `timeout`, and the others are answered."""
    fleet.launch()
    fleet.start("orchestrate")
    worker = fleet.worker(1)
    fleet.until(fleet.begun())
    victim = fleet.until(lambda: fleet.below(worker.pid, "wm.engines.isolated"))[0]
    os.kill(victim, signal.SIGSTOP)
    fleet.finish()
    assert fleet.state() is CampaignState.FINISHED
    late = (
        sa.select(job.c.key, forgery_answer.c.instance, forgery_answer.c.seconds)
        .join(forgery_answer)
        .where(forgery_answer.c.status == "timeout")
    )
    with fleet.store.read() as connection:
        ((key, instance, seconds),) = connection.execute(late)
    assert fleet.size.timeout_s <= seconds <= fleet.size.timeout_s + 1
    return seen_in(fleet, [seconds], affected=frozenset({(key, instance)}))


# Fault j: a full disk, a read-only store


def full_disk(fleet: Fleet) -> Seen:
    """SQLite: no file of the worker's can grow; it ends with one line, and a new one goes on later."""
    fleet.launch()
    fleet.start("orchestrate")
    worker = fleet.worker(SLOTS, measured=False)
    fleet.until(fleet.begun())
    # Python ignores the signal, so that a write beyond the limit fails as on a full disk.
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    return _refused(fleet, worker, "wm: store sqlite:///", ("disk I/O error", "disk is full"))


def store_out_of_space(fleet: Fleet) -> Seen:
    """PostgreSQL: the tables with results take no more rows, with the error of a full disk."""
    fleet.launch()
    fleet.start("orchestrate")
    worker = fleet.worker(SLOTS)
    fleet.until(fleet.begun())
    _change_tables(
        fleet,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$",
        *(
            f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION full_disk()"
            for table in ("forgery_answer", "outcome")
        ),
    )

    def fix() -> None:
        _change_tables(fleet, "DROP FUNCTION full_disk CASCADE")

    return _refused(fleet, worker, "wm: store postgresql+psycopg://", ("no space left on device",), fix)


def _change_tables(fleet: Fleet, *statements: str) -> None:
    """Run statements in one transaction; again where it and those of workers waited for each other."""
    for attempt in range(5):
        try:
            with fleet.store.write() as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)
        except StoreUnavailableError as busy:
            if "deadlock" not in str(busy) or attempt == 4:
                raise
        else:
            return


def read_only_store(fleet: Fleet, database: servers.Postgres) -> Seen:
    """PostgreSQL: the database refuses every write, to the orchestrator too."""
    name = sa.make_url(fleet.environment["WM_STORE_URL"]).database
    fleet.launch()
    orchestrator, worker = fleet.start("orchestrate"), fleet.worker(SLOTS)
    fleet.until(fleet.begun())

    def set_read_only(state: str) -> None:
        with database.connect() as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {state}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )

    set_read_only("on")
    fleet.store.close()
    assert fleet.end_of(orchestrator) == 4
    assert "read-only transaction" in fleet.log(orchestrator).splitlines()[-1]

    def fix() -> None:
        set_read_only("off")
        fleet.store.close()
        fleet.start("orchestrate")

    return _refused(fleet, worker, "wm: store postgresql+psycopg://", ("read-only transaction",), fix)


def _refused(
    fleet: Fleet,
    worker: Started,
    begins: str,
    reasons: tuple[str, ...],
    fix: Callable[[], None] = lambda: None,
) -> Seen:
    assert fleet.end_of(worker) == 4
    logged = fleet.log(worker)
    assert "Traceback" not in logged
    last = logged.splitlines()[-1]
    assert last.startswith(begins), logged
    assert any(reason in last for reason in reasons), logged
    assert_nothing_half_written(fleet)
    fix()
    again = fleet.taken_again()
    fleet.worker(SLOTS)
    recovery_s = [fleet.seconds_until(again)]
    fleet.finish()
    return seen_in(fleet, recovery_s)


def assert_nothing_half_written(fleet: Fleet) -> None:
    """Raise unless outcomes and states of jobs come together."""
    ended = (JobState.DONE, JobState.FAILED)
    query = sa.select(job.c.state, outcome.c.job_id).outerjoin(outcome)
    with fleet.store.read() as connection:
        for state, recorded in connection.execute(query):
            assert (JobState(state) in ended) == (recorded is not None)


# Fault k, messages, is a list of what must be refused

FORGED = (b"garbage", b'{"body": 1}', b"[]", b"\xff\xfe")
"""No JSON, no message, a list, no text."""


def forged_messages(fleet: Fleet, broker: servers.Valkey) -> Seen:
    """Garbage and forgeries in the queue are refused, each with one line, and the worker lives."""
    fleet.launch()
    worker = fleet.worker(1)
    fleet.until(lambda: "ready" in fleet.log(worker))
    client = broker.client()
    for raw in FORGED:
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
    fleet.start("orchestrate")
    fleet.finish()
    assert worker.poll() is None
    logged = fleet.log(worker)
    assert "Traceback" not in logged
    refused = [line for line in logged.splitlines() if "refused" in line]
    assert len(refused) == len(FORGED) + 7, logged
    assert sum("version 0.0.0" in line for line in refused) == 1
    return seen_in(fleet, [])


# Fault l, load, is no fault at all


def heartbeats_under_load(
    fleet: Fleet, *, workers: int = 2, burners: int = 2, at_least_s: float = 0.0
) -> Seen:
    """All processors are busy with other things: no healthy lease lapses, no worker is taken for dead.

    A campaign that is over before `at_least_s` of load shows nothing, and is a failure.
    """
    fleet.launch()
    fleet.start("orchestrate")
    started = [fleet.worker(1) for _ in range(workers)]
    fleet.until(lambda: fleet.workers_alive() == workers)
    began = time.monotonic()
    with busy_processors(burners):
        fleet.finish(within_s=1800)
        lasted = time.monotonic() - began
        assert fleet.workers_alive() == workers
    assert lasted >= at_least_s, f"the campaign was over after {lasted:.0f} s of load"
    assert [worker.poll() for worker in started] == [None] * workers
    assert fleet.attempts() == []
    assert "taken back" not in fleet.logs()
    return seen_in(fleet, [])


def launch_all(fleet: Fleet) -> tuple[Started, ...]:
    fleet.launch()
    processes = fleet.start("orchestrate"), fleet.worker(SLOTS)
    fleet.until(fleet.begun())
    return processes
