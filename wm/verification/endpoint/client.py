"""Client of an endpoint: batches of rows, retries within limits, one kind of answers."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from wm.errors import EndpointError, EndpointUnavailableError
from wm.verification.answers import Answers
from wm.verification.endpoint.reply import parse_reply
from wm.verification.endpoint.transport import EndpointBusyError, check_address, post

_ROW_BYTES = 2**16
"""Bytes of a reply for each row that it answers: enough for thousands of trees.

A reply becomes objects that take many times its size.
"""


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


def ask(
    url: str,
    X: NDArray[np.float32],
    *,
    token: str | None = None,
    class_names: tuple[str, str] = ("0", "1"),
    limits: Limits | None = None,
    headers: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Answers:
    """Return an endpoint's answers to instances; `wm.verification.endpoint` describes the protocol.

    Parameters
    ----------
    X : (n, d)
        At least one instance.
    token
        Sent as a bearer token.
    class_names
        Names of classes 0 and 1; for labels.
    limits
        None: the default ones.
    headers
        More headers of each request.
    sleep
        Waits for a number of seconds.

    Raises
    ------
    EndpointUnavailableError
        The endpoint is not reachable, overloaded or too slow, also after retries.
    EndpointError
        An unusable address, a redirect, a refusal, or a reply that holds no answers.
    """
    limits = limits or Limits()
    what = check_address(url, has_token=token is not None)
    _check_token(token)
    sender = _Retrying(limits, what, sleep, headers)
    parts: list[Answers] = []
    for start in range(0, len(X), limits.batch_size):
        rows = X[start : start + limits.batch_size]
        body = json.dumps({"instances": rows.astype(np.float64).tolist()}, allow_nan=False).encode()
        reply = sender.post(url, body, token, max_bytes=min(limits.max_bytes, (len(rows) + 1) * _ROW_BYTES))
        part = parse_reply(reply, len(rows), class_names=class_names, what=what)
        if parts and (part.kind, part.values.shape[1:]) != (parts[0].kind, parts[0].values.shape[1:]):
            raise EndpointError(
                f"{what}: answered {_described(part)} for instances from {start} on, "
                f"{_described(parts[0])} before"
            )
        parts.append(part)
    return Answers(parts[0].kind, np.concatenate([part.values for part in parts]))


def _described(answers: Answers) -> str:
    trees = f" of {answers.values.shape[1]} trees" if answers.kind == "votes" else ""
    return answers.kind + trees


def _check_token(token: str | None) -> None:
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        raise EndpointError("the token must be one word of printable ASCII: check its file or variable")


class _Retrying:
    """Sends requests, each again if necessary, as long as the limits allow."""

    def __init__(
        self,
        limits: Limits,
        what: str,
        sleep: Callable[[float], None],
        headers: Mapping[str, str] | None,
    ) -> None:
        self._limits = limits
        self._headers = headers
        self._what = what
        self._sleep = sleep
        self._deadline = time.monotonic() + limits.total_s

    def post(self, url: str, body: bytes, token: str | None, *, max_bytes: int) -> bytes:
        """Return the body of the first successful reply."""
        limits, what, wait = self._limits, self._what, self._limits.first_wait_s
        for attempt in range(1, limits.attempts + 1):
            limit_s = min(limits.request_s, self._left())
            try:
                return post(
                    url,
                    body,
                    what=what,
                    token=token,
                    limit_s=limit_s,
                    max_bytes=max_bytes,
                    headers=self._headers,
                )
            except EndpointUnavailableError as reason:
                failure = reason
            if attempt < limits.attempts:
                self._wait(_wait_s(failure, wait), failure)
                wait = min(2 * wait, limits.longest_wait_s)
        often = "once" if limits.attempts == 1 else f"{limits.attempts} times"
        raise EndpointUnavailableError(f"{failure}, tried {often}")

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            limit = f"{self._limits.total_s:g} s"
            raise EndpointUnavailableError(f"{self._what}: not all rows were answered within {limit}")
        return left

    def _wait(self, seconds: float, failure: EndpointUnavailableError) -> None:
        longest = self._limits.longest_wait_s
        if seconds > longest:
            raise EndpointUnavailableError(
                f"{failure}, and asks to wait {seconds:.0f} s, more than the {longest:g} s allowed"
            )
        if seconds >= self._left():
            raise EndpointUnavailableError(f"{failure}, and no time is left to try again")
        self._sleep(seconds)


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
