"""A store that cannot be used is infrastructure, exit code 4, unless its name is the user's mistake."""

from __future__ import annotations

import resource
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.store import sqlite_file
from tests import ending

READING = [
    ["campaign", "list"],
    ["campaign", "status", "tiny"],
    ["campaign", "resume", "tiny"],
    ["results", "accuracy", "tiny"],
    ["results", "jobs", "tiny", "--json"],
    ["report", "tiny"],
    ["db", "check"],
]


def _line(ran) -> str:
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("wm: ")
    return line


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_file_that_is_no_database(wm, arguments: list[str]) -> None:
    Path("wm.db").write_bytes(bytes(range(256)) * 20)
    ran = wm(*arguments)
    assert ran.code == 4
    assert "not a database" in _line(ran)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_an_empty_database(wm, arguments: list[str]) -> None:
    Path("wm.db").touch()
    ran = wm(*arguments)
    assert ran.code == 4
    assert "wm db upgrade" in _line(ran)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_no_store_at_all_is_the_users_mistake_and_none_is_made(wm, arguments: list[str]) -> None:
    ran = wm(*arguments)
    assert ran.code == 2
    assert "WM_STORE_URL" in _line(ran)
    assert not Path("wm.db").exists()


@pytest.mark.parametrize("arguments", [["campaign", "list"], ["db", "upgrade"]], ids=" ".join)
def test_a_schema_of_a_later_program(wm, arguments: list[str]) -> None:
    assert wm("db", "upgrade").code == 0
    with closing(sqlite3.connect("wm.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'later'")
    ran = wm(*arguments)
    assert ran.code == 4
    assert "later" in _line(ran)


def test_a_store_that_another_program_keeps_locked(wm, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0)
    assert wm("db", "upgrade").code == 0
    with closing(sqlite3.connect("wm.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = wm("campaign", "run", tiny.file)
        assert ran.code == 4
        assert "locked" in _line(ran)


def test_a_directory_in_the_stores_place(wm, tiny) -> None:
    Path("wm.db").mkdir()
    ran = wm("campaign", "run", tiny.file)
    assert ran.code == 4
    assert "unable to open" in _line(ran)


@pytest.mark.parametrize("url", ["garbage", "", "mysql://host/x", "sqlite:///no/such/directory/wm.db", "://"])
def test_a_malformed_address_is_the_users_mistake(wm, tiny, url: str) -> None:
    for arguments in (["campaign", "list"], ["campaign", "run", tiny.file]):
        ran = wm(*arguments, "--store", url)
        assert ran.code == 2
        _line(ran)


def test_a_missing_driver_and_no_password_in_the_message(wm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = wm("campaign", "list", "--store", "postgresql+psycopg://wm:secret@localhost:1/wm")
    assert ran.code == 4
    assert "driver" in _line(ran)
    assert "secret" not in ran.err


@pytest.mark.system
def test_no_room_on_the_disk(tiny, tmp_path: Path) -> None:
    ran = ending.run(
        [sys.executable, "-m", "orchestrator.cli", "db", "upgrade"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[3]), "PYTHONDONTWRITEBYTECODE": "1"},
        # Python ignores the signal, so that a write beyond the limit fails as on a full disk.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        code=4,
    )
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("wm: store sqlite:///wm.db: ")
