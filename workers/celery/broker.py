"""Make the Redis transport robust against malformed messages and outages of the broker.

Without this a malformed message, which anyone with access to the broker can send, ends a Celery worker; and a
worker that cannot acknowledge a message because the broker went away never fetches another.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, virtual
from kombu.transport import redis as kombu_redis
from kombu.transport.virtual import Empty

_log = logging.getLogger(__name__)


class _QoS(kombu_redis.QoS):  # type: ignore[misc] # kombu has no usable types
    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message; while the broker is away only locally.

        Else the message would stay in the worker's prefetch count for ever, and it would fetch no other. The
        broker delivers such a message once more, much later; its jobs are not leased twice.
        """
        try:
            super().ack(delivery_tag)
        except self.channel.connection_errors:
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


def install() -> None:
    """Use this transport for ``redis://`` and ``rediss://`` URLs in this process."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
