"""A proxy whose connections fail as those over a bad line do: late, cut off, or silent without a word."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time


class BadLine:
    """Passes connections on to a port of this machine.

    Parameters
    ----------
    delay_s
        Time that everything takes in each direction.

    Attributes
    ----------
    cut_share
        Probability that a connection is cut when something passes; may be changed at any time.
    """

    def __init__(self, target: int, *, delay_s: float = 0.0, seed: int = 1) -> None:
        self.cut_share = 0.0
        self.cuts = 0
        self._target = target
        self._delay_s = delay_s
        self._random = random.Random(seed)  # noqa: S311 - a simulation
        self._forgotten = threading.Event()
        self._ended = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Where a broker behind it is reached."""
        return f"redis://127.0.0.1:{self.port}/0"

    def forget(self) -> None:
        """Pass nothing on any more over the connections of before, which stay open; new ones work."""
        former, self._forgotten = self._forgotten, threading.Event()
        former.set()

    def mute(self) -> None:
        """Pass nothing on any more, over new connections neither, until `forget` is called."""
        self._forgotten.set()

    def close(self) -> None:
        """Take no more connections; close the forgotten ones."""
        self._ended.set()
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                inner, _ = self._server.accept()
                try:
                    outer = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # the server is away
                    inner.close()
                    continue
                for source, sink in ((inner, outer), (outer, inner)):
                    pump = threading.Thread(
                        target=self._pump, args=(source, sink, self._forgotten), daemon=True
                    )
                    pump.start()

    def _pump(self, source: socket.socket, sink: socket.socket, forgotten: threading.Event) -> None:
        with source, contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if forgotten.is_set():
                    self._ended.wait()
                    break
                if self._random.random() < self.cut_share:
                    self.cuts += 1
                    source.shutdown(socket.SHUT_RDWR)
                    break
                time.sleep(self._delay_s)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
