"""One HTTP request under hard limits on its duration and on the size of its reply, to suspects and beacons.

Neither redirects nor proxies of the environment are followed: secret trigger rows and tokens go to the given
address only. Certificates are always checked. httpx limits the time of each read, which a server that sends a
few bytes at a time never exceeds; so anyio limits the whole exchange.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from wm.errors import EndpointError, EndpointUnavailableError

if TYPE_CHECKING:
    import httpx

_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a compressed body could unpack to any size
}
"""Nothing here names this program: a suspect should see ordinary questions."""

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which the same request may succeed later."""


_SHOWN = 120
"""Characters of a refusal's body that an error quotes."""

_ROWS = re.compile(r"[-+]?[0-9]+\.[0-9eE+-]*|[-+]?[0-9][0-9eE+-]*([\s,;\[\]]+[-+]?[0-9][0-9eE+-]*)+")
"""Numbers with a point, and several in a row: servers quote what they were asked, and rows are secret."""

_REFUSAL_S = 1.0
"""Seconds in which the body of a refusal is read, as far as it comes."""


class EndpointBusyError(EndpointUnavailableError):
    """The endpoint answered that it is busy, or failed; `retry_after` is its header of that name."""

    def __init__(self, text: str, status: int, retry_after: str | None) -> None:
        super().__init__(text)
        self.status = status
        self.retry_after = retry_after


class EndpointCutOffError(EndpointUnavailableError):
    """The endpoint took the request and broke off, as some do for a body that they do not understand."""


class EndpointRefusedError(EndpointError):
    """The endpoint refused the request."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def check_address(url: str, *, has_token: bool) -> str:
    """Return the address up to its path, as errors and transcripts show it.

    Raises
    ------
    EndpointError
        An address that is not http or https or holds a password, or a token that would be sent unencrypted.
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


def read_headers(texts: Iterable[str]) -> dict[str, str]:
    """Return the headers of lines such as ``X-Tenant: 7``; raise `EndpointError` for other text."""
    found = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if (
            not colon
            or not re.fullmatch("[A-Za-z0-9-]+", name)
            or not text.isprintable()
            or not text.isascii()
        ):
            raise EndpointError(f"{text!r} is not a header: NAME: VALUE in ASCII is needed")
        found[name] = value.strip()
    return found


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def send(
    url: str,
    body: bytes | None,
    *,
    what: str,
    token: str | None,
    limit_s: float,
    max_bytes: int,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Send one request and return the reply's body.

    Parameters
    ----------
    body
        Is posted; None: the address is read.
    what
        Name of the endpoint in errors.
    token
        Sent as a bearer token.
    limit_s
        Seconds from connecting to the last byte; the lookup of the host's name is not counted.
    max_bytes
        Largest body.
    headers
        More headers of the request, or others than the default ones.

    Raises
    ------
    EndpointBusyError
        The endpoint wants to be asked later.
    EndpointCutOffError
        The connection broke after the request was sent.
    EndpointUnavailableError
        Not reachable, or too slow.
    EndpointRefusedError
        A refusal, or a redirect.
    EndpointError
        An invalid certificate, a larger body, or a token that no header can hold.
    """
    import anyio
    import httpx
    from anyio.from_thread import start_blocking_portal

    if token is not None and not (token.isascii() and token.isprintable()):
        raise EndpointError(f"{what}: the token is not printable ASCII")  # the library's error would show it

    async def exchange() -> bytes:
        # Both contexts check certificates and host names. The empty one trusts none: http needs none, and
        # loading the system's takes 50 ms.
        secure = url.lower().startswith("https:")
        context = ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        sent = {**_HEADERS, **bearer, **(headers or {})}
        client = httpx.AsyncClient(verify=context, trust_env=False, timeout=None)  # noqa: S113 - anyio limits it
        method = "GET" if body is None else "POST"
        with anyio.fail_after(limit_s):
            async with client, client.stream(method, url, content=body, headers=sent) as reply:
                if not reply.is_success:
                    start = await _start(reply)
                    raise _refusal(reply, what, start if token is None else start.replace(token, "***"))
                return await _body(reply, max_bytes, what)

    try:
        # In its own thread: the caller, such as a notebook, may run an event loop already.
        with start_blocking_portal() as portal:
            return portal.call(exchange)
    except TimeoutError as reason:
        raise EndpointUnavailableError(f"{what}: no whole answer within {limit_s:g} s") from reason
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as reason:
        raise _failure(reason, what) from reason


async def _body(response: httpx.Response, max_bytes: int, what: str) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > max_bytes:
            raise EndpointError(f"{what}: answered with more than the {max_bytes} bytes allowed")
    return bytes(content)


async def _start(response: httpx.Response) -> str:
    """Return the first characters of a refusal's body, on one line."""
    import anyio

    content = b""
    with anyio.move_on_after(_REFUSAL_S):
        async for chunk in response.aiter_raw():
            content += chunk[:2048]
            if len(content) >= 2048:
                break
    return " ".join(_ROWS.sub("...", _one_line(content.decode(errors="replace"), 2048)).split())


def _refusal(response: httpx.Response, what: str, body: str) -> EndpointError:
    """Return the error for an unsuccessful reply."""
    code, headers = response.status_code, response.headers
    if 300 <= code < 400:
        target = _one_line(headers.get("Location", "nowhere"))
        return EndpointRefusedError(
            f"{what}: redirects to {target}: redirects are not followed; give that address", code
        )
    if code in (401, 403):
        return EndpointRefusedError(f"{what}: answered {code}: the token is missing or wrong", code)
    said = f": {body[:_SHOWN]}" if body else ""
    text = f"{what}: answered {code} {_one_line(response.reason_phrase)}{said}"
    if code in _RETRIED:
        return EndpointBusyError(text, code, headers.get("Retry-After"))
    return EndpointRefusedError(text, code)


def _failure(reason: BaseException, what: str) -> EndpointError:
    """Return the error with the cause that the system or TLS reported, below the layers that wrap it."""
    import httpx

    below: BaseException | None = reason
    fault: object = reason
    cut_off = isinstance(reason, httpx.RemoteProtocolError | httpx.ReadError)
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            return EndpointError(f"{what}: its certificate is not valid ({_one_line(below.verify_message)})")
        if isinstance(below, OSError) and below.errno is not None:
            fault = os.strerror(below.errno) if isinstance(below, ConnectionError) else below
        if isinstance(below, BaseExceptionGroup):  # of several attempts to connect
            below = below.exceptions[0]
        else:
            below = below.__cause__ or below.__context__
    text = _one_line(fault)
    kind = EndpointCutOffError if cut_off else EndpointUnavailableError
    return kind(f"{what}: cannot be reached ({text or type(reason).__name__})")


def _one_line(text: object, longest: int = 200) -> str:
    return "".join(character if character.isprintable() else " " for character in str(text))[:longest]
