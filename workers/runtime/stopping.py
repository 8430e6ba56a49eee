"""End a service in time after it was told to stop, whatever hangs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOP_LIMIT_S = 25.0
"""Time to stop in good order; Docker, Kubernetes and systemd kill a service some time after 30 s."""

_LOOK_EVERY_S = 1.0

_NOT_IN_ORDER = 4
"""Exit code: infrastructure."""

_log = logging.getLogger(__name__)


@contextmanager
def ending_in_time(stop: threading.Event) -> Iterator[None]:
    """End this process if the block is not over `STOP_LIMIT_S` after `stop` was set.

    Nothing is lost by that: the leases of its jobs expire, and no process of a job outlives it.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not stop.wait(_LOOK_EVERY_S):
            if is_over.is_set():
                return
        if not is_over.wait(STOP_LIMIT_S):
            _log.warning("a server does not answer: ended without giving jobs back, their leases will expire")
            os._exit(_NOT_IN_ORDER)

    threading.Thread(target=watch, name="ending in time", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
