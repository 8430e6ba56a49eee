"""Run a leased job in a child process under limits.

The supervisor of `workers.runtime.service`: it sends artifacts to the handler, records its rows, renews the
lease, and kills the child at a limit, at the loss of the lease, or when the worker is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from wm.isolation import START_LIMIT_S, ChildError, Sandbox
from wm.running_time import RunningTime
from workers.jobs.base import LeasedJob, Outcome, OutcomeStatus
from workers.jobs.kinds import KINDS
from workers.runtime.ledger import HEARTBEAT_S, Ledger
from workers.runtime.messages import ArtifactData, End, FromHandler, NeedArtifact, Rows, Run, Start

_SERVICE = "workers.runtime.service"

SLICE_S = 20.0
"""Time after which a job that can be continued is given back, so that others get a turn."""

_LOOK_EVERY_S = 0.1
"""Period of the checks of stop requests, limits and heartbeats."""


class JobSandbox:
    """A prepared process for one job at a time."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(_SERVICE)

    def close(self) -> None:
        """End the process."""
        self._sandbox.close()

    def ready(self) -> int:
        """Wait until a job would start at once, and return the id of the process that runs jobs.

        Raises
        ------
        ChildError
            The process could not be started.
        """
        self._sandbox.ready()
        assert self._sandbox.child_pid is not None  # noqa: S101 - known once it is ready
        return self._sandbox.child_pid

    def run(
        self, job: LeasedJob, ledger: Ledger, owner: str, stop: Callable[[], bool], *, slice_s: float
    ) -> Run:
        """Run a job to its end, the end of its slice, a limit, or a stop.

        Parameters
        ----------
        ledger, owner
            Access to artifacts and rows; owner of the lease.
        stop
            Called several times a second; True ends the run.
        slice_s
            See `SLICE_S`.
        """
        if job.kind not in KINDS:
            unknown = f"this worker has no attack {job.kind!r}: install its package"
            return Run(End.FAILED, reason=unknown)
        parameters = KINDS[job.kind].parameters.model_validate(job.parameters)
        limit_s = parameters.run_limit_s(slice_s)
        memory = None if parameters.memory_mb is None else parameters.memory_mb * 2**20
        try:
            clock, last_beat = RunningTime(), time.monotonic()
            is_sent = False
            while True:
                if is_sent and self._sandbox.ready().poll(_LOOK_EVERY_S):
                    run = self._react(self._sandbox.ready().recv(), job.job_id, ledger)
                    if run is not None:
                        return run
                if not is_sent and self._sandbox.is_ready(_LOOK_EVERY_S):
                    self._sandbox.ready().send(Start(job, slice_s))
                    is_sent, clock = True, RunningTime()
                is_stopped = stop()
                if not is_stopped and time.monotonic() - last_beat >= HEARTBEAT_S:
                    last_beat = time.monotonic()
                    is_stopped = not ledger.heartbeat(job.job_id, owner)
                if is_stopped:
                    self._sandbox.kill()
                    return Run(End.STOPPED)
                if not is_sent:
                    if clock.look() > START_LIMIT_S:
                        reason = f"the job's process was not ready after {START_LIMIT_S:g} s"
                        return Run(End.FAILED, reason=reason)
                elif clock.look() > limit_s:
                    self._sandbox.kill()
                    text = f"time limit of {limit_s:g} s"
                    if parameters.late_is_failure:
                        return Run(End.FAILED, reason=f"the job hung: {text}")
                    return Run(End.FINISHED, Outcome(OutcomeStatus.TIMEOUT, None, {}, text))
                elif memory is not None and self._sandbox.memory() > memory:
                    self._sandbox.kill()
                    text = f"memory limit of {parameters.memory_mb} MB"
                    return Run(End.FINISHED, Outcome(OutcomeStatus.MEMOUT, None, {}, text))
        except ChildError as fault:
            # The process that forks it may be dead: the next job gets another.
            self._sandbox.close()
            self._sandbox = Sandbox(_SERVICE)
            return Run(End.FAILED, reason=f"the job's process could not be started: {fault}")
        except (EOFError, ConnectionError):
            return Run(End.FAILED, reason=f"the job's process died: {self._sandbox.exit_error()}")
        except BaseException:
            self._sandbox.kill()
            raise

    def _react(self, message: FromHandler, job_id: int, ledger: Ledger) -> Run | None:
        match message:
            case NeedArtifact(sha256):
                self._sandbox.ready().send(ArtifactData(ledger.artifact(sha256)))
            case Rows(rows):
                ledger.save(job_id, rows)
            case Run(end):
                if end is End.FAILED:
                    # A broken engine, or other remains of the job, must not affect the next one.
                    self._sandbox.kill()
                return message
        return None
