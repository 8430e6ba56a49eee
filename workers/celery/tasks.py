"""The one task, `run these job ids`, and what its messages say.

Whatever else is in the queue is refused: anyone who reaches the broker can write there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated

from celery import Celery
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workers.celery.app import TASK

MOST_JOBS = 1000
"""Most jobs that one message may name."""

_MOST_REFUSED = 100
"""Most versions that the log says are refused: anyone can make them up."""

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


def register(app: Celery, version: str, run: Callable[[list[int]], None]) -> None:
    """Add the task to an application; `run` is called with the job ids of each message that is let in.

    That is one that is well formed and of our version; for others the log says why they are refused.
    """
    refused: set[str] = set()

    def task(*arguments: object, **keywords: object) -> None:
        if arguments:
            _log.error("refused a message: positional arguments")
            return
        try:
            message = RunMessage.model_validate(keywords)
        except ValidationError as reason:
            fault = reason.errors(include_url=False, include_input=False)[0]
            _log.error("refused a message: %s %s", ".".join(map(str, fault["loc"])), fault["msg"])
            return
        if message.version == version:
            run(message.job_ids)
        elif message.version not in refused and len(refused) < _MOST_REFUSED:
            refused.add(message.version)
            text = "refused jobs of an orchestrator of version %s, this worker is %s: install one version"
            _log.error(text, message.version, version)

    app.task(task, name=TASK, typing=False, ignore_result=True, acks_late=False)
