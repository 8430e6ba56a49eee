"""Register the one task, `run these job ids`, and validate its messages.

Others are refused: anyone with access to the broker can send them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated

from celery import Celery
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workers.celery.app import TASK

MAX_JOBS = 1000
"""Maximum number of jobs in a message."""

_MAX_LOGGED_VERSIONS = 100
"""Maximum number of refused versions in the log: anyone can invent them."""

_log = logging.getLogger(__name__)


class RunMessage(BaseModel):
    """Contents of a message: jobs to run in this order, and the sender's `workers.runtime.version`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job_ids: Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=MAX_JOBS)]
    version: Annotated[str, Field(max_length=100)]


def register(app: Celery, version: str, run: Callable[[list[int]], None]) -> None:
    """Add the task to an application; it calls `run` with the job ids of each accepted message.

    Messages that are malformed or have another version are logged and refused.
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
        elif message.version not in refused and len(refused) < _MAX_LOGGED_VERSIONS:
            refused.add(message.version)
            text = "refused jobs of an orchestrator with version %s, this worker has %s: install one version"
            _log.error(text, message.version, version)

    app.task(task, name=TASK, typing=False, ignore_result=True, acks_late=False)
