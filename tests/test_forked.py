"""Processes of the nursery are as those of new interpreters, so that tests may take them for these."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wm.isolation
from tests import ending, forked
from tests.family import Family
from wm.isolation import Sandbox

MODULE = "tests.process_facts"
ROOT = Path(__file__).resolve().parent.parent


def environment_of(family: Family) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | family.environment


@pytest.mark.parametrize("new_session", [True, False])
@pytest.mark.parametrize("closed", [(), (0,), (1,), (0, 1)], ids=str)
def test_it_has_what_a_new_interpreter_has(tmp_path, closed, new_session) -> None:
    """Streams, signals, descriptors, environment, folder, arguments: as they come from `subprocess`."""
    family = Family()
    reader, writer = os.pipe()
    same = {
        "cwd": tmp_path,
        "env": environment_of(family),
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "start_new_session": new_session,
        "pass_fds": [writer],
        "text": True,
    }
    words = ("with", "two words", "é")
    with os.fdopen(reader), os.fdopen(writer, "w"):
        with subprocess.Popen(
            [sys.executable, "-m", MODULE, *words],
            preexec_fn=lambda: [os.close(number) for number in closed],
            **same,
        ) as process:
            expected = process.communicate(timeout=60)
        with forked.start(MODULE, *words, closed=closed, **same) as own:
            found = own.communicate(timeout=60)
    assert own.returncode == process.returncode == 7
    place = 1 if 1 in closed else 0
    new, forks = (json.loads(streams[place].splitlines()[0]) for streams in (expected, found))
    assert forks["environment"].pop(forked.STARTER) == str(os.getpid())
    assert forks == new
    assert expected[1].endswith("to stderr\n")
    assert found[1].endswith("to stderr\n")


def test_it_is_found_by_its_mark_and_its_end_is_told() -> None:
    family = Family()
    with forked.start(
        MODULE, "wait", env=environment_of(family), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"waiting\n"
        assert family.living() == [process.pid]
        assert forked.starter_of(process.pid) == os.getpid()
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        assert shown == [os.fsencode(sys.executable), b"-m", b"tests.process_facts", b"wait"]
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert process.wait(60) == process.poll() == -signal.SIGKILL
    assert family.gone()
    assert forked.starter_of(process.pid) is None


def test_exceptions_are_printed_and_input_is_read() -> None:
    failed = forked.run(MODULE, "fail", code=1)
    assert failed.stderr.splitlines()[-1] == "RuntimeError: on purpose"
    with forked.start(
        MODULE, "read", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        process.stdin.write("some words")
        out, _ = process.communicate()
    assert out.splitlines()[0] == "some words"
    with pytest.raises(AssertionError, match="exit code 7: to stderr"):
        forked.run(MODULE)


def test_templates_are_forked_unless_their_imports_would_be_others(tmp_path, monkeypatch) -> None:
    assert wm.isolation.subprocess is forked.SUBPROCESS, "for all tests"
    with Sandbox("workers.runtime.service") as sandbox:
        sandbox.ready()
        template = int(Path(f"/proc/{sandbox.child_pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert forked.starter_of(template) == os.getpid()
    ending.until(lambda: not Path(f"/proc/{template}").exists())
    (tmp_path / "elsewhere.py").write_text(
        "def prepare(): return None\ndef serve(connection, _): connection.recv()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with Sandbox("elsewhere") as sandbox:
        sandbox.ready()
        assert forked.starter_of(sandbox.child_pid) is None
