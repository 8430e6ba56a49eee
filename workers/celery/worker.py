"""Run a worker process: take messages from the broker, run their jobs, send heartbeats."""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from typing import Any

from celery import signals
from celery.exceptions import CPendingDeprecationWarning
from celery.platforms import SecurityWarning
from celery.worker import state

from workers.addresses import masked
from workers.celery.app import QUEUE, make_app, register
from workers.celery.consumer import patient_consumer
from workers.errors import LedgerUnavailableError, MessagingError, VersionMismatchError
from workers.runtime.ledger import HEARTBEAT_S, Ledger
from workers.runtime.outage import Outage, PatientLedger
from workers.runtime.owners import owner_name
from workers.runtime.registry import Registry, WorkerRecord
from workers.runtime.slots import Slots
from workers.runtime.stopping import ending_in_time
from workers.runtime.version import protocol_version

_log = logging.getLogger(__name__)

_FAILED = 4
"""Exit code of a worker that cannot go on."""


class Worker:
    """One worker process.

    Parameters
    ----------
    ledger, registry
        Access to the store.
    concurrency
        Jobs at once.
    events
        Whether to send monitors an event about every message.
    until_idle_s
        End after so many seconds without a job, looked at with each heartbeat; None: never.
    """

    def __init__(
        self,
        broker_url: str,
        ledger: Ledger,
        registry: Registry,
        *,
        concurrency: int,
        events: bool = False,
        until_idle_s: float | None = None,
    ) -> None:
        self._broker_url = broker_url
        self._concurrency = concurrency
        self._events = events
        self._until_idle_s = until_idle_s
        self._registry = registry
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._record = WorkerRecord(owner_name().rpartition(":")[0], protocol_version(), concurrency)
        self._store = Outage("the store", _log.warning)
        self._ledger = PatientLedger(ledger, self._store, self._stop)

    def run(self) -> None:
        """Work until stopped by SIGTERM or SIGINT; then end within half a minute, whatever hangs.

        Raises
        ------
        VersionMismatchError
            Before the first job: an orchestrator with another version is alive.
        Exception
            A fault that makes further work useless.
        """
        self._check_versions()
        self._registry.beat(self._record)
        with ending_in_time(self._stop):
            self._work()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        slots = Slots(self._ledger, self._concurrency, self._stop, self._fail)
        beating = threading.Thread(target=self._beat, args=(slots,), name="beat", daemon=True)
        beating.start()
        try:
            self._consume(slots)
        finally:
            self._stop.set()
            slots.close()
            beating.join()
            with contextlib.suppress(LedgerUnavailableError):  # then it counts as silent
                self._registry.leave(self._record.name)

    def _check_versions(self) -> None:
        others = [found for found in self._registry.orchestrator_versions() if found != self._record.version]
        if others:
            raise VersionMismatchError(
                f"an orchestrator with version {others[0]} is alive, this worker has {self._record.version}: "
                "install the same version on both"
            )

    def _consume(self, slots: Slots) -> None:
        app = make_app(self._broker_url)
        register(app, self._record.version, slots.run)
        broker = Outage(f"the broker {masked(self._broker_url)}", _log.warning)

        def keep_logging(**_: Any) -> None:
            """Keep the program's logging: with a receiver of the signal, Celery does not change it."""

        def stop(**_: Any) -> None:
            self._stop.set()

        signals.setup_logging.connect(keep_logging)
        signals.worker_shutting_down.connect(stop)
        # Celery warns against running as root because of pickled messages, and asks for a choice about tasks
        # that are acknowledged late: we read JSON only, and have no such task.
        for category in (SecurityWarning, CPendingDeprecationWarning):
            warnings.filterwarnings("ignore", category=category)
        _simplify_log(broker)
        consumer = app.Worker(
            consumer_cls=patient_consumer(broker),
            concurrency=self._concurrency,
            pool="threads",
            queues=[QUEUE],
            hostname=self._record.name.replace(":", "-") + "@treeproof",
            quiet=True,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=not self._events,
            task_events=self._events,
        )
        _log.info("ready: %s slots, version %s", self._concurrency, self._record.version)
        consumer.start()
        if consumer.exitcode and not self._stop.is_set():
            raise MessagingError("the receiver of messages has ended: see the log")

    def _fail(self, failure: Exception) -> None:
        if self._stop.is_set() and isinstance(failure, LedgerUnavailableError):
            return  # stopped while the store is away: nothing can be recorded
        if self._failure is None:
            self._failure = failure
        self._stop.set()
        state.should_stop = _FAILED

    def _beat(self, slots: Slots) -> None:
        while not self._stop.wait(HEARTBEAT_S):
            if self._until_idle_s is not None and slots.idle_s() >= self._until_idle_s:
                _log.info("no job for %.0f s: ending", self._until_idle_s)
                self._stop.set()
                state.should_stop = 0
                return
            try:
                self._registry.beat(self._record)
            except LedgerUnavailableError as reason:
                self._store.away(reason)
            except Exception as failure:
                self._fail(failure)
            else:
                self._store.back()


def _simplify_log(broker: Outage) -> None:
    """Reduce Celery's log about connections and malformed messages to single lines, each logged once."""

    def connection_filter(record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Connected to"):
            broker.back()
        return False

    def consumer_filter(record: logging.LogRecord) -> bool:
        text = record.getMessage().strip()
        if text.startswith("consumer: Cannot connect") or "Connection to broker lost" in text:
            broker.away(text.splitlines()[0][:300])
            return False
        if record.exc_info:
            reason = str(record.exc_info[1]).splitlines()
            record.msg, record.args = "refused a message: %s", ((reason or ["malformed"])[0][:300],)
            record.exc_info = None
        return True

    logger = logging.getLogger
    logger("celery.worker.consumer.connection").addFilter(connection_filter)
    logger("celery.worker.consumer.connection").setLevel(logging.INFO)
    logger("celery.worker.consumer.consumer").addFilter(consumer_filter)
    # The message seems lost and is sent again, which is harmless; the outage is logged already.
    logger("celery.worker.request").addFilter(lambda record: "Couldn't ack" not in record.getMessage())
    # Celery shows every warning, this irrelevant one at each loss of the broker.
    irrelevant = CPendingDeprecationWarning.__name__
    logger("py.warnings").addFilter(lambda record: irrelevant not in record.getMessage())
