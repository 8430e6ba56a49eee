"""SQLite files as stores: how a URL names them, and what is set on each connection."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from orchestrator.errors import StoreUrlError

BUSY_TIMEOUT_S = 30
"""How long SQLite waits for another writer."""

_TRUE = ("1", "true", "on", "yes")
_MODES = ("ro", "rw", "rwc")

Access = Literal["write", "read", "frozen"]
"""What is possible: ``frozen`` is reading a file that nobody can be writing, without any lock."""


class SqliteFile:
    """The file of a URL as ``sqlite:///wm.db``, or ``sqlite:///file:wm.db?uri=true``.

    With ``?mode=ro`` it is only read, with ``?immutable=1`` even without locks.

    Raises
    ------
    StoreUrlError
        It names no file, one in a directory that does not exist, or unknown parameters.
    """

    def __init__(self, url: sa.URL, parameters: Mapping[str, str], shown: str) -> None:
        name = url.database or ""
        if parameters.get("uri", "").lower() in _TRUE:
            name = name.removeprefix("file:")
        if name in ("", ":memory:"):
            raise StoreUrlError(f"store {shown}: threads cannot share a database in memory: name a file")
        if unknown := sorted(set(parameters) - {"immutable", "mode", "uri"}):
            raise StoreUrlError(
                f"store {shown}: unknown parameter {unknown[0]!r}; write a ? in the name of a file as %3F"
            )
        self._mode = parameters.get("mode", "rwc")
        if self._mode not in _MODES:
            raise StoreUrlError(f"store {shown}: mode {self._mode!r} is none of {', '.join(_MODES)}")
        self._immutable = parameters.get("immutable", "").lower() in _TRUE
        self.path = Path(name)
        folder = self.path.resolve().parent
        if not folder.is_dir():
            raise StoreUrlError(f"store {shown}: there is no directory {folder}")

    def create(self) -> None:
        """Create the file, if there is none, so that nobody else may read it: a store holds claims."""
        if self._mode != "rwc" or self._immutable:
            return
        with suppress(OSError):  # opening the database, which follows, reports the reason
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def access(self) -> Access:
        """Return what can be done with the file now.

        A file in WAL mode cannot even be read by who may not write beside it, unless a writer has it open
        (then its log is there) or SQLite is told that nobody writes it.
        """
        if self._immutable:
            return "frozen"
        log = Path(f"{self.path}-wal")
        beside = os.access(log if log.exists() else self.path.resolve().parent, os.W_OK)
        if not self.path.exists() or (self._mode != "ro" and beside and os.access(self.path, os.W_OK)):
            return "write"
        return "read" if log.exists() and log.stat().st_size > 0 else "frozen"

    def connect(self) -> sqlite3.Connection:
        """Return a new connection; transactions are begun by SQLAlchemy, not by the driver."""
        access = self.access()
        mode = {"write": f"mode={self._mode}", "read": "mode=ro", "frozen": "immutable=1"}[access]
        connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?{mode}", uri=True, check_same_thread=False, isolation_level=None
        )
        try:
            self._set_up(connection, writes=access == "write")
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _set_up(connection: Any, *, writes: bool) -> None:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
        if writes:
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")


def _write_ahead(connection: Any) -> None:
    """Put the file in WAL mode, which lasts.

    SQLite reports a new file as locked at once, whatever its timeout, while another connection does the same.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as reason:
            if "locked" not in str(reason) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
