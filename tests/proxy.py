"""A proxy that forgets connections without a word, as firewalls and address translation do."""

from __future__ import annotations

import contextlib
import socket
import threading


class ForgetfulProxy:
    """Passes connections on to a port of this machine; what it forgot stays open, and silent."""

    def __init__(self, target: int) -> None:
        self._target = target
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
        """Pass nothing on any more over the connections of before; new ones work."""
        former, self._forgotten = self._forgotten, threading.Event()
        former.set()

    def mute(self) -> None:
        """Pass nothing on any more, over new connections neither."""
        self._forgotten.set()

    def close(self) -> None:
        """Take no more connections; close the forgotten ones."""
        self._ended.set()
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                inner, _ = self._server.accept()
                outer = socket.create_connection(("127.0.0.1", self._target))
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
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
