"""Notice connections to PostgreSQL that fell silent.

A firewall, a load balancer or address translation may forget a connection without a word. Where nobody
acknowledges packets any more the limits of TCP end it (see `orchestrator.store.postgres_url`). Where
something in between does, a server that works for long looks like one that was never asked, or whose answer
is lost: a new connection asks what the server does for the old one.

The server's side of a silent connection is ended too, because its transaction may hold locks. In the middle
of a pipeline, which psycopg uses for many rows, PostgreSQL's own limit is not in force: the session counts
as active, or has begun to read the next command.
"""

from __future__ import annotations

import contextlib
import fcntl
import struct
import termios
from collections.abc import Generator
from typing import Any, Self

import psycopg

from wm.running_time import RunningTime

SILENCE_S = 15.0
"""Time without a sign of life after which the server is asked what it does."""

IDLE_S = 20
"""Longest time that a transaction waits for its client, as `orchestrator.store.postgres_url` asks for."""

_RECHECK_S = 1.0
"""An answer may be on its way while the server says that it is idle: it is asked once more."""

_LOOKED_AT_S = 0.1
"""Longest wait between two looks."""

_IS_WORKING = """
SELECT pg_backend_pid() <> %s, (
    SELECT state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' FROM pg_stat_activity WHERE pid = %s
)
"""

_END_THIS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND pg_has_role(usesysid, 'USAGE')
"""

END_SILENT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pg_has_role(usesysid, 'USAGE')
    AND datname = current_database() AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL
    AND state IN ('active', 'idle in transaction') AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - make_interval(secs => %s)
    AND pid IN (SELECT pid FROM pg_locks WHERE relation IN (to_regclass('job'), to_regclass('artifact')))
"""
"""Ends sessions that have written to the store, and since then waited for their client for so many seconds.

Their process is suspended, or their connection is lost. Only of roles whose rights this one has, and none of
other programs in the same database.
"""


class SilentConnectionError(psycopg.OperationalError):
    """A connection fell silent, and was closed."""


class _LimitedConnection(psycopg.Connection[Any]):
    """A connection that waits for an answer for at most `SILENCE_S`."""

    def wait(self, gen: Any, *_interval: Any, **options: Any) -> Any:
        """Wait for an answer; a `SilentConnectionError` if none comes."""
        return super().wait(self._listening(gen), **options | {"interval": _LOOKED_AT_S})

    def _listening(self, answer: Any) -> Generator[Any, Any, Any]:
        """Pass psycopg's own generator on, and count the time in which its socket was not ready."""
        clock, patience_s = RunningTime(), SILENCE_S
        try:
            wanted = next(answer)
            while True:
                is_ready = yield wanted
                if is_ready:
                    clock, patience_s = RunningTime(), SILENCE_S
                elif clock.look() >= patience_s:
                    patience_s = self._patience_s(is_again=patience_s < SILENCE_S)
                    clock = RunningTime()
                wanted = answer.send(is_ready)
        except StopIteration as end:
            return end.value

    def _patience_s(self, *, is_again: bool) -> float:
        """Return for how much longer to wait; `is_again` if it was asked for a short time only before."""
        del is_again
        raise self._silent(f"no answer for {SILENCE_S:g} s")

    def _silent(self, reason: str) -> SilentConnectionError:
        self.close()  # SQLAlchemy drops it then, and those that are as old
        return SilentConnectionError(f"the connection fell silent: {reason}")


class WatchedConnection(_LimitedConnection):
    """A connection that notices within half a minute that the server no longer answers on it."""

    _given: tuple[Any, dict[str, Any]] = ((), {})

    @classmethod
    def connect(cls, *arguments: Any, **options: Any) -> Self:
        """Connect, with the arguments of `psycopg.connect`."""
        connection = super().connect(*arguments, **options)
        connection._given = arguments, options
        return connection

    def _patience_s(self, *, is_again: bool) -> float:
        if self._is_sending():
            return SILENCE_S
        try:
            is_working = self._is_working(is_again=is_again)
        except psycopg.OperationalError as reason:
            if "FATAL" in str(reason):  # a server that refuses, as with too many clients, is not silent
                return SILENCE_S
            raise self._silent(f"no answer for {SILENCE_S:g} s, and to no new one: {reason}") from reason
        if is_working:
            return SILENCE_S
        if is_again:
            raise self._silent(f"no answer for {SILENCE_S:g} s, and the server does not work on one")
        return _RECHECK_S

    def _is_sending(self) -> bool:
        """Return whether TCP still waits for acknowledgements: its own limit will end the connection."""
        if not self.info.hostaddr:  # a local socket
            return False
        with contextlib.suppress(OSError):
            unsent = fcntl.ioctl(self.pgconn.socket, termios.TIOCOUTQ, struct.pack("i", 0))
            return bool(struct.unpack("i", unsent)[0])
        return False

    def _is_working(self, *, is_again: bool) -> bool:
        """Ask a new connection whether the server works on what this one asked; end what does not go on."""
        arguments, options = self._given
        pid = self.info.backend_pid
        with _LimitedConnection.connect(*arguments, **options | {"autocommit": True}) as other:
            found = other.execute(_IS_WORKING, [other.info.backend_pid, pid]).fetchone()
            assert found is not None  # noqa: S101 - a query without FROM has one row
            is_hidden, is_working = found
            if is_hidden:  # by a pooler such as PgBouncer: the server's processes are not known then
                return True
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):  # of a server that forbids this
                if is_working:
                    other.execute(END_SILENT, [IDLE_S])  # it may wait for a lock of theirs
                elif is_again:
                    other.execute(_END_THIS, [pid])
        return bool(is_working)
