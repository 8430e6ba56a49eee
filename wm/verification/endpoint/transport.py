"""One HTTP request under hard limits on its time and on the size of its reply.

Redirects are never followed: rows of a secret trigger set, and a token, go where they were sent and nowhere
else, not through a proxy that the environment names either. Certificates are always checked. httpx's own time
limits are for each read, and a server that drips keeps within them for ever: the limit here is anyio's, on
the whole exchange.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wm.errors import EndpointError, EndpointUnavailableError

if TYPE_CHECKING:
    import httpx

_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a packed body could unpack to any size
    "User-Agent": "treeproof",
}

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Replies that say "not now"."""


@dataclass(frozen=True)
class Refusal:
    """A reply that says "not now".

    Attributes
    ----------
    reason
        For the error's text, should it be the last.
    retry_after
        The header of that name, as it came.
    """

    reason: str
    retry_after: str | None


def check_address(url: str, *, has_token: bool) -> str:
    """Return the address without what follows the host's path, as errors and transcripts name it.

    Raises
    ------
    EndpointError
        Not http or https, a password in it, or a token that would be sent in the clear.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as reason:
        raise EndpointError(f"{url!r} is not an address ({reason})") from reason
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise EndpointError(f"{url!r} is not an address: http://host/path or https://host/path is needed")
    if "@" in parts.netloc:
        raise EndpointError("the address holds a user or password: give a token by file or variable instead")
    if has_token and parts.scheme == "http" and not _is_this_machine(host):
        raise EndpointError(f"a token would be sent to {host} in the clear: use https")
    place = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{place}{'' if port is None else f':{port}'}{parts.path}"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def post(
    url: str,
    body: bytes,
    *,
    what: str,
    token: str | None,
    limit_s: float,
    max_bytes: int,
) -> bytes | Refusal:
    """Send one request; return the reply's body, or that the endpoint would rather be asked later.

    Parameters
    ----------
    what
        How errors name the endpoint.
    token
        Sent as a bearer token.
    limit_s
        Seconds for all of it, from connecting to the last byte; looking up the host's name comes on top.
    max_bytes
        Largest body.

    Raises
    ------
    EndpointUnavailableError
        Not reachable, too slow, cut off.
    EndpointError
        A redirect, a refusal, a certificate that does not hold, or a larger body.
    """
    import anyio
    import httpx
    from anyio.from_thread import start_blocking_portal

    async def exchange() -> bytes | Refusal:
        # The default context checks certificates and host names; there is no way to ask for less.
        context = ssl.create_default_context()
        headers = _HEADERS if token is None else {**_HEADERS, "Authorization": f"Bearer {token}"}
        # httpx's limits are for each read: the one on all of them is anyio's.
        client = httpx.AsyncClient(verify=context, trust_env=False, timeout=None)  # noqa: S113 - as said
        with anyio.fail_after(limit_s):
            async with client, client.stream("POST", url, content=body, headers=headers) as reply:
                return await _body(reply, max_bytes, what) if reply.is_success else _refused(reply, what)

    try:
        # A loop in a thread of its own: the caller, a notebook say, may be in one already.
        with start_blocking_portal() as portal:
            return portal.call(exchange)
    except TimeoutError as reason:
        raise EndpointUnavailableError(f"{what}: no whole answer within {limit_s:g} s") from reason
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as reason:
        raise _fault(reason, what) from reason


async def _body(response: httpx.Response, max_bytes: int, what: str) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > max_bytes:
            raise EndpointError(f"{what}: answered with more than the {max_bytes} bytes allowed")
    return bytes(content)


def _refused(response: httpx.Response, what: str) -> Refusal:
    code, headers = response.status_code, response.headers
    answered = f"answered {code} {_one_line(response.reason_phrase)}"
    if code in _RETRIED:
        return Refusal(answered, headers.get("Retry-After"))
    if 300 <= code < 400:
        target = _one_line(headers.get("Location", "nowhere"))
        raise EndpointError(f"{what}: redirects to {target}: redirects are not followed; give that address")
    if code in (401, 403):
        raise EndpointError(f"{what}: answered {code}: the token is missing or wrong")
    raise EndpointError(f"{what}: {answered}")


def _fault(reason: BaseException, what: str) -> EndpointError:
    """Say what the system or TLS complained of, below the layers that passed it on."""
    below: BaseException | None = reason
    fault: object = reason
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            return EndpointError(f"{what}: its certificate does not hold ({_one_line(below.verify_message)})")
        if isinstance(below, OSError) and below.errno is not None:
            fault = os.strerror(below.errno) if isinstance(below, ConnectionError) else below
        if isinstance(below, BaseExceptionGroup):  # of several attempts to connect
            below = below.exceptions[0]
        else:
            below = below.__cause__ or below.__context__
    text = _one_line(fault)
    return EndpointUnavailableError(f"{what}: cannot be reached ({text or type(reason).__name__})")


def _one_line(text: object) -> str:
    return "".join(character if character.isprintable() else " " for character in str(text))[:200]
