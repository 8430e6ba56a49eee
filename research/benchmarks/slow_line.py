"""A line between two network interfaces that delays and loses frames, for kernels without `netem`.

Each end is a TAP device (Linux): what the kernel sends over one of them is read here, kept for a while, and
given to the other, unless it is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import select
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

_TUNSETIFF = 0x400454CA
_TAP_OF_BARE_FRAMES = 0x0002 | 0x1000
"""IFF_TAP and IFF_NO_PI."""

_LONGEST_FRAME = 65536
_LOOK_S = 0.05


def make_tap(name: str) -> int:
    """Make a TAP device in this thread's network namespace; it exists until the descriptor is closed."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP_OF_BARE_FRAMES))
    return descriptor


@contextmanager
def slow_line(one: int, other: int, *, delay_s: float, loss: float, seed: int = 0) -> Iterator[None]:
    """Carry frames between two TAP devices within the block, in both directions; close them after it.

    Parameters
    ----------
    delay_s
        That each frame takes; frames keep their order.
    loss
        Share of the frames that are lost, in [0, 1].
    """
    over, rng = threading.Event(), random.Random(seed)  # noqa: S311 - no secret
    threads = [
        *_carriers(one, other, delay_s, loss, rng, over),
        *_carriers(other, one, delay_s, loss, rng, over),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
        os.close(one)
        os.close(other)


def _carriers(
    source: int, target: int, delay_s: float, loss: float, rng: random.Random, over: threading.Event
) -> tuple[threading.Thread, threading.Thread]:
    """Return the threads that carry frames in one direction until it is over."""
    waiting: SimpleQueue[tuple[float, bytes] | None] = SimpleQueue()

    def receive() -> None:
        while not over.is_set():
            if select.select([source], [], [], _LOOK_S)[0]:
                frame = os.read(source, _LONGEST_FRAME)
                if rng.random() >= loss:
                    waiting.put((time.monotonic() + delay_s, frame))
        waiting.put(None)

    def send() -> None:
        while (taken := waiting.get()) is not None:
            due, frame = taken
            time.sleep(max(0.0, due - time.monotonic()))
            with contextlib.suppress(OSError):  # the device is down
                os.write(target, frame)

    return threading.Thread(target=receive, daemon=True), threading.Thread(target=send, daemon=True)
