"""Run handlers in a child process: a `wm.fork_server.ChildService`."""

from __future__ import annotations

import pkgutil
import traceback
from multiprocessing.connection import Connection

from wm.errors import WmError
from wm.fork_server import requests
from wm.isolation import ChildError
from workers.jobs.base import LeasedJob, Outcome, OutcomeStatus
from workers.jobs.kinds import KINDS
from workers.runtime.context import ArtifactCache, Context
from workers.runtime.messages import End, Run, Start


def prepare() -> None:
    """Import all handlers and their libraries, so that a forked child starts at once."""
    import sklearn.ensemble

    assert sklearn.ensemble  # noqa: S101 - imported for its side effect on later imports
    for kind in KINDS.values():
        pkgutil.resolve_name(kind.handler)


def serve(connection: Connection, prepared: None) -> None:
    """Run one job after the other."""
    cache = ArtifactCache()
    for message in requests(connection):
        assert isinstance(message, Start)  # noqa: S101 - the protocol of `workers.runtime.messages`
        context = Context(connection, cache, message.job, message.slice_s)
        connection.send(_run(message.job, context))


def _run(job: LeasedJob, context: Context) -> Run:
    kind = KINDS[job.kind]
    try:
        parameters = kind.parameters.model_validate(job.parameters)
        with context.timed("job"):
            result = pkgutil.resolve_name(kind.handler)(parameters, context)
    except ChildError:
        # An engine's process could not be started: not the fault of the job.
        return Run(End.FAILED, reason=traceback.format_exc())
    except WmError as reason:
        # Another attempt would fail in the same way.
        outcome = Outcome(OutcomeStatus.ERROR, None, context.timings, str(reason))
        return Run(End.FINISHED, outcome, rows=context.take())
    except Exception:
        return Run(End.FAILED, reason=traceback.format_exc())
    if result is None:
        context.flush()
        return Run(End.SLICE_OVER)
    outcome = Outcome(OutcomeStatus.DONE, result.model_dump(mode="json"), context.timings)
    return Run(End.FINISHED, outcome, context.artifacts, context.take())
