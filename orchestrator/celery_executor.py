"""Send job ids to workers on any number of machines, through a broker that may lose them at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from kombu.exceptions import OperationalError

from orchestrator.errors import BrokerError
from orchestrator.store import services
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, job
from workers.addresses import masked
from workers.celery.app import QUEUE, TASK, App, RunMessage, make_app
from workers.runtime.outage import Outage
from workers.runtime.version import protocol_version

_WINDOW_PER_SLOT = 16
"""Jobs in flight for each slot of the workers alive."""

_MIN_WINDOW = 32
_MAX_WINDOW = 20_000

_MAX_IN_MESSAGE = 8
_MESSAGE_S = 0.5
"""A message holds as many jobs as a slot runs in this time: many quick ones, or a single slow one."""

_LOST_AFTER_S = 5.0
"""A job that is not leased this long after it was sent is sent again if the queue is empty, or if a job that
was sent later has been leased. The time doubles with each try; sending twice is harmless."""

_MIN_PAUSE_S = 0.05
_MAX_PAUSE_S = 0.5
_LOOKS_PER_WINDOW = 8
"""Reads of the store while the workers run the jobs in flight."""

_COUNT_EVERY_S = 1.0


@dataclass
class _Sent:
    """A job that was sent."""

    leases: int
    """Number of its leases before."""
    number: int
    """Number of its message."""
    at: float
    """Time of the last message, by the monotonic clock."""
    again_after_s: float = _LOST_AFTER_S
    """Seconds until the next one."""


class CeleryExecutor:
    """An `orchestrator.executors.Executor` on Celery workers.

    A job is in flight from when it is sent until the store shows that it ended, or that it was leased and is
    ready again (its slice was over, its worker died). While the broker does not answer nothing is sent, and
    nothing is lost.

    Parameters
    ----------
    store
        Records the outcomes.
    broker_url
        Redis or Valkey.
    report
        Takes one line when the broker goes away and one when it is back.

    Raises
    ------
    BrokerError
        The broker cannot be reached now: most likely the URL is wrong.
    """

    def __init__(self, store: Store, broker_url: str, report: Callable[[str], None]) -> None:
        self._store = store
        self._version = protocol_version()
        self._app = make_app(broker_url)
        self._connection = open_broker(self._app)
        self._producer = self._new_producer()
        self._broker = Outage(f"the broker {masked(broker_url)}", report)
        self._broker_errors = (*self._connection.connection_errors, OperationalError, OSError)
        self._broker_retry_at = 0.0
        self._refused = False
        self._sent: dict[int, _Sent] = {}
        self._messages = 0
        self._leased = 0
        self._slots = 1
        self._counted_at = float("-inf")
        self._ended = 0
        self._rate = 0.0

    def capacity(self) -> int:
        """Return how many more jobs may be submitted now."""
        if time.monotonic() < self._broker_retry_at:
            return 0
        self._count()
        window = min(_MAX_WINDOW, max(_MIN_WINDOW, _WINDOW_PER_SLOT * self._slots))
        return max(0, window - len(self._sent))

    def in_flight(self) -> frozenset[int]:
        """Return the jobs that were submitted and have not ended."""
        return frozenset(self._sent)

    def submit(self, job_ids: Sequence[int]) -> None:
        """Send jobs; those that the broker does not accept now are left to be submitted again."""
        query = sa.select(job.c.id, job.c.leases).where(self._store.is_one_of(job.c.id, job_ids))
        leases = {row.id: row.leases for row in self._store.rows(query)}
        size = max(1, min(_MAX_IN_MESSAGE, int(self._rate / self._slots * _MESSAGE_S)))
        known = [job_id for job_id in job_ids if job_id in leases]
        for start in range(0, len(known), size):
            batch = known[start : start + size]
            if not self._publish(batch):
                return
            now = time.monotonic()
            for job_id in batch:
                self._sent[job_id] = _Sent(leases[job_id], self._messages, now)

    def wait(self, timeout_s: float) -> None:
        """Return when some job ended, or after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while True:
            pause_s = look_pause_s(len(self._sent), self._rate)
            time.sleep(min(pause_s, max(0.0, deadline - time.monotonic())))
            if self._look() or time.monotonic() >= deadline:
                return

    def close(self) -> None:
        """Stop; workers finish the jobs that they were sent, and record them."""
        self._sent.clear()
        self._connection.release()

    def queue_length(self) -> int | None:
        """Return the number of waiting messages; None while the broker does not answer."""
        if time.monotonic() < self._broker_retry_at:
            return None
        try:
            waiting = int(self._connection.default_channel.queue_declare(QUEUE, passive=True).message_count)
        except tuple(self._connection.channel_errors):  # an empty queue does not exist
            waiting = 0
        except self._broker_errors as reason:
            self._away(reason)
            return None
        if not self._refused:  # a full broker, or a replica, answers this but takes no message
            self._broker.back()
        return waiting

    def _look(self) -> bool:
        """Return whether a job ended or was given back, and drop those; send jobs again that seem lost."""
        if not self._sent:
            return False
        # Most jobs still wait in the queue: they need not be fetched.
        touched = (job.c.state != JobState.READY) | (job.c.leases > 0)
        ours = self._store.is_one_of(job.c.id, self._sent)
        query = sa.select(job.c.id, job.c.state, job.c.leases).where(ours, touched)
        waiting = dict(self._sent)
        ended = 0
        for row in self._store.rows(query):
            sent = self._sent[row.id]
            if row.leases != sent.leases:
                self._leased = max(self._leased, sent.number)
            elif row.state == JobState.READY:
                continue
            del waiting[row.id]
            if row.state != JobState.RUNNING:
                del self._sent[row.id]
                ended += 1
        self._ended += ended
        self._send_again(waiting)
        return ended > 0

    def _send_again(self, waiting: Mapping[int, _Sent]) -> None:
        """Send jobs again that were not leased and whose messages seem lost."""
        now = time.monotonic()
        old = [(job_id, sent) for job_id, sent in waiting.items() if now - sent.at >= sent.again_after_s]
        if not old or now < self._broker_retry_at:
            return
        is_empty = self.queue_length() == 0
        # The queue is in order: a message sent well before one that arrived should have arrived.
        overtaken = self._leased - self._slots
        for job_id, sent in old:
            if not is_empty and sent.number >= overtaken:
                continue
            if not self._publish([job_id]):
                return
            sent.number, sent.at, sent.again_after_s = self._messages, now, 2 * sent.again_after_s

    def _publish(self, job_ids: list[int]) -> bool:
        self._messages += 1
        try:
            self._app.send_task(
                TASK,
                kwargs=RunMessage(job_ids=job_ids, version=self._version).model_dump(),
                producer=self._producer,
                exchange="",
                routing_key=QUEUE,
                retry=False,
                ignore_result=True,
            )
        except self._broker_errors as reason:
            self._away(reason)
            self._refused = True
            return False
        self._refused = False
        self._broker.back()
        return True

    def _away(self, reason: object) -> None:
        self._broker_retry_at = time.monotonic() + self._broker.away(reason)
        self._connection.release()  # its state is unknown: the next use opens a new one
        self._connection = self._app.connection_for_write()
        self._producer = self._new_producer()

    def _new_producer(self) -> Any:
        return self._app.amqp.Producer(self._connection, auto_declare=False)

    def _count(self) -> None:
        """Update the number of slots and the rate at which jobs end."""
        now = time.monotonic()
        since = now - self._counted_at
        if since < _COUNT_EVERY_S:
            return
        alive = [service for service in services.workers(self._store) if service.is_alive]
        self._slots = max(1, sum(service.slots for service in alive if service.version == self._version))
        self._rate = self._ended / since
        self._ended = 0
        self._counted_at = now


def look_pause_s(in_flight: int, rate: float) -> float:
    """Return the seconds until the next read of jobs in flight, of which `rate` end in a second.

    The workers need the processors more, as long as they do not run out of work.
    """
    left_s = in_flight / rate if rate else 0.0
    return min(_MAX_PAUSE_S, max(_MIN_PAUSE_S, left_s / _LOOKS_PER_WINDOW))


def open_broker(app: App) -> Any:
    """Return a tested connection to the broker.

    Raises
    ------
    BrokerError
        It cannot be reached.
    """
    try:
        connection = app.connection_for_write()
        connection.ensure_connection(
            max_retries=1, interval_start=0.1, timeout=10, reraise_as_library_errors=False
        )
        connection.default_channel.client.ping()
    except Exception as reason:
        text = " ".join(str(reason).split()) or type(reason).__name__
        try:
            url = masked(app.address)
            app.connection_for_write().as_uri()
        except Exception:  # kombu documents no errors; `reason` is the one to report
            url = "(its URL cannot be read)"
        raise BrokerError(f"broker {url}: {text}; give --broker or WM_BROKER_URL") from reason
    return connection
