"""Open the store: connections, transactions, schema version."""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from orchestrator.errors import NotFoundError, SchemaError, StoreError, StoreUnavailableError, StoreUrlError
from orchestrator.store import postgres_url
from orchestrator.store.sqlite_file import SqliteFile
from workers.addresses import masked

if TYPE_CHECKING:
    from alembic.config import Config


class Lock(IntEnum):
    """Actions that at most one transaction may do at a time."""

    SCHEMA = 1
    """Changing tables."""
    PLAN = 2
    """Adding, cancelling or reviving many jobs."""


_MIGRATIONS = Path(__file__).parent / "migrations"
_REVISIONS = sa.table("alembic_version", sa.column("version_num", sa.String))

_LOCKS = 0x7472_6565
"""Distinguishes our advisory locks from those of other programs in the same database ("tree")."""

_TRANSIENT = ("08", "25P03", "25P04", "40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03", "57P05")
"""Prefixes of PostgreSQL's SQLSTATEs after which the same transaction may succeed a moment later."""


class Store:
    """The store of a SQLAlchemy URL; opens connections on demand, so an unused one may cross a fork.

    Raises
    ------
    StoreUrlError
        Malformed URL, another kind of database, or a directory that does not exist.
    StoreError
        The driver is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            self._url = sa.make_url(url)
            if self.is_sqlite:
                # SQLAlchemy forgets parameters without a value.
                parameters = dict(parse_qsl(url.partition("?")[2], keep_blank_values=True))
                self._file = SqliteFile(self._url, parameters, str(self))
                # A file that is only read may be written by others, and is looked at anew each time.
                pool = sa.QueuePool if self._file.access() == "write" else sa.NullPool
                self._engine = sa.create_engine("sqlite://", creator=self._file.connect, poolclass=pool)
            elif url.count("@") > 1:  # else a part of the password would be read as the host, and shown
                raise StoreUrlError(f"store {masked(url)}: write an @ in a password as %40")
            elif self._url.get_backend_name() != "postgresql":
                raise StoreUrlError(f"store {self}: use sqlite:///FILE or postgresql+psycopg://...")
            else:
                self._engine = postgres_url.create_engine(self._url, str(self))
        except (sa.exc.ArgumentError, ValueError) as reason:  # ValueError: a port that is no number
            raise StoreUrlError(f"store {masked(url)} is not a database URL, as sqlite:///wm.db") from reason
        except ModuleNotFoundError as reason:
            raise StoreError(f"store {self}: the driver is not installed ({reason})") from reason
        # A store that nobody closed closes its connections when it is forgotten, not at exit: a forked
        # child must not say goodbye on its parent's connections.
        weakref.finalize(self, self._engine.dispose).atexit = False
        self._turn: AbstractContextManager[object] = nullcontext()
        if self.is_sqlite:
            # SQLite's writers poll while they wait for each other; our own threads wait for a lock instead.
            self._turn = threading.Lock()
            sa.event.listen(self._engine, "begin", _begin_sqlite)

    def __str__(self) -> str:
        return masked(self._url.render_as_string(hide_password=False))

    @property
    def folder(self) -> Path | None:
        """The directory of a SQLite file."""
        return self._file.path.resolve().parent if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether all workers must be on this host."""
        return self._url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self, **options: Any) -> Iterator[sa.Connection]:
        """Open a transaction that only reads, with further options of its execution."""
        options["wm_read"] = True
        with self._explained(), self._engine.connect().execution_options(**options) as connection:
            yield connection

    def snapshot(self) -> AbstractContextManager[sa.Connection]:
        """Open a transaction that only reads, and sees the store as it is at its beginning."""
        return self.read() if self.is_sqlite else self.read(isolation_level="REPEATABLE READ")

    def rows(self, query: sa.Executable) -> Sequence[Any]:
        """Return all rows of a query that is a transaction of its own."""
        with self.read() as connection:
            return connection.execute(query).all()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that writes; it commits at the end, or not at all."""
        with self._turn, self._explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DBAPIError as reason:
            text = " ".join(str(reason.orig).split())
            if "no such table" in text or ("does not exist" in text and "relation" in text):
                text += "; run: wm db upgrade"
            error = StoreUnavailableError if self._may_pass(reason) else StoreError
            raise error(f"store {self}: {text}") from reason

    def _may_pass(self, reason: sa.exc.DBAPIError) -> bool:
        """Return whether the same transaction may succeed a moment later."""
        if self.is_sqlite:
            return "database is locked" in str(reason.orig)
        state = getattr(reason.orig, "sqlstate", None)
        if state is None:  # no answer from a server
            return isinstance(reason, sa.exc.OperationalError)
        return bool(state.startswith(_TRANSIENT))

    def insert_new(
        self, connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
    ) -> int:
        """Insert rows whose key does not exist yet; return their number.

        A single row may hold SQL expressions.
        """
        if not rows:
            return 0
        insert = sqlite.insert if self.is_sqlite else postgresql.insert
        # One statement for all rows is compiled once; without the option drivers give no count.
        statement = insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        if len(rows) == 1:
            return int(connection.execute(statement.values(**rows[0])).rowcount)
        return int(connection.execute(statement, [dict(row) for row in rows]).rowcount)

    def is_one_of(self, column: sa.ColumnElement[int], values: Collection[int]) -> sa.ColumnElement[bool]:
        """Return the condition that a column has one of some values, passed as a single parameter."""
        if self.is_sqlite:
            listed = sa.func.json_each(json.dumps(list(values))).table_valued("value")
            return column.in_(sa.select(listed.c.value))
        return column == sa.any_(sa.literal(list(values), postgresql.ARRAY(sa.Integer)))

    def clock(self) -> sa.ColumnElement[float]:
        """Return an expression for the time, in seconds since 1970 by the store's one clock."""
        if self.is_sqlite:
            return sa.literal(time.time())
        return sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float)

    def lock(self, connection: sa.Connection, lock: Lock) -> None:
        """Hold a lock until the end of the transaction; SQLite needs none, as it has one writer at a time."""
        if not self.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCKS, lock.value)))

    def end_silent_sessions(self) -> None:
        """End sessions of PostgreSQL whose locks would stay for ever, see `silence.END_SILENT`."""
        from orchestrator.store import silence

        if self.is_sqlite:
            return
        # A server may forbid this.
        with self._explained(), suppress(sa.exc.ProgrammingError), self._engine.begin() as connection:
            connection.exec_driver_sql(silence.END_SILENT, (silence.IDLE_S,))

    def upgrade(self) -> None:
        """Bring the schema up to date, creating it in an empty database.

        Raises
        ------
        SchemaError
            A schema newer than this program.
        StoreError
            No rights to change it.
        """
        from alembic import command

        if self.is_sqlite:
            self._file.create()
        current = self.revision()
        if current == head_revision():
            return
        self._check_known(current)
        config = alembic_config()
        with self.write() as connection:
            self.lock(connection, Lock.SCHEMA)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def revision(self) -> str | None:
        """Return the schema's revision; None in an empty database."""
        with self.read() as connection:
            if not sa.inspect(connection).has_table(_REVISIONS.name):
                return None
            revision: str | None = connection.scalar(sa.select(_REVISIONS.c.version_num))
            return revision

    def check(self) -> None:
        """Check that the schema is the one of this program.

        Raises
        ------
        NotFoundError
            There is no such SQLite file.
        SchemaError
            An empty database, or another schema.
        """
        if self.is_sqlite and not self._file.path.is_file():
            raise NotFoundError(f"there is no store {self}: give --store or WM_STORE_URL, or run a campaign")
        current = self.revision()
        if current is None:
            raise SchemaError(f"store {self} is empty", "run a campaign, or wm db upgrade")
        self._check_known(current)
        if current != head_revision():
            raise SchemaError(
                f"store {self} has schema {current}, not {head_revision()}", "run wm db upgrade"
            )

    def _check_known(self, revision: str | None) -> None:
        if revision is not None and revision not in known_revisions():
            raise SchemaError(
                f"store {self} has schema {revision}, newer than this program", "upgrade treeproof"
            )


def head_revision() -> str:
    """Return the revision that this program uses."""
    return known_revisions()[0]


def known_revisions() -> list[str]:
    """Return all revisions from the newest to the oldest: the numbers of the files of migrations."""
    return sorted((path.name[:4] for path in _MIGRATIONS.glob("versions/[0-9]*.py")), reverse=True)


def alembic_config() -> Config:
    """Return the settings with which Alembic's commands find the migrations.

    A command runs on the connection that is in its ``attributes`` under "connection".
    """
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))  # else % begins a variable
    config.set_main_option("path_separator", "os")
    return config


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes its lock at once: if it reads first it could fail with "locked".
    reading = connection.get_execution_options().get("wm_read", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
