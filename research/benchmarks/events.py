"""A small kernel for discrete-event simulation: processes that wait, share resources, and pass things on.

A process is a generator. It yields `Hold(seconds)`, `Use(resource, seconds)` or `Get(store)`, and is resumed
when that is over, with the item for a `Get`.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

QUANTUM_S = 0.004
"""A processor goes to the next in line after this long, as in an operating system."""


@dataclass
class Resource:
    """So many servers with one line; counts how long they were busy."""

    servers: int
    busy_s: float = 0.0
    busy: int = 0
    line: deque[Callable[[], None]] = field(default_factory=deque)


@dataclass
class Store:
    """Things that wait to be taken, or takers that wait for things."""

    items: deque[Any] = field(default_factory=deque)
    takers: deque[Callable[[Any], None]] = field(default_factory=deque)


@dataclass(frozen=True)
class Hold:
    """Wait."""

    seconds: float


@dataclass(frozen=True)
class Use:
    """Use a server of a resource for so long, in turns with others.

    With `lock`, a resource of one server, only while holding it; it is not given away in between.
    """

    resource: Resource
    seconds: float
    lock: Resource | None = None


@dataclass(frozen=True)
class Get:
    """Take a thing, waiting for it if need be."""

    store: Store


Process = Generator[Hold | Use | Get, Any, None]


class Simulation:
    """The clock and what is to happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def start(self, process: Process) -> None:
        """Begin a process now."""
        self._at(0.0, lambda: self._resume(process, None))

    def put(self, store: Store, item: Any) -> None:
        """Add a thing to a store."""
        if store.takers:
            taker = store.takers.popleft()
            self._at(0.0, lambda: taker(item))
        else:
            store.items.append(item)

    def run(self, until: Callable[[], bool]) -> None:
        """Let things happen until a condition holds, or nothing is left to happen."""
        while self._events and not until():
            self.now, _, action = heapq.heappop(self._events)
            action()

    def _at(self, delay_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay_s, next(self._numbers), action))

    def _resume(self, process: Process, value: Any) -> None:
        try:
            wanted = process.send(value)
        except StopIteration:
            return
        match wanted:
            case Hold(seconds):
                self._at(seconds, lambda: self._resume(process, None))
            case Use(resource, seconds, None):
                self._use(resource, seconds, lambda: self._resume(process, None))
            case Use(resource, seconds, lock):
                self._lock(lock, resource, seconds, lambda: self._resume(process, None))
            case Get(store):
                if store.items:
                    self._resume(process, store.items.popleft())
                else:
                    store.takers.append(lambda item: self._resume(process, item))

    def _lock(self, lock: Resource, resource: Resource, seconds: float, done: Callable[[], None]) -> None:
        if lock.busy:
            lock.line.append(lambda: self._lock(lock, resource, seconds, done))
            return
        lock.busy = 1
        since = self.now

        def over() -> None:
            lock.busy = 0
            lock.busy_s += self.now - since
            if lock.line:
                lock.line.popleft()()
            done()

        self._use(resource, seconds, over)

    def _use(self, resource: Resource, seconds: float, done: Callable[[], None]) -> None:
        if resource.busy >= resource.servers:
            resource.line.append(lambda: self._use(resource, seconds, done))
            return
        resource.busy += 1
        part = min(seconds, QUANTUM_S)

        def over() -> None:
            resource.busy -= 1
            resource.busy_s += part
            left = seconds - part
            if left > 1e-9:
                resource.line.append(lambda: self._use(resource, left, done))
            if resource.line:
                resource.line.popleft()()
            if left <= 1e-9:
                done()

        self._at(part, over)
