"""Compiled functions and their cache, in processes of their own: damaged, full, nowhere, or of a stranger."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import ending, forked

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]
_MODULE = """
from wm.engines.compiled import compiled

@compiled()
def successor(n):
    return n + 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a module with a function to compile."""
    module = tmp_path / "modules" / "numbers_of.py"
    module.parent.mkdir()
    module.write_text(_MODULE)
    return module.parent


@pytest.fixture
def run(tmp_path: Path, folder: Path):
    """Return what compiles the function in a new interpreter, and returns whether its code was cached."""

    def call(**environment: str) -> bool:
        ran = ending.run(
            [sys.executable, "-P", "-B", "-m", "tests.successor", str(folder), "0"],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            }
            | environment,
        )
        assert ran.stderr == ""
        return ran.stdout == "1\n"

    return call


@pytest.fixture
def run_forked(tmp_path: Path, folder: Path):
    """Return what does the same in a process that has numba, not the function; no file exceeds a limit."""

    def call(limit: int = 0, cache: Path = tmp_path / "cache") -> bool:
        # Python ignores the signal, so that a write beyond the limit fails as on a full disk.
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        ran = forked.run("tests.successor", folder, limit, cwd=tmp_path, env=environment)
        assert ran.stderr == ""
        return ran.stdout == "1\n"

    return call


def test_code_is_kept(run) -> None:
    assert [run(), run()] == [False, True]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("size", [0, 10, 60])
def test_a_file_that_was_cut_short_is_made_again(run_forked, tmp_path: Path, ending: str, size: int) -> None:
    run_forked()
    (file,) = (tmp_path / "cache").rglob(f"*.{ending}")
    os.truncate(file, size)
    assert [run_forked(), run_forked()] == [False, True]


def test_a_directory_without_room_or_rights_is_done_without(run_forked, tmp_path: Path) -> None:
    assert [run_forked(limit=1000), run_forked(limit=1000)] == [False, False]
    assert run_forked() is False, "no index names code that could not be written"
    (tmp_path / "file").touch()
    assert run_forked(cache=tmp_path / "file") is False


def test_without_a_home_directory_the_cache_is_a_temporary_one(run, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # As root has a home in the password file, one that is no directory stands for none.
    places = {"NUMBA_CACHE_DIR": "", "HOME": "/dev/null", "TMPDIR": str(temporary)}
    assert [run(**places), run(**places)] == [False, True]
    (private,) = temporary.iterdir()
    assert private.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "~").exists()


def test_a_temporary_directory_that_others_may_write_is_not_used(run, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = {"NUMBA_CACHE_DIR": "", "HOME": "/dev/null", "TMPDIR": str(temporary)}
    run(**places)
    next(temporary.iterdir()).chmod(0o777)
    assert [run(**places), run(**places)] == [False, False]


def test_code_of_another_signature_is_not_run(tmp_path: Path) -> None:
    """Two processes that compile at the same time can give two signatures the same file."""
    (tmp_path / "numbers_of.py").write_text(_MODULE)
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from numbers_of import successor\n"
        "assert repr((successor(41), successor(1.5))) == '(42, 2.5)', (successor(41), successor(1.5))\n"
    )

    def call() -> None:
        command = [sys.executable, "-P", "-B", "-c", program, str(ROOT), str(tmp_path)]
        environment = {"PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        assert ending.run(command, env=environment).stderr == ""

    call()
    one, other = sorted((tmp_path / "cache").rglob("*.nbc"))
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    call()
    one.write_bytes(contents[1])
    call()


def test_it_is_compiled_even_where_numba_is_told_not_to(run) -> None:
    """Else the engines, which use machine instructions that Python lacks, would answer nothing."""
    assert [run(NUMBA_DISABLE_JIT="1"), run(NUMBA_DISABLE_JIT="1")] == [False, True]
