"""The one task, `run these job ids`, and what its messages say.

Whatever else is in the queue is refused: anyone who reaches the broker can write there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Annotated

from celery import Celery
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workers.celery.app import TASK

MOST_JOBS = 1000
"""Most jobs that one message may name."""

_log = logging.getLogger(__name__)


class RunMessage(BaseModel):
    """What a message says.

    Attributes
    ----------
    job_ids
        Jobs to be run, one after the other.
    version
        Of the sender; see `workers.runtime.version`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job_ids: Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=MOST_JOBS)]
    version: Annotated[str, Field(max_length=100)]


class Gate:
    """Lets in messages that are well formed and of our version; says why it refuses others."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._refused: set[str] = set()

    def job_ids(self, arguments: Sequence[object], keywords: dict[str, object]) -> list[int]:
        """Return the jobs that a message names; none if it is refused."""
        try:
            if arguments:
                raise ValueError("positional arguments")
            message = RunMessage.model_validate(keywords)
        except ValidationError as reason:
            fault = reason.errors(include_url=False, include_input=False)[0]
            _log.error("refused a message: %s %s", ".".join(map(str, fault["loc"])), fault["msg"])
            return []
        except ValueError as reason:
            _log.error("refused a message: %s", reason)
            return []
        if message.version != self._version:
            if message.version not in self._refused and len(self._refused) < 100:
                self._refused.add(message.version)
                _log.error(
                    "refused jobs of an orchestrator of version %s, this worker is %s: install one version",
                    message.version[:100],
                    self._version,
                )
            return []
        return message.job_ids


def register(app: Celery, version: str, run: Callable[[list[int]], None]) -> None:
    """Add the task to an application; `run` is called with the job ids of each message that is let in."""
    gate = Gate(version)

    def task(*arguments: object, **keywords: object) -> None:
        job_ids = gate.job_ids(arguments, keywords)
        if job_ids:
            run(job_ids)

    app.task(task, name=TASK, typing=False, ignore_result=True, acks_late=False)
