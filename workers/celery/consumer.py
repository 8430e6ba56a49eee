"""Wait for a broker that answers but refuses to write: its memory is full, or it became a replica."""

from __future__ import annotations

import time
from typing import Any

from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError

from workers.celery.app import QUEUE
from workers.runtime.outage import Outage

_OTHER_REFUSALS = ("MISCONF", "NOREPLICAS")
"""Beginnings of answers that redis-py has no exception for: no place for snapshots, too few replicas."""


def patient_consumer(broker: Outage) -> type[Consumer]:
    """Return a Celery consumer that waits, which it reports once, until the broker accepts writes."""

    class PatientConsumer(Consumer):  # type: ignore[misc] # Celery has no usable types
        def connect(self) -> Any:
            """Return the connection for messages."""
            while True:
                connection = self.connection_for_read()
                try:
                    reason = refusal(connection.default_channel.client)
                finally:
                    connection.release()
                if reason is None:
                    return super().connect()
                time.sleep(broker.away(reason))
                maybe_shutdown()

    return PatientConsumer


def refusal(client: Any) -> RedisError | None:
    """Return why a broker refuses writes; None if it does not."""
    try:
        client.set(f"{QUEUE}.probe", b"", px=1)
    except (OutOfMemoryError, ReadOnlyError) as reason:
        return reason
    except ResponseError as reason:  # others, as missing rights, do not pass by waiting
        return reason if str(reason).startswith(_OTHER_REFUSALS) else None
    return None
