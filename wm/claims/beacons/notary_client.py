"""Ask a notary's HTTP service for a receipt."""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from wm.claims.beacons.base import Receipt, Trust, parse_receipt
from wm.claims.beacons.notary import NotaryBeacon
from wm.claims.beacons.request import CommitmentRequest
from wm.errors import ClaimError, EndpointUnavailableError

if TYPE_CHECKING:
    import httpx

LIMIT_S: Final = 30.0
"""Time for the whole exchange."""

MAX_ANSWER_BYTES: Final = 2**16
"""Largest answer; a usual one has 1 KB."""


def request_receipt(
    url: str, request: CommitmentRequest, *, token: str | None = None, limit_s: float = LIMIT_S
) -> Receipt:
    """Return a notary's receipt, checked: signed by the key that it names, for this commitment and owner.

    Parameters
    ----------
    url
        Of the service, as `wm notary serve` prints it. Redirects are not followed.
    token
        Sent as a bearer token, over https or to this machine only.

    Raises
    ------
    EndpointUnavailableError
        The notary cannot be reached, is busy or too slow: a later attempt may succeed.
    ClaimError
        An address or token that cannot be used, a refusal, or an answer that is no such receipt.
    """
    address = _address(url, token)
    receipt = parse_receipt(_post(address, request.to_line().encode(), token, limit_s), what=address)
    if receipt.kind != "notary":
        raise ClaimError(f"{address}: gave a receipt of kind {receipt.kind[:40]!r}")
    try:
        NotaryBeacon().check(
            receipt.content, commitment=request.commitment, owner=request.owner, trust=Trust(), log=()
        )
    except ClaimError as reason:
        raise ClaimError(f"{address}: {reason}") from reason
    return receipt


def _address(url: str, token: str | None) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as reason:
        raise ClaimError(f"{url!r}: not the address of a notary") from reason
    if (
        parts.scheme not in ("http", "https")
        or not host
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise ClaimError(f"{url!r}: not the address of a notary, as http://notary.example:8600")
    if token is not None and parts.scheme == "http" and not _is_this_machine(host):
        raise ClaimError(f"{url}: a token is sent over https only")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise ClaimError(f"{url}: the token is not printable ASCII")
    return f"{url.rstrip('/')}/receipts"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _post(address: str, body: bytes, token: str | None, limit_s: float) -> bytes:
    import anyio
    import httpx
    from anyio.from_thread import start_blocking_portal

    async def exchange() -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        client = httpx.AsyncClient(trust_env=False, timeout=None)  # noqa: S113 - anyio limits it
        with anyio.fail_after(limit_s):
            async with client, client.stream("POST", address, content=body, headers=headers) as answer:
                content = await _content(answer, address)
                if not answer.is_success:
                    raise _refusal(answer.status_code, content, address)
                return content

    try:
        # In its own thread: the caller, such as a notebook, may run an event loop already.
        with start_blocking_portal() as portal:
            return portal.call(exchange)
    except TimeoutError as reason:
        raise EndpointUnavailableError(f"{address}: no whole answer within {limit_s:g} s") from reason
    except httpx.InvalidURL as reason:
        raise ClaimError(f"{address}: not the address of a notary") from reason
    except (httpx.HTTPError, OSError) as reason:
        fault = _one_line(str(reason)) or type(reason).__name__
        raise EndpointUnavailableError(f"{address}: cannot be reached ({fault})") from reason


async def _content(answer: httpx.Response, address: str) -> bytes:
    content = bytearray()
    async for piece in answer.aiter_raw():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise ClaimError(f"{address}: answered with more than {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


def _refusal(status: int, content: bytes, address: str) -> ClaimError | EndpointUnavailableError:
    try:
        given = json.loads(content)
        text = _one_line(str(given["error"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        text = "no reason given"
    kind = EndpointUnavailableError if status in (429, 502, 503, 504) else ClaimError
    return kind(f"{address}: answered {status}: {text}")


def _one_line(text: str) -> str:
    line = " ".join(text.split())[:200]
    return line if line.isprintable() else repr(line)
