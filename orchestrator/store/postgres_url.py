"""What a URL of PostgreSQL may say, and what is asked for besides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import StoreError, StoreUrlError

_LIMITS: dict[str, Any] = {
    # A server that vanished is noticed, also in the middle of an answer.
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "idle_in_transaction_session_timeout": "20s",  # see also `silence`
        "tcp_keepalives_idle": 10,
        "tcp_keepalives_interval": 5,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": "20s",
    }.items()
)
"""A worker that is suspended, or whose host vanishes, must not lock its jobs for ever."""

_POOL: dict[str, Any] = {
    "pool_pre_ping": True,
    # Enough connections for a worker's slots, opened on demand; see also PostgreSQL's max_connections.
    "max_overflow": 100,
    "pool_use_lifo": True,
    # Our transactions lock the rows that they depend on; a stricter default of the database would only make
    # them fail and be repeated.
    "isolation_level": "READ COMMITTED",
}


def create_engine(url: sa.URL, shown: str) -> sa.Engine:
    """Return an engine for a URL; what it says wins, and its ``options`` are added to ours.

    Its parameters are those of libpq, and psycopg's ``prepare_threshold`` (a number, or ``none``).

    Raises
    ------
    StoreUrlError
        Unknown parameters.
    ModuleNotFoundError
        The driver is not installed.
    """
    # If a parameter is given twice the last one wins; hosts stay in the URL.
    parameters = {name: each if isinstance(each, str) else each[-1] for name, each in url.query.items()}
    given: dict[str, Any] = dict(_LIMITS)
    options = parameters.get("options", os.environ.get("PGOPTIONS", ""))
    given["options"] = f"{_OPTIONS} {options}".strip()
    if url.get_driver_name() == "psycopg":
        _check_known(parameters, shown)
        if (threshold := parameters.get("prepare_threshold")) is not None:
            given["prepare_threshold"] = _threshold(threshold, shown)
    ours = {name: value for name, value in given.items() if name not in parameters or name not in _LIMITS}
    url = url.difference_update_query(["options", "prepare_threshold"])
    engine = sa.create_engine(url, connect_args=ours, **_POOL)

    def check_encoding(connection: Any, _record: object) -> None:
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            raise StoreError(f"store {shown}: its encoding is SQL_ASCII, it must be UTF8")

    if url.get_driver_name() == "psycopg":
        # Before SQLAlchemy asks for the version, whose text has no encoding then.
        sa.event.listen(engine, "connect", check_encoding, insert=True)
        sa.event.listen(engine, "do_connect", _connect_watched)
    return engine


def _connect_watched(
    _dialect: object, _record: object, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    from orchestrator.store.silence import WatchedConnection

    return WatchedConnection.connect(*arguments, **options)


def _check_known(parameters: Mapping[str, str], shown: str) -> None:
    from psycopg.pq import Conninfo

    known = {default.keyword.decode() for default in Conninfo.get_defaults()} | {"prepare_threshold"}
    if unknown := sorted(set(parameters) - known):
        raise StoreUrlError(f"store {shown}: unknown parameter {unknown[0]!r}")


def _threshold(text: str, shown: str) -> int | None:
    if text.lower() == "none":
        return None
    if not text.isdecimal():
        raise StoreUrlError(f"store {shown}: prepare_threshold must be a number or none, not {text!r}")
    return int(text)
