"""The one path of a job through a worker, whoever started it: lease, run in the sandbox, record.

Also who holds a lease, and whether he lives.
"""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import Callable
from pathlib import Path

from workers.jobs import LeasedJob
from workers.runtime.ledger import Ledger
from workers.runtime.sandbox import SLICE_S, End, Hooks, JobSandbox, Run


def owner_name(slot: int = 0) -> str:
    """Return a name for a worker slot that no other slot on any machine bears at the same time."""
    return f"{machine()}:{os.getpid()}:{process_start(os.getpid())}:{slot}"


@functools.cache
def machine() -> str:
    """Return what tells this machine, and this container on it, from others that use the same store.

    Machines may be clones with one host name, and containers of one host number their processes each anew.
    """
    return "-".join([socket.gethostname(), _machine_id(), _pid_namespace()])


def _machine_id() -> str:
    try:
        return Path("/etc/machine-id").read_text().strip()[:8]
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def process_start(pid: int) -> str | None:
    """Return what tells a process from a later one with the same pid; None if there is none such."""
    try:
        # Counted after the name, which may hold spaces and brackets: fields 3 (state) and 22 (start).
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # A zombie has ended; it only waits for a parent that may never ask for it.
        return None if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "unknown"  # no /proc on this system: the pid alone must do


def owner_is_gone(owner: str) -> bool:
    """Return whether a worker of this machine that held a lease has ended; False for other machines'."""
    host, pid, start, _ = owner.rsplit(":", 3)
    return host == machine() and process_start(int(pid)) != start


class Runner:
    """One worker slot: runs jobs one at a time in its own warm process.

    Parameters
    ----------
    ledger
        Access to the store.
    owner
        See `owner_name`.
    stop
        Asked several times a second; once true, the running job is given back.
    slice_s
        See `workers.runtime.sandbox.SLICE_S`.
    """

    def __init__(
        self, ledger: Ledger, owner: str, stop: Callable[[], bool], *, slice_s: float = SLICE_S
    ) -> None:
        self._ledger = ledger
        self._owner = owner
        self._stop = stop
        self._slice_s = slice_s
        self._sandbox: JobSandbox | None = None  # started with the first job: there may be none

    def close(self) -> None:
        """End the slot's process."""
        if self._sandbox is not None:
            self._sandbox.close()

    def lease(self, job_id: int) -> LeasedJob | None:
        """Lease a job; None if that cannot be had."""
        return self._ledger.lease(job_id, self._owner)

    def run(self, job: LeasedJob) -> Run:
        """Run a leased job to its end, or that of its slice."""
        if self._sandbox is None:
            self._sandbox = JobSandbox()
        return self._sandbox.run(job, self._hooks(job), slice_s=self._slice_s)

    def hand_back(self, job_id: int) -> None:
        """Give a job's lease up, if it is still ours."""
        self._ledger.hand_back(job_id, self._owner)

    def record(self, job_id: int, run: Run) -> None:
        """Record in the ledger how a run ended; any thread may do that."""
        match run.end:
            case End.FINISHED:
                assert run.outcome is not None  # noqa: S101 - `Run`'s contract
                self._ledger.record(job_id, self._owner, run.outcome, run.artifacts, run.rows)
            case End.FAILED:
                self._ledger.fail(job_id, self._owner, run.reason)
            case End.SLICE_OVER | End.STOPPED:
                self.hand_back(job_id)

    def _hooks(self, job: LeasedJob) -> Hooks:
        return Hooks(
            artifact=self._ledger.artifact,
            save=lambda rows: self._ledger.save(job.job_id, rows),
            heartbeat=lambda: self._ledger.heartbeat(job.job_id, self._owner),
            stop=self._stop,
        )
