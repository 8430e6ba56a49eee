"""Faults m to p and r of docs/scaling.md: store and broker are neither up nor down. See faults.py."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.database import Store
from tests import servers
from tests.proxy import BadLine
from tests.system.faults import SLOTS, Seen, launch_all, seen_in
from tests.system.fleet import PATIENCE_S, Fleet, Size, Started, fleet_of

IMPATIENT = """
import orchestrator.store.silence, workers.runtime.stopping

orchestrator.store.silence.SILENCE_S = 3.0
workers.runtime.stopping.STOP_LIMIT_S = 8.0
"""
_AWAY = re.compile("(store|broker) .*(does not answer|is back)")


@dataclass(frozen=True)
class Remote:
    """A fleet whose processes reach the store and the broker over lines of their own."""

    fleet: Fleet
    store_line: BadLine
    broker_line: BadLine

    @property
    def lines(self) -> tuple[BadLine, BadLine]:
        """Both."""
        return self.store_line, self.broker_line

    def launch(self, custom: str = "") -> tuple[Started, Started]:
        """Launch the campaign and start an orchestrator and a worker; wait until queries are answered."""
        fleet = self.fleet
        fleet.launch()
        processes = fleet.start("orchestrate", custom=custom), fleet.worker(SLOTS, custom=custom)
        fleet.until(fleet.begun())
        return processes


@contextmanager
def remote_fleet(
    directory: Path, broker: servers.Valkey, size: Size, *, delay_s: float = 0.0
) -> Iterator[Remote]:
    """Make a fleet with an empty PostgreSQL store of its own, over lines with a delay in each direction."""
    with closing(servers.Postgres(port=servers.free_port())) as server:
        with server.connect() as connection:
            connection.execute("ALTER ROLE postgres PASSWORD 'x'")
        lines = [BadLine(port, delay_s=delay_s) for port in (server.port, broker.port)]
        url = f"postgresql+psycopg://postgres:x@127.0.0.1:{lines[0].port}/postgres?connect_timeout=10"
        fleet = Fleet(directory, url, lines[1].url, size)
        fleet.store.close()
        fleet.store = Store(f"{server.url()}&port={server.port}")
        try:
            yield Remote(fleet, *lines)
        finally:
            fleet.close()
            for line in lines:
                line.close()


@contextmanager
def remote_broker(directory: Path, broker: servers.Valkey, size: Size) -> Iterator[tuple[Fleet, BadLine]]:
    """Make a fleet with an empty SQLite store, over a line to the broker."""
    with closing(BadLine(broker.port)) as line, fleet_of(directory, "sqlite", line, size) as fleet:
        yield fleet, line


# Fault m: a broker that refuses writes


def broker_full(fleet: Fleet, broker: servers.Valkey) -> Seen:
    """The broker's memory is full for a while."""
    client = broker.client()
    return _refused(
        fleet,
        lambda: client.config_set("maxmemory", "1mb"),
        lambda: client.config_set("maxmemory", "0"),
    )


def broker_became_replica(fleet: Fleet, broker: servers.Valkey) -> Seen:
    """The broker is a replica of another one for a while, and empty after."""
    client = broker.client()
    with closing(servers.Valkey()) as primary:
        return _refused(
            fleet,
            lambda: client.execute_command("REPLICAOF", "127.0.0.1", primary.port),
            lambda: client.execute_command("REPLICAOF", "NO", "ONE"),
        )


def _refused(fleet: Fleet, refuse: Callable[[], object], accept: Callable[[], object]) -> Seen:
    processes = launch_all(fleet)
    refuse()
    late = fleet.worker()  # one that starts meanwhile waits like the others
    waiting = (*processes, late)
    time.sleep(4)
    assert all(process.poll() is None for process in waiting), fleet.logs()
    accept()
    recovery_s = [fleet.seconds_until(fleet.taken_again())]
    fleet.finish()
    assert_reported_once(fleet, waiting)
    return seen_in(fleet, recovery_s)


# Faults n and o: connections that fall silent


def broker_connections_forgotten(fleet: Fleet, line: BadLine) -> Seen:
    """Connections to the broker fall silent; new ones would work."""
    processes = launch_all(fleet)
    line.forget()
    fleet.finish()
    assert_reported_once(fleet, processes)
    return seen_in(fleet, [])


def store_connections_forgotten(remote: Remote) -> Seen:
    """Connections to the store fall silent; new ones would work."""
    fleet = remote.fleet
    processes = remote.launch(IMPATIENT)
    before = fleet.answers()
    remote.store_line.forget()
    recovery_s = [fleet.seconds_until(fleet.more_answers(before))]
    fleet.finish()
    assert_reported_once(fleet, processes)
    return seen_in(fleet, recovery_s)


# Fault p: servers that say nothing at all


def stopped_while_all_is_mute(remote: Remote) -> Seen:
    """Store and broker say nothing any more, and the services are told to stop; others go on later.

    The seconds are those until the services had ended.
    """
    fleet = remote.fleet
    processes = remote.launch(IMPATIENT)
    below = [each for process in processes for each in fleet.below(process.pid)]
    for line in remote.lines:
        line.mute()
    time.sleep(1)
    took_s = []
    for process in processes:
        started = time.monotonic()
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) in (0, 4), fleet.log(process)
        took_s.append(time.monotonic() - started)
        assert "Traceback" not in fleet.log(process)
    fleet.until(lambda: not set(below) & set(fleet.family.living()))
    for line in remote.lines:
        line.forget()
    fleet.start("orchestrate")
    fleet.worker(SLOTS)
    fleet.finish()
    return seen_in(fleet, took_s)


# Fault r: lines that delay everything, and break again and again

CUT_SHARE = 0.01
"""Probability that a connection is cut with anything that passes: some of every fifth job's transactions."""


def lines_delay_and_break(remote: Remote) -> Seen:
    """Everything takes its time, and connections to store and broker are cut at any moment."""
    processes = remote.launch()
    for line in remote.lines:
        line.cut_share = CUT_SHARE
    remote.fleet.finish()
    for line in remote.lines:
        line.cut_share = 0.0
    assert remote.store_line.cuts, "else nothing was tried"
    assert_reported_once(remote.fleet, processes)
    return seen_in(remote.fleet, [])


def assert_reported_once(fleet: Fleet, processes: Iterable[Started]) -> None:
    """Raise unless all live, and each said of store and broker in turns that they are away and back."""
    for process in processes:
        logged = fleet.log(process)
        assert process.poll() is None, logged
        assert "Traceback" not in logged
        for server in ("store", "broker"):
            said = [found[2] for found in _AWAY.finditer(logged) if found[1] == server]
            assert said[::2] == ["does not answer"] * len(said[::2]), logged
            assert said[1::2] == ["is back"] * len(said[1::2]), logged
