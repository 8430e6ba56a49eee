"""A real HTTP server on loopback that answers as a suspect would, and misbehaves when told to."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests import ending

Answer = Callable[[NDArray[np.float32]], dict[str, Any]]
Fault = Callable[["Handler"], None]


class Suspect:
    """A server for the time of a test.

    Attributes
    ----------
    answer
        Instances, (n, d), to the JSON document that is the reply.
    faults
        What is done instead to the next requests, one each, first to last.
    asked
        The instances of each request that was understood.
    tokens
        The ``Authorization`` header of each request.
    """

    def __init__(self, answer: Answer, *, certificate: tuple[str, str] | None = None) -> None:
        self.answer = answer
        self.faults: list[Fault] = []
        self.asked: list[NDArray[np.float32]] = []
        self.tokens: list[str | None] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.suspect = self  # type: ignore[attr-defined] - what a handler knows is its server
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}/votes"
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Suspect:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        ending.join(self._thread)
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers POST."""

    def do_POST(self) -> None:
        """Answer, or do the next fault."""
        suspect = self.suspect
        suspect.tokens.append(self.headers.get("Authorization"))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if suspect.faults:
            suspect.faults.pop(0)(self)
            return
        instances = np.array(json.loads(body)["instances"], dtype=np.float64)
        suspect.asked.append(instances.astype(np.float32))
        self.reply(200, json.dumps(suspect.answer(instances.astype(np.float32))).encode())

    @property
    def suspect(self) -> Suspect:
        """Whose handler this is."""
        found: Suspect = self.server.suspect  # type: ignore[attr-defined] - set in Suspect.__init__
        return found

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole reply."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    """Reply with a status."""
    return lambda handler: handler.reply(code, body, **headers)


def body(content: bytes) -> Fault:
    """Reply with any body."""
    return status(200, content)


def cut(handler: Handler) -> None:
    """Announce more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"votes": [[0,')
    handler.close_connection = True


def silent(handler: Handler) -> None:
    """Close without a word."""
    handler.close_connection = True


def garbage(handler: Handler) -> None:
    """Reply with something that is not HTTP."""
    handler.wfile.write(b"\x00\xff no such protocol\r\n\r\n")
    handler.close_connection = True


def stuck(handler: Handler) -> None:
    """Say nothing until the test is over."""
    handler.suspect.ended.wait()
    handler.close_connection = True


def dripping(handler: Handler) -> None:
    """Send a byte now and then, without end: no single read is slow."""
    handler.send_response(200)
    handler.end_headers()
    drip(handler, b" ")


def dripping_headers(handler: Handler) -> None:
    """Send a header without end, byte by byte."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
    drip(handler, b"x")


def drip(handler: Handler, drop: bytes) -> None:
    """Send a byte every hundredth of a second until the other side has had enough."""
    while not handler.suspect.ended.is_set():
        try:
            handler.wfile.write(drop)
        except OSError:
            break
        time.sleep(0.01)
    handler.close_connection = True


def endless(handler: Handler) -> None:
    """Send without end, as fast as it goes."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.suspect.ended.is_set():
        try:
            handler.wfile.write(b" " * 65536)
        except OSError:
            break
    handler.close_connection = True
