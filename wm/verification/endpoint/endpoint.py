"""An endpoint: one address, its headers, and limits that hold for all requests to it together."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from wm.errors import EndpointError, EndpointUnavailableError
from wm.http import EndpointBusyError, EndpointCutOffError, EndpointRefusedError, check_address, send

_ROW_BYTES = 2**16
"""Bytes of a reply for each row that it answers: enough for thousands of trees.

A reply becomes objects that take many times its size.
"""

_DESCRIPTION_BYTES = 2**20
"""Largest description of a model or of a service."""


@dataclass(frozen=True)
class Limits:
    """Limits on requests to an endpoint.

    Attributes
    ----------
    batch_size
        Largest number of instances in one request.
    request_s, total_s
        Seconds for one request and for all of them, waits included.
    max_bytes
        Largest body of one reply.
    attempts
        Number of times that one request is tried.
    first_wait_s
        Seconds before the second attempt; the wait doubles with each further one.
    longest_wait_s
        Largest wait, in seconds; an endpoint that asks for more (``Retry-After``) is given up.
    """

    batch_size: int = 100
    request_s: float = 30.0
    total_s: float = 600.0
    max_bytes: int = 2**26
    attempts: int = 5
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0


class Endpoint:
    """Sends requests to one address, each again if necessary, as long as the limits allow.

    The total time runs from here on.

    Parameters
    ----------
    token
        Sent as a bearer token.
    headers
        More headers of each request.
    limits
        None: the default ones.
    sleep
        Waits for a number of seconds.

    Raises
    ------
    EndpointError
        An unusable address or token.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self.limits = limits or Limits()
        self.what = check_address(url, has_token=token is not None)
        if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
            raise EndpointError("the token must be one word of printable ASCII: check its file or variable")
        self._token = token
        self._headers = headers
        self._sleep = sleep
        self._deadline = time.monotonic() + self.limits.total_s

    def post(self, document: Any, *, rows: int, understood: bool = True) -> bytes:
        """Return the reply to a JSON document that asks about a number of rows.

        Parameters
        ----------
        understood
            Whether the endpoint is known to understand such documents. If not, a failure of the server and a
            connection that breaks off are not tried again: they may be its way to refuse.

        Raises
        ------
        EndpointUnavailableError
            The endpoint is not reachable, overloaded or too slow, also after retries.
        EndpointError
            A refusal, or a reply that is too large.
        """
        body = json.dumps(document, allow_nan=False).encode()
        max_bytes = min(self.limits.max_bytes, (rows + 1) * _ROW_BYTES)
        limits, wait = self.limits, self.limits.first_wait_s
        for attempt in range(1, limits.attempts + 1):
            try:
                return self._send(self.url, body, max_bytes)
            except EndpointUnavailableError as reason:
                if not understood and is_perhaps_refused(reason):
                    raise
                failure = reason
            if attempt < limits.attempts:
                self._wait(_wait_s(failure, wait), failure)
                wait = min(2 * wait, limits.longest_wait_s)
        often = "once" if limits.attempts == 1 else f"{limits.attempts} times"
        raise EndpointUnavailableError(f"{failure}, tried {often}")

    def get(self, url: str) -> bytes | None:
        """Return what another address of the same server shows; None if it shows nothing there."""
        try:
            return self._send(url, None, _DESCRIPTION_BYTES)
        except (EndpointRefusedError, EndpointBusyError, EndpointCutOffError):
            return None

    def _send(self, url: str, body: bytes | None, max_bytes: int) -> bytes:
        return send(
            url,
            body,
            what=self.what,
            token=self._token,
            limit_s=min(self.limits.request_s, self._left()),
            max_bytes=max_bytes,
            headers=self._headers,
        )

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            limit = f"{self.limits.total_s:g} s"
            raise EndpointUnavailableError(f"{self.what}: not all rows were answered within {limit}")
        return left

    def _wait(self, seconds: float, failure: EndpointUnavailableError) -> None:
        longest = self.limits.longest_wait_s
        if seconds > longest:
            raise EndpointUnavailableError(
                f"{failure}, and asks to wait {seconds:.0f} s, more than the {longest:g} s allowed"
            )
        if seconds >= self._left():
            raise EndpointUnavailableError(f"{failure}, and no time is left to try again")
        self._sleep(seconds)


def is_perhaps_refused(failure: EndpointError) -> bool:
    """Return whether a failure may mean that the server does not understand such requests."""
    if isinstance(failure, EndpointBusyError):
        return failure.status == 500
    return isinstance(failure, EndpointCutOffError)


def _wait_s(failure: EndpointUnavailableError, otherwise: float) -> float:
    """Return the seconds until the next attempt: those of a ``Retry-After`` header (or date), if any."""
    asked_for = failure.retry_after if isinstance(failure, EndpointBusyError) else None
    if asked_for is None:
        return otherwise
    if asked_for.strip().isascii() and asked_for.strip().isdecimal():
        return float(asked_for[:20])
    try:
        moment = email.utils.parsedate_to_datetime(asked_for)
    except (ValueError, OverflowError, TypeError):
        return otherwise
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
