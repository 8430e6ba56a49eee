"""Give a handler its inputs, artifacts and resume state, and record its rows."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar, cast

from workers.jobs.base import JobResult, LeasedJob
from workers.jobs.kinds import KINDS, JobKind
from workers.runtime.messages import ArtifactData, NeedArtifact, Rows

CACHE_BYTES = 512 * 2**20
"""Maximum bytes of artifacts that a process keeps for its next jobs."""

_MAX_PENDING = 50
_FLUSH_EVERY_S = 1.0

R = TypeVar("R", bound=JobResult)
T = TypeVar("T")


class ArtifactCache:
    """Keeps the artifacts used last, up to a limit in bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._parsed: tuple[str, object] | None = None

    def get(self, sha256: str) -> bytes | None:
        """Return an artifact; None if it is not cached."""
        if sha256 in self._kept:
            self._kept.move_to_end(sha256)
        return self._kept.get(sha256)

    def parsed(self, sha256: str, parse: Callable[[], T]) -> T:
        """Return the result of `parse` for an artifact, cached for the last one."""
        if self._parsed is None or self._parsed[0] != sha256:
            self._parsed = None  # two large results at a time may need too much memory
            self._parsed = sha256, parse()
        return cast(T, self._parsed[1])

    def put(self, sha256: str, data: bytes) -> None:
        """Add an artifact, and drop the least recently used ones beyond the limit."""
        self._kept[sha256] = data
        self._kept.move_to_end(sha256)
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._limit:
            self._kept.popitem(last=False)


class Context:
    """The interface of a handler to its job.

    Attributes
    ----------
    artifacts
        New artifacts, by SHA-256.
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
        """Return the job's resume state, in the type of its kind."""
        assert isinstance(self._job.state, model)  # noqa: S101 - a handler's own mistake
        return self._job.state

    def needs(self, kind: JobKind) -> bool:
        """Return whether the job needs one of a kind."""
        return bool(self._job.inputs.get(kind))

    def input(self, kind: JobKind, model: type[R]) -> R:
        """Return the result of the only needed job of a kind."""
        (result,) = self.inputs(kind, model)
        return result

    def inputs(self, kind: JobKind, model: type[R]) -> list[R]:
        """Return the results of all needed jobs of a kind, in no particular order."""
        assert KINDS[kind].result is model  # noqa: S101 - a handler's own mistake
        return [model.model_validate(result) for result in self._job.inputs[kind]]

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes, from the cache or the ledger."""
        data = self._cache.get(sha256)
        if data is None:
            self._connection.send(NeedArtifact(sha256))
            reply = self._connection.recv()
            assert isinstance(reply, ArtifactData)  # noqa: S101 - the protocol of `workers.runtime.messages`
            data = reply.data
            self._cache.put(sha256, data)
        return data

    def parsed(self, sha256: str, parse: Callable[[bytes], T]) -> T:
        """Return an artifact in an immutable form, parsed once for consecutive jobs.

        `parse` must be the same for the same artifact.
        """
        return self._cache.parsed(sha256, lambda: parse(self.artifact(sha256)))

    def keep(self, data: bytes) -> str:
        """Add an artifact to this job and return its SHA-256."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.artifacts[sha256] = data
        self._cache.put(sha256, data)
        return sha256

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Record the duration of the body."""
        started = time.perf_counter()
        yield
        self.timings[name] = time.perf_counter() - started

    def record(self, row: object, *, at_once: bool = False) -> None:
        """Record a row of the resume state, with others within about a second, or at once."""
        if len(self._pending) == _MAX_PENDING:  # only if another follows: the last go with the outcome
            self.flush()
        self._pending.append(row)
        if at_once or time.monotonic() - self._sent >= _FLUSH_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Send all pending rows."""
        if rows := self.take():
            self._connection.send(Rows(rows))
        self._sent = time.monotonic()

    def take(self) -> tuple[object, ...]:
        """Return and clear the pending rows, to be recorded with the outcome."""
        rows = tuple(self._pending)
        self._pending.clear()
        return rows

    def slice_over(self) -> bool:
        """Return whether the slice is over, so that the job should be given back."""
        return time.monotonic() >= self._ends
