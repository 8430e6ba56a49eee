"""The Redis transport, made safe against garbage in the queue and against a broker that goes away.

Anyone who reaches the broker can write there, and without this a line of garbage ends a Celery worker; and a
worker that cannot acknowledge what it fetched before the broker went away never fetches again.
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
        """Acknowledge; while the broker is away only here, so that the worker asks for messages again.

        Else it would count the message as its own for ever, reach its limit, and never notice that the broker
        is back. The broker brings such a message once more, much later, and its jobs are not leased twice.
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
            _log.error("refused a message: it is no JSON")
            raise Empty from None


class Transport(kombu_redis.Transport):  # type: ignore[misc] # kombu has no usable types
    """Delivers messages that can be read and drops others, saying so."""

    Channel = _Channel

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            self.Channel.Message(message, channel=self.channels[0])
            message["properties"]["delivery_info"]["routing_key"]
        except (AttributeError, KeyError, LookupError, TypeError, ValueError):
            _log.error("refused a message: it lacks what every message has")
            return
        super()._deliver(message, queue)


def install() -> None:
    """Use this transport for ``redis://`` and ``rediss://`` URLs in this process."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
