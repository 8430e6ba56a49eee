"""What a handler sees of the world: inputs, artifacts, what it goes on from and records on the way."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar, cast

from workers.jobs import KINDS, JobKind, LeasedJob, Result
from workers.runtime.messages import ArtifactData, NeedArtifact, Rows

CACHE_BYTES = 512 * 2**20
"""Most bytes of artifacts that one process keeps for its next jobs."""

_ROWS_AT_ONCE = 50
_ROWS_EVERY_S = 1.0

R = TypeVar("R", bound=Result)
T = TypeVar("T")


class ArtifactCache:
    """The artifacts used last, up to a limit in bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._parsed: tuple[str, object] | None = None

    def get(self, sha256: str) -> bytes | None:
        """Return an artifact if it is here."""
        if sha256 in self._kept:
            self._kept.move_to_end(sha256)
        return self._kept.get(sha256)

    def parsed(self, sha256: str, parse: Callable[[], T]) -> T:
        """Return what `parse` makes of an artifact, or made of it if it is the same as last time."""
        if self._parsed is None or self._parsed[0] != sha256:
            self._parsed = None  # two large ones at a time may be too many
            self._parsed = sha256, parse()
        return cast(T, self._parsed[1])

    def put(self, sha256: str, data: bytes) -> None:
        """Keep an artifact and drop the longest unused ones beyond the limit."""
        self._kept[sha256] = data
        self._kept.move_to_end(sha256)
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._limit:
            self._kept.popitem(last=False)


class Context:
    """One job's view, in the process that runs it.

    Attributes
    ----------
    artifacts
        What the handler kept, by SHA-256.
    timings
        Seconds by name.
    """

    def __init__(self, connection: Connection, cache: ArtifactCache, job: LeasedJob, slice_s: float) -> None:
        self._connection = connection
        self._cache = cache
        self._job = job
        self._ends = time.monotonic() + slice_s
        self._pending: list[object] = []
        self._sent = time.monotonic()
        self.artifacts: dict[str, bytes] = {}
        self.timings: dict[str, float] = {}

    @property
    def kind(self) -> str:
        """The job's kind."""
        return self._job.kind

    def state(self, model: type[T]) -> T:
        """Return what the job goes on from, in the type of its kind."""
        assert isinstance(self._job.state, model)  # noqa: S101 - a handler's own mistake
        return self._job.state

    def input(self, kind: JobKind, model: type[R]) -> R:
        """Return the result of the one needed job of a kind."""
        (result,) = self.inputs(kind, model)
        return result

    def inputs(self, kind: JobKind, model: type[R]) -> list[R]:
        """Return the results of all needed jobs of a kind, in no particular order."""
        assert KINDS[kind].result is model  # noqa: S101 - a handler's own mistake
        return [model.model_validate(result) for result in self._job.inputs[kind]]

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes, from this process's cache or the ledger."""
        data = self._cache.get(sha256)
        if data is None:
            self._connection.send(NeedArtifact(sha256))
            reply = self._connection.recv()
            assert isinstance(reply, ArtifactData)  # noqa: S101 - the protocol of `workers.runtime.messages`
            data = reply.data
            self._cache.put(sha256, data)
        return data

    def parsed(self, sha256: str, parse: Callable[[bytes], T]) -> T:
        """Return an artifact in a form that cannot be changed; parsed once if jobs ask for the same in a row.

        `parse` must be the same for the same artifact.
        """
        return self._cache.parsed(sha256, lambda: parse(self.artifact(sha256)))

    def keep(self, data: bytes) -> str:
        """Make bytes an artifact of this job and return their SHA-256."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.artifacts[sha256] = data
        self._cache.put(sha256, data)
        return sha256

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Record how long the body takes."""
        started = time.perf_counter()
        yield
        self.timings[name] = time.perf_counter() - started

    def record(self, row: object, *, at_once: bool = False) -> None:
        """Have a row of the kind's state recorded, together with others, within about a second or at once."""
        if len(self._pending) == _ROWS_AT_ONCE:  # not before there are more: the last go with the outcome
            self.flush()
        self._pending.append(row)
        if at_once or time.monotonic() - self._sent >= _ROWS_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Send all rows that wait."""
        if rows := self.take():
            self._connection.send(Rows(rows))
        self._sent = time.monotonic()

    def take(self) -> tuple[object, ...]:
        """Return all rows that wait, which go with the outcome."""
        rows = tuple(self._pending)
        self._pending.clear()
        return rows

    def slice_over(self) -> bool:
        """Return whether the job should be given back if work is left."""
        return time.monotonic() >= self._ends
