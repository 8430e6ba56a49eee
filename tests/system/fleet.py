"""A broker, a store, and real `wm` processes around them: for fault tests and benchmarks of faults."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from orchestrator.launch import launch, read_campaign
from orchestrator.store import campaigns, launched, services
from orchestrator.store.database import Store
from orchestrator.store.tables import (
    CampaignState,
    JobState,
    attempt,
    campaign_job,
    forgery_answer,
    job,
    outcome,
)
from tests import forked, servers
from tests.family import Family
from tests.small_campaign import BATCH, small_campaign

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240.0
"""Longest wait for what must come in the end; below the limit of each test in pyproject.toml."""

_ORPHANS_WITHIN_S = 30.0
"""All processes of a killed worker must have ended after this long, also on a busy machine."""

_LOOK_EVERY_S = 0.05
"""A look at the store or at all processes takes some milliseconds, of which the fleet has the less."""

NAME = "faults"
"""The campaign's."""

OTHER_JOBS = 5
"""Of the small campaign: split, baseline, embed, detection, suppression."""

Started = subprocess.Popen[bytes] | forked.Process


@dataclass(frozen=True)
class Size:
    """How large the campaign is that faults strike."""

    engines: tuple[str, ...] = ("sat", "z3")
    signatures: int = 1
    instances: int = 100
    timeout_s: float = 20

    @property
    def text(self) -> str:
        """The campaign file."""
        return small_campaign(
            name=NAME,
            engines=self.engines,
            signatures=self.signatures,
            instances=self.instances,
            timeout_s=self.timeout_s,
        )

    @property
    def queries(self) -> int:
        """Number of forgery queries."""
        return len(self.engines) * self.signatures * 2 * self.instances

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return OTHER_JOBS + len(self.engines) * self.signatures * 2 * -(-self.instances // BATCH)


RowKey = tuple[str, int | None]
"""A job's content key, and the instance of an answer; None for the job's outcome."""


@dataclass(frozen=True)
class Difference:
    """How the rows of a campaign differ from those of an undisturbed run."""

    missing: frozenset[RowKey]
    surplus: frozenset[RowKey]
    changed: frozenset[RowKey]
    duplicates: int

    @property
    def is_none(self) -> bool:
        """Whether they are the same rows, none twice."""
        return not (self.missing or self.surplus or self.changed or self.duplicates)


class Fleet:
    """The `wm` processes of one campaign, and its store.

    Attributes
    ----------
    program
        What a `wm` command begins with.
    is_forked
        Whether processes are taken from the nursery (`tests.forked`) where nothing special is asked of them.
    """

    is_forked = False

    def __init__(self, directory: Path, store_url: str, broker_url: str, size: Size) -> None:
        self.directory = directory
        self.size = size
        self.program: Sequence[str] = (sys.executable, "-m", "orchestrator.cli")
        self.family = Family()
        self.environment = os.environ | {
            **self.family.environment,
            "PYTHONPATH": str(ROOT),
            "PYTHONFAULTHANDLER": "1",  # see `hung`
            "WM_STORE_URL": store_url,
            "WM_BROKER_URL": broker_url,
        }
        self.store = Store(store_url)
        self.processes: list[Started] = []
        self.log_files: dict[int, Path] = {}
        (directory / "c.toml").write_text(size.text)

    # Processes

    def start(
        self,
        *arguments: str,
        custom: str = "",
        largest_file: int | None = None,
        measured: bool = True,
        within: Sequence[str] = (),
    ) -> Started:
        """Start a command; its output goes to a file.

        Parameters
        ----------
        custom
            Python code that the process runs first, as do all that it starts.
        largest_file
            Bytes beyond which no file can grow, as on a full disk.
        measured
            Whether its test coverage is, which takes a file that can grow.
        within
            Command that starts it, as one that makes another host of it.
        """
        log = self.directory / f"log-{len(self.processes)}"
        environment = {
            name: value
            for name, value in self.environment.items()
            if measured or not name.startswith("COVERAGE_PROCESS")
        }
        if custom:
            folder = self.directory / f"custom-{len(self.processes)}"
            folder.mkdir()
            (folder / "sitecustomize.py").write_text(custom)
            environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
        options: dict[str, Any] = {"cwd": self.directory, "env": environment, "stdin": subprocess.DEVNULL}
        with log.open("wb") as file:
            options |= {"stdout": file, "stderr": file}
            if self.is_forked and not custom and not within and largest_file is None:
                process: Started = forked.start("orchestrator.cli", *arguments, **options)
            else:
                process = subprocess.Popen([*within, *self.program, *arguments], **options)
        if largest_file is not None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest_file, largest_file))
        self.processes.append(process)
        self.log_files[process.pid] = log
        return process

    def log(self, process: Started) -> str:
        """Return the output of a command."""
        return self.log_files[process.pid].read_text(errors="replace")

    def logs(self) -> str:
        """Return the output of all commands."""
        return "\n".join(self.log(process) for process in self.processes)

    def wm(self, *arguments: str) -> str:
        """Run a command that must succeed; return its output."""
        process = self.start(*arguments)
        assert self.end_of(process) == 0
        return self.log(process)

    def worker(self, concurrency: int = 2, **options: Any) -> Started:
        """Start a worker."""
        return self.start("worker", "--concurrency", str(concurrency), **options)

    def launch(self) -> None:
        """Launch the campaign, as ``wm campaign launch`` does."""
        spec, data = read_campaign(self.directory / "c.toml")
        launched.hand_over(self.store, launch(self.store, spec, data))

    def stop(self, process: Started) -> int:
        """End a command in good order; return its exit code."""
        process.terminate()
        return self.end_of(process)

    def end_of(self, process: Started) -> int:
        """Wait until a command has ended; return its exit code, and show its output if that is not 0."""
        code = process.wait(timeout=PATIENCE_S)
        if code:
            print(self.log(process))
        return code

    def until(self, moment: Callable[[], Any], *, within_s: float = PATIENCE_S) -> Any:
        """Wait for a moment and return what it gave."""
        deadline = time.monotonic() + within_s
        while not (found := moment()):
            assert time.monotonic() < deadline, self.hung()
            time.sleep(_LOOK_EVERY_S)
        return found

    def hung(self) -> str:
        """Abort all commands; return the jobs' states, the running ones, and all output with all stacks."""
        state = f"jobs: {self.jobs()}, running: {self.running()}, leased: {self.lease_counts()}"
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGABRT)
                process.wait(30)
        return f"{state}\n{self.logs()}"

    def seconds_until(self, moment: Callable[[], Any]) -> float:
        """Wait for a moment and return how long that took."""
        started = time.monotonic()
        self.until(moment)
        return time.monotonic() - started

    def below(self, pid: int, module: str = "") -> list[int]:
        """Return the processes below one; with a module, the children of that service's templates alone."""
        parents, words = {}, {}
        family = self.family.living()
        for living in family:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{living}/stat").read_text().rpartition(")")[2].split()
                parent = int(fields[1])
                parents[living] = parent if parent in family else forked.starter_of(living) or parent
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
            if is_below(child)
            and (not module or (module in words.get(child, []) and module in words.get(parents[child], [])))
        ]

    def kill(self, process: Started) -> int:
        """Kill a command with SIGKILL; return how many processes of it still live some seconds later."""
        below = self.below(process.pid)
        process.kill()
        process.wait(30)
        deadline = time.monotonic() + _ORPHANS_WITHIN_S
        while (orphans := set(below) & set(self.family.living())) and time.monotonic() < deadline:
            time.sleep(0.02)
        return len(orphans)

    def close(self) -> None:
        """End everything."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(timeout=PATIENCE_S)
        self.until(lambda: not self.family.living())
        self.store.close()

    # The store

    def scalar(self, query: Any) -> Any:
        """Return the one value of a query."""
        with self.store.read() as connection:
            return connection.execute(query).scalar_one()

    def answers(self) -> int:
        """Return how many queries have an answer."""
        return int(self.scalar(sa.select(sa.func.count()).select_from(forgery_answer)))

    def begun(self, share: float = 0.0) -> Callable[[], bool]:
        """Return the moment when such a share of the queries, or at least one, is answered."""
        number = max(1, int(share * self.size.queries))
        return lambda: self.answers() >= number

    def more_answers(self, number: int) -> Callable[[], bool]:
        """Return the moment when more than so many queries are answered."""
        return lambda: self.answers() > number

    def leases(self) -> int:
        """Return how often jobs were taken so far."""
        return int(self.scalar(sa.select(sa.func.coalesce(sa.func.sum(job.c.leases), 0))))

    def taken_again(self) -> Callable[[], bool]:
        """Return the moment when one more job has been taken than now."""
        before = self.leases()
        return lambda: self.leases() > before

    def running(self) -> dict[int, str]:
        """Return the running jobs with their owners."""
        query = sa.select(job.c.id, job.c.lease_owner).where(job.c.state == JobState.RUNNING)
        with self.store.read() as connection:
            return {row.id: row.lease_owner for row in connection.execute(query)}

    def lease_counts(self) -> dict[int, int]:
        """Return how often each job was taken."""
        with self.store.read() as connection:
            return {row.id: row.leases for row in connection.execute(sa.select(job.c.id, job.c.leases))}

    def attempts(self) -> list[str]:
        """Return the reasons of all failed attempts."""
        with self.store.read() as connection:
            return list(connection.execute(sa.select(attempt.c.reason)).scalars())

    def workers_alive(self) -> int:
        """Return the number of live workers."""
        return sum(service.is_alive for service in services.workers(self.store))

    def state(self) -> CampaignState:
        """Return the campaign's state."""
        return campaigns.find_campaign(self.store, NAME).state

    def jobs(self) -> dict[JobState, int]:
        """Return the numbers of jobs in the states that occur."""
        counts = campaigns.progress(self.store, 1).jobs
        return {state: count for state, count in counts.items() if count}

    def finish(self, *, within_s: float = PATIENCE_S) -> None:
        """Wait until the campaign is over."""
        over = (CampaignState.FINISHED, CampaignState.INCOMPLETE)
        self.until(lambda: self.state() in over, within_s=within_s)

    def rows(self) -> Mapping[RowKey, tuple[Any, ...]]:
        """Return all that the campaign found: every outcome and every answer, times and owners left out.

        Of an answer also the reason is left out: it may mention earlier queries.
        """
        return dict(self._rows())

    def _rows(self) -> Iterator[tuple[RowKey, tuple[Any, ...]]]:
        ours = sa.select(campaign_job.c.job_id).where(campaign_job.c.campaign_id == 1)
        outcomes = (
            sa.select(job.c.key, outcome.c.status, outcome.c.result, outcome.c.error)
            .join(outcome)
            .where(job.c.id.in_(ours))
        )
        answered = [forgery_answer.c[name] for name in ("instance", "row", "status", "distance", "witness")]
        answers = sa.select(job.c.key, *answered).join(forgery_answer).where(job.c.id.in_(ours))
        with self.store.read() as connection:
            for key, *values in connection.execute(outcomes):
                yield (key, None), tuple(values)
            for key, instance, *values, witness in connection.execute(answers):
                yield (key, instance), (*values, None if witness is None else bytes(witness))

    def difference(self, undisturbed: Mapping[RowKey, tuple[Any, ...]]) -> Difference:
        """Compare what the campaign found with what an undisturbed run of it finds."""
        listed = list(self._rows())
        rows = dict(listed)
        return Difference(
            missing=frozenset(undisturbed.keys() - rows.keys()),
            surplus=frozenset(rows.keys() - undisturbed.keys()),
            changed=frozenset(key for key, row in rows.items() if row != undisturbed.get(key, row)),
            duplicates=len(listed) - len(rows),
        )


@contextmanager
def fleet_of(
    directory: Path, kind: str, broker: servers.Valkey, size: Size, database: servers.Postgres | None = None
) -> Iterator[Fleet]:
    """Make a fleet with an empty store: ``sqlite``, or a new database of a PostgreSQL server."""
    if kind == "sqlite":
        url, drop = f"sqlite:///{directory / 'wm.db'}", None
    else:
        assert database is not None
        url, drop = servers.new_database(database.url())
    fleet = Fleet(directory, url, broker.url, size)
    try:
        yield fleet
    finally:
        fleet.close()
        if drop is not None:
            drop()


def undisturbed_rows(directory: Path, size: Size) -> Mapping[RowKey, tuple[Any, ...]]:
    """Run the campaign by one local worker with nothing in its way; return all that it found."""
    fleet = Fleet(directory, f"sqlite:///{directory / 'wm.db'}", "redis://127.0.0.1:1/0", size)
    try:
        fleet.wm("campaign", "run", "c.toml", "--workers", "1")
        return fleet.rows()
    finally:
        fleet.close()


@contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """Keep so many processors busy."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.send_signal(signal.SIGKILL)
            burner.wait(30)
