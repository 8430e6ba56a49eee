"""Asking an endpoint: batches, patience within limits, one kind of answer throughout."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from wm.errors import EndpointError, EndpointUnavailableError
from wm.verification.answers import Answers
from wm.verification.endpoint.reply import parse_reply
from wm.verification.endpoint.transport import Refusal, check_address, post


@dataclass(frozen=True)
class Limits:
    """How an endpoint is asked.

    Attributes
    ----------
    batch_size
        Most instances in one request.
    request_s, total_s
        Seconds for one request and for all of them, waiting included.
    max_bytes
        Largest body of one reply.
    attempts
        How often one request is tried.
    first_wait_s
        Seconds before the second try; twice as many before each further one.
    longest_wait_s
        Most seconds before any try, also where the endpoint asks for more (``Retry-After``).
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
    sleep: Callable[[float], None] = time.sleep,
) -> Answers:
    """Put instances to an endpoint, in their order; see `wm.verification.endpoint` for what it must speak.

    Parameters
    ----------
    X : (n, d)
        At least one instance.
    token
        Sent as a bearer token.
    class_names
        What classes 0 and 1 are called; for labels.
    limits
        None: the default ones.
    sleep
        Waits some seconds.

    Raises
    ------
    EndpointUnavailableError
        Not reachable, overloaded or too slow, also when tried again.
    EndpointError
        Not an address to be used, a redirect, a refusal, or something else than answers.
    """
    limits = limits or Limits()
    what = check_address(url, has_token=token is not None)
    _check_token(token)
    patience = _Patience(limits, what, sleep)
    parts: list[Answers] = []
    for start in range(0, len(X), limits.batch_size):
        rows = X[start : start + limits.batch_size]
        body = json.dumps({"instances": rows.astype(np.float64).tolist()}, allow_nan=False).encode()
        reply = patience.post(url, body, token)
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
        raise EndpointError("the token must be one word of printable ASCII: look into its file or variable")


class _Patience:
    """Tries a request again, for as long as the limits allow."""

    def __init__(self, limits: Limits, what: str, sleep: Callable[[float], None]) -> None:
        self._limits = limits
        self._what = what
        self._sleep = sleep
        self._deadline = time.monotonic() + limits.total_s

    def post(self, url: str, body: bytes, token: str | None) -> bytes:
        """Return the body of the first reply that is not a "not now"."""
        wait = self._limits.first_wait_s
        for attempt in range(1, self._limits.attempts + 1):
            asked_for: str | None = None
            try:
                reply = post(
                    url,
                    body,
                    what=self._what,
                    token=token,
                    limit_s=min(self._limits.request_s, self._left()),
                    max_bytes=self._limits.max_bytes,
                )
            except EndpointUnavailableError as reason:
                fault = str(reason)
            else:
                if not isinstance(reply, Refusal):
                    return reply
                fault, asked_for = f"{self._what}: {reply.reason}", reply.retry_after
            if attempt < self._limits.attempts:
                self._wait(wait if asked_for is None else self._seconds(asked_for, wait), fault)
                wait = min(2 * wait, self._limits.longest_wait_s)
        often = "once" if self._limits.attempts == 1 else f"{self._limits.attempts} times"
        raise EndpointUnavailableError(f"{fault}, tried {often}")

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise EndpointUnavailableError(
                f"{self._what}: not all rows were answered within {self._limits.total_s:g} s"
            )
        return left

    def _wait(self, seconds: float, fault: str) -> None:
        if seconds > self._limits.longest_wait_s:
            raise EndpointUnavailableError(
                f"{fault}, and asks to wait {seconds:.0f} s, more than the "
                f"{self._limits.longest_wait_s:g} s allowed"
            )
        if seconds >= self._left():
            raise EndpointUnavailableError(f"{fault}, and no time is left to try again")
        self._sleep(seconds)

    def _seconds(self, asked_for: str, otherwise: float) -> float:
        """Return how long an endpoint asks to be left alone: seconds, or a date."""
        if asked_for.strip().isascii() and asked_for.strip().isdecimal():
            return float(asked_for[:20])
        try:
            moment = email.utils.parsedate_to_datetime(asked_for)
        except (ValueError, OverflowError, TypeError):
            return otherwise
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
