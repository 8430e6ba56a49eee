"""One HTTP request under hard limits on its time and on the size of its reply.

Redirects are never followed: rows of a secret trigger set, and a token, go where they were sent and nowhere
else. Certificates are always checked. A timer cuts the connection when the time is up, because a socket's own
time limit is for each read, and a server that drips keeps within it for ever.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import IO, Any

from wm.errors import EndpointError, EndpointUnavailableError

_AGENT = "treeproof"

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
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": _AGENT}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    # `check_address`, which comes first, has checked the scheme.
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 - as said
    with _Watch(limit_s) as watch:
        opener = urllib.request.build_opener(_NoRedirect, _Http(watch), _Https(watch))
        try:
            with opener.open(request, timeout=limit_s) as response:
                content = _body(response, max_bytes, what)
        except urllib.error.HTTPError as reply:
            with reply:
                return _refused(reply, what)
        except (OSError, http.client.HTTPException, ValueError) as reason:
            raise _fault(reason, watch, what) from reason
        if watch.expired:
            raise EndpointUnavailableError(f"{what}: no whole answer within {limit_s:g} s")
    return content


def _body(response: http.client.HTTPResponse, max_bytes: int, what: str) -> bytes:
    content = response.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise EndpointError(f"{what}: answered with more than the {max_bytes} bytes allowed")
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and not response.chunked and len(content) != int(announced):
        raise OSError(f"the answer was cut off after {len(content)} of {announced} bytes")
    return content


def _refused(reply: urllib.error.HTTPError, what: str) -> Refusal:
    if reply.code in _RETRIED:
        return Refusal(f"answered {reply.code} {_one_line(reply.reason)}", reply.headers.get("Retry-After"))
    if 300 <= reply.code < 400:
        target = _one_line(reply.headers.get("Location", "nowhere"))
        raise EndpointError(f"{what}: redirects to {target}: redirects are not followed; give that address")
    if reply.code in (401, 403):
        raise EndpointError(f"{what}: answered {reply.code}: the token is missing or wrong")
    raise EndpointError(f"{what}: answered {reply.code} {_one_line(reply.reason)}")


def _fault(reason: Exception, watch: _Watch, what: str) -> EndpointError:
    cause: Any = reason.reason if isinstance(reason, urllib.error.URLError) else reason
    if isinstance(cause, ssl.SSLCertVerificationError):
        return EndpointError(f"{what}: its certificate does not hold ({_one_line(cause.verify_message)})")
    if watch.expired or isinstance(cause, TimeoutError):
        return EndpointUnavailableError(f"{what}: no whole answer within {watch.limit_s:g} s")
    return EndpointUnavailableError(f"{what}: cannot be reached ({_one_line(cause) or type(cause).__name__})")


def _one_line(text: object) -> str:
    return "".join(character if character.isprintable() else " " for character in str(text))[:200]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class _Watch:
    """Cuts the connections that it is shown when the time is up.

    Attributes
    ----------
    limit_s
        Seconds from entering the context.
    expired
        Whether the time was up before it was left.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.expired = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(limit_s, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> _Watch:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        for connection in self._sockets:
            connection.close()

    def show(self, connection: socket.socket) -> None:
        """Watch a connection, also after TLS has taken its socket over."""
        with self._lock:
            self._sockets.append(connection.dup())
        if self.expired:
            self._cut()

    def _cut(self) -> None:
        self.expired = True
        with self._lock:
            for connection in self._sockets:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It was closed by the other side already: there is nothing left to cut.
        return


class _Watched(http.client.HTTPConnection):
    """A connection that shows its socket to a watch as soon as it has one."""

    watch: _Watch

    def connect(self) -> None:
        super().connect()
        self.watch.show(self.sock)


class _WatchedSecure(http.client.HTTPSConnection, _Watched):
    """The same with TLS, which `HTTPSConnection.connect` puts on what `_Watched.connect` has opened."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connection(host: str, /, **options: Any) -> http.client.HTTPConnection:
            made = _Watched(host, **options)
            made.watch = self._watch
            return made

        return self.do_open(connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        def connection(host: str, /, **options: Any) -> http.client.HTTPConnection:
            # The default context checks certificates and host names; there is no way to ask for less.
            made = _WatchedSecure(host, context=ssl.create_default_context(), **options)
            made.watch = self._watch
            return made

        return self.do_open(connection, req)
