"""Make the Celery application, the same for senders and receivers of messages, and register its one task.

The store is the truth and the broker is disposable. So messages are acknowledged before the work begins,
only JSON is read, and results, ETA, workflows and remote control are off. A lost message costs time, never a
job.

kombu's transport is made robust: without that a malformed message, which anyone with access to the broker can
send, ends a Celery worker; and a worker that cannot acknowledge a message because the broker went away never
fetches another.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Annotated, Any

from celery import Celery
from celery.backends.base import DisabledBackend
from celery.loaders.app import AppLoader
from kombu import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES, virtual
from kombu.transport import redis as kombu_redis
from kombu.transport.virtual import Empty
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from redis.exceptions import ResponseError

QUEUE = "treeproof"
TASK = "treeproof.run"

_CONNECT_LIMIT_S = 5.0

_SILENCE_LIMIT_S = 10
"""Longest wait for an answer of the broker; also how often an idle connection is checked. A connection that a
firewall forgot is dropped after at most twice this time, and a new one is opened."""

MAX_JOBS = 1000
"""Maximum number of jobs in a message."""

_MAX_LOGGED_VERSIONS = 100
"""Maximum number of refused versions in the log: anyone can invent them."""

_log = logging.getLogger(__name__)


class _QoS(kombu_redis.QoS):  # type: ignore[misc] # kombu has no usable types
    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message; while the broker is away, or refuses to write, only locally.

        Else the message would stay in the worker's prefetch count for ever, and it would fetch no other. The
        broker delivers such a message once more, much later; its jobs are not leased twice.
        """
        try:
            super().ack(delivery_tag)
        except (*self.channel.connection_errors, ResponseError):
            virtual.QoS.ack(self, delivery_tag)


class _Channel(kombu_redis.Channel):  # type: ignore[misc] # kombu has no usable types
    QoS = _QoS

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except (json.JSONDecodeError, UnicodeDecodeError):
            _log.error("refused a message: not JSON")
            raise Empty from None


class Transport(kombu_redis.Transport):  # type: ignore[misc] # kombu has no usable types
    """Delivers well-formed messages; logs and drops others."""

    Channel = _Channel

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            self.Channel.Message(message, channel=self.channels[0])
            message["properties"]["delivery_info"]["routing_key"]
        except (AttributeError, KeyError, LookupError, TypeError, ValueError):
            _log.error("refused a message: a required part is missing")
            return
        super()._deliver(message, queue)


class _Loader(AppLoader):  # type: ignore[misc] # Celery has no usable types
    def read_configuration(self, env: str = "") -> dict[str, Any]:
        """Return no settings: those that CELERY_CONFIG_MODULE names belong to another program."""
        return {}


class App(Celery):  # type: ignore[misc] # Celery has no usable types
    """An application that heeds no variable of Celery: in its settings these win over what the user says.

    `address` is the broker's URL.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__("treeproof", broker=address, loader=_Loader, set_as_current=False, fixups=[])
        self.backend_cls = DisabledBackend

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:
        """Return a connection, to this application's broker if none is named."""
        return super().connection_for_read(url or self.address, **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """Return a connection, to this application's broker if none is named."""
        return super().connection_for_write(url or self.address, **options)

    def connection(self, hostname: str | None = None, **options: Any) -> Any:
        """Return a connection, to this application's broker if none is named."""
        return super().connection(hostname or self.address, **options)


def make_app(broker_url: str) -> App:
    """Return the application for a broker, ``redis://`` (Redis or Valkey), without connecting to it."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
    app = App(broker_url)
    app.conf.update(
        accept_content=["json"],
        # A broker that refuses a command is waited for like one that is away.
        broker_channel_error_retry=True,
        broker_connection_max_retries=None,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            # A sender must not wait for ever: it tries again itself.
            "max_retries": 1,
            "interval_start": 0.0,
            "socket_connect_timeout": _CONNECT_LIMIT_S,
            "socket_timeout": _SILENCE_LIMIT_S,
            "socket_keepalive": True,
            "health_check_interval": _SILENCE_LIMIT_S,
            # Messages that a killed worker had fetched return after this; their jobs were sent again before.
            "visibility_timeout": 600,
        },
        result_backend=None,
        task_acks_late=False,
        task_default_queue=QUEUE,
        task_ignore_result=True,
        # The default exchange needs no entry in the broker, which could be deleted.
        task_queues=[Queue(QUEUE, exchange=Exchange(""), routing_key=QUEUE)],
        task_serializer="json",
        task_store_errors_even_if_ignored=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_prefetch_multiplier=1,
        worker_redirect_stdouts=False,
    )
    return app


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
