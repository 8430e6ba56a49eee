"""A notary's small HTTP service: gives receipts, and shows its log and its key.

    POST /receipts   a `CommitmentRequest` (application/json)  ->  201, a `Receipt`
    GET  /log        every receipt, one a line (application/x-ndjson)
    GET  /key        {"notary": HEX}

Errors are {"error": TEXT} with a status of 400 or above. One request a connection; requests are small, must
come within `READ_LIMIT_S`, and only `MAX_CONNECTIONS` are served at once. There is no encryption: receipts
are signed and hold no secret; a proxy in front may add it where a token is used.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from wm.claims.beacons.notary_log import NotaryLog
from wm.claims.beacons.request import MAX_REQUEST_BYTES, CommitmentRequest, parse_request
from wm.errors import ClaimError

READ_LIMIT_S: Final = 10.0
"""Time for a whole request; and for a reader to take each piece of an answer."""

MAX_CONNECTIONS: Final = 64
"""Each has a thread."""

_DRAINED: Final = 2**16
"""Bytes of a refused request that are read."""

_BUSY: Final = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class NotaryService(ThreadingHTTPServer):
    """The server; `serve_forever` runs it, `server_close` waits for answers that are under way.

    Parameters
    ----------
    host, port
        Address to listen on; port 0 takes any that is free.
    log
        The notary's.
    token
        Who wants a receipt must send it as a bearer token; None: anybody may.
    report
        Takes a line about each request.

    Raises
    ------
    OSError
        The address cannot be listened on.
    """

    request_queue_size = 128
    daemon_threads = False

    def __init__(
        self, host: str, port: int, log: NotaryLog, *, token: str | None, report: Callable[[str], None]
    ) -> None:
        self.log = log
        self.token = token
        self.report = report
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self.server_address[:2]
        return f"http://{f'[{host!s}]' if ':' in str(host) else host!s}:{port}"

    def server_bind(self) -> None:
        """Bind without looking up the host's name, as `HTTPServer` would, for seconds where DNS is slow."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread, or turn it away if too many are open."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.sendall(_BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a connection that broke in one line."""
        self.report(f"{client_address[0]} broke off: {sys.exception()!r}")


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: NotaryService
    timeout = READ_LIMIT_S
    server_version = "treeproof-notary"
    sys_version = ""

    def handle(self) -> None:
        # `timeout` limits each read only: a byte now and then would keep the thread for ever.
        self._alarm = threading.Timer(READ_LIMIT_S, self._give_up)
        self._alarm.daemon = True
        self._alarm.start()
        try:
            super().handle()
        finally:
            self._alarm.cancel()

    def _give_up(self) -> None:
        with contextlib.suppress(OSError):  # closed already
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._alarm.cancel()
        match self.path:
            case "/key":
                self._answer(HTTPStatus.OK, {"notary": self.server.log.notary})
            case "/log":
                self._send_log()
            case _:
                self._answer(HTTPStatus.NOT_FOUND, {"error": "no such address: /log, /key or POST /receipts"})

    def do_POST(self) -> None:
        try:
            request = self._request()
        except _RefusedError as reason:
            self._answer(reason.status, {"error": str(reason)})
            self._drain()
            return
        self._alarm.cancel()
        try:
            receipt = self.server.log.sign(request)
        except (ClaimError, OSError) as reason:
            self._fail(reason)
        else:
            self._answer(HTTPStatus.CREATED, receipt.model_dump(mode="json"))

    def _drain(self) -> None:
        """Read what is left: closed with unread bytes, TCP may take the answer back."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.rfile.read(_DRAINED)

    def _request(self) -> CommitmentRequest:
        """Return what was asked; raise `_RefusedError` for anything but a small document."""
        if self.path != "/receipts":
            raise _RefusedError(HTTPStatus.NOT_FOUND, "no such address: POST /receipts")
        given = self.headers.get("Authorization", "")
        expected = f"Bearer {self.server.token}"
        if self.server.token is not None and not hmac.compare_digest(given.encode(), expected.encode()):
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong")
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        size = self._size()
        body = self.rfile.read(size)
        if len(body) != size:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the request was cut off")
        try:
            return parse_request(body, what="request")
        except ClaimError as reason:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, str(reason)) from reason

    def _size(self) -> int:
        (length, *others) = self.headers.get_all("Content-Length", [""])
        if others or "Transfer-Encoding" in self.headers or not re.fullmatch("[0-9]{1,9}", length):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "say the length, once")
        if int(length) > MAX_REQUEST_BYTES:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_REQUEST_BYTES} bytes")
        return int(length)

    def _fail(self, reason: Exception) -> None:
        """Log what is wrong with the log; clients only learn that something is."""
        self.server.report(f"the log cannot be used: {reason}")
        self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the notary's log cannot be used"})

    def _send_log(self) -> None:
        try:
            pieces = self.server.log.copy()
            first = next(pieces, b"")
        except (ClaimError, OSError) as reason:
            self._fail(reason)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        self.wfile.write(first)
        for piece in pieces:
            self.wfile.write(piece)

    def _answer(self, status: HTTPStatus, document: dict[str, str]) -> None:
        content = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is no HTTP, or of another method, in JSON too."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._answer(status, {"error": status.phrase.lower()})

    def log_message(self, format: str, *args: Any) -> None:
        line = format % args
        self.server.report(f"{self.client_address[0]} {line if line.isprintable() else repr(line)}")
