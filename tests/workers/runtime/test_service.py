"""The messages of the process that runs a handler."""

from __future__ import annotations

import threading
from multiprocessing import Pipe

import pytest

from tests import ending
from wm.errors import DataError
from wm.isolation import ChildError
from workers.handlers import forgery
from workers.jobs.base import LeasedJob, OutcomeStatus
from workers.jobs.forging import ForgeryResult
from workers.jobs.kinds import JobKind
from workers.runtime import service
from workers.runtime.messages import End, Rows, Run, Start

PARAMETERS = {
    "engine": "sat",
    "signature": 0,
    "ones_share": 0.5,
    "eps": 0.5,
    "first": 0,
    "count": 1,
    "repeat": 0,
    "seed": 0,
    "timeout_s": 1.0,
}
JOB = LeasedJob(1, JobKind.FORGERY, PARAMETERS, {}, 0)
ROW = "a row"


@pytest.fixture
def messages_of(monkeypatch):
    """Runs a handler in the service and returns all messages."""

    def run(handler, job=JOB):
        monkeypatch.setattr(forgery, "run", handler)
        ours, theirs = Pipe()
        with ours, theirs:
            serving = threading.Thread(target=service.serve, args=(theirs, None))
            serving.start()
            ours.send(Start(job, 60.0))
            received = [ours.recv()]
            while not isinstance(received[-1], Run):
                received.append(ours.recv())
            ours.close()
            ending.join(serving)
            return received[:-1], received[-1]

    return run


def raising(reason):
    def handler(_parameters, context):
        context.record(ROW)
        context.keep(b"half")
        raise reason

    return handler


def test_a_result_is_an_outcome_and_waiting_rows_go_with_it(messages_of):
    def handler(parameters, context):
        context.record(ROW)
        context.keep(b"bytes")
        return ForgeryResult(instances=parameters.count)

    before, message = messages_of(handler)
    assert before == []
    assert message.end is End.FINISHED
    assert message.rows == (ROW,)
    assert (message.outcome.status, message.outcome.result) == (OutcomeStatus.DONE, {"instances": 1})
    assert set(message.outcome.timings) == {"job"}
    assert list(message.artifacts.values()) == [b"bytes"]


def test_a_handler_that_wants_to_go_on_later_gives_the_job_back_and_waiting_rows_go_first(messages_of):
    assert messages_of(lambda _parameters, context: context.record(ROW)) == (
        [Rows((ROW,))],
        Run(End.SLICE_OVER),
    )


def test_an_error_of_wm_ends_the_job_at_once(messages_of):
    before, message = messages_of(raising(DataError("no such file")))
    assert before == []
    assert message.end is End.FINISHED
    assert message.rows == (ROW,)
    assert (message.outcome.status, message.outcome.error) == (OutcomeStatus.ERROR, "no such file")
    assert message.artifacts == {}


@pytest.mark.parametrize("reason", [ChildError("no process could be had"), ValueError("oh"), MemoryError()])
def test_a_temporary_fault_is_a_failed_attempt(messages_of, reason):
    _, message = messages_of(raising(reason))
    assert (message.end, message.outcome, message.rows) == (End.FAILED, None, ())
    assert message.reason.startswith("Traceback")
    assert type(reason).__name__ in message.reason


def test_parameters_that_no_longer_fit_their_kind_are_a_failed_attempt(messages_of):
    job = LeasedJob(1, JobKind.FORGERY, PARAMETERS | {"strange": 1}, {}, 0)
    _, message = messages_of(lambda *_: None, job)
    assert (message.end, message.outcome, message.rows) == (End.FAILED, None, ())
    assert "strange" in message.reason


def test_jobs_are_served_one_after_the_other_until_the_connection_closes(monkeypatch):
    monkeypatch.setattr(forgery, "run", lambda parameters, _: ForgeryResult(instances=parameters.count))
    ours, theirs = Pipe()
    with theirs:
        serving = threading.Thread(target=service.serve, args=(theirs, None))
        serving.start()
        with ours:
            for _ in range(3):
                ours.send(Start(JOB, 1.0))
                assert ours.recv().end is End.FINISHED
        ending.join(serving)
