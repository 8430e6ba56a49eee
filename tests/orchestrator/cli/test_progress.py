"""Progress: a bar on a terminal, a line now and then elsewhere, never a byte on stdout."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator import pace
from orchestrator.cli import progress
from orchestrator.store.campaigns import Progress
from orchestrator.store.tables import JobState
from tests import ending, forked


def _progress(done: int, total: int) -> Progress:
    jobs = dict.fromkeys(JobState, 0)
    jobs[JobState.DONE] = done
    jobs[JobState.READY] = total - done
    return Progress(jobs, done, total)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that only the lines go by, in seconds."""
    time = SimpleNamespace(now=100.0, monotonic=lambda: time.now)
    monkeypatch.setattr(pace, "time", time)
    return time


@pytest.mark.parametrize("colours", ["", "1"])
def test_off_a_terminal_a_line_comes_every_ten_seconds_and_at_the_end(
    clock: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, colours: str
) -> None:
    monkeypatch.setenv("FORCE_COLOR", colours)  # as notebooks set it, which are no terminals either
    with progress.shown("tiny") as show:
        for done in range(25):
            show(_progress(done, 25))
            clock.now += 1.0
        show(_progress(25, 25))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "tiny: 10 of 25; 15 ready, 10 done",
        "tiny: 20 of 25; 5 ready, 20 done",
        "tiny: 25 of 25; 25 done",
    ]


def test_states_in_words() -> None:
    assert progress.states(_progress(2, 5)) == "3 ready, 2 done"
    assert progress.states(_progress(0, 0)) == "no jobs, all done"


class _Terminal:
    """A pseudo-terminal whose other end is read as it is written."""

    def __init__(self) -> None:
        self._master, self.descriptor = pty.openpty()
        self._shown = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # on Linux the last writer has left
                return
            if not chunk:
                return
            self._shown += chunk

    def text(self) -> str:
        """Return what was shown, without colours; the other end must be closed by all."""
        ending.join(self._reader)
        os.close(self._master)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._shown.decode())


@contextmanager
def _as_stderr(terminal: _Terminal, monkeypatch: pytest.MonkeyPatch):
    with (
        os.fdopen(terminal.descriptor, "w", encoding="utf-8") as stream,
        monkeypatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", stream)
        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "160")
        yield
        assert out.getvalue() == ""


def test_on_a_terminal_a_bar_shows_counts_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    with _as_stderr(terminal, monkeypatch), progress.shown("tiny") as show:
        for done in (0, 30, 60):
            show(_progress(done, 120))
    text = terminal.text()
    assert "tiny" in text
    assert "60/120" in text
    assert re.search(r"\d+\.\d/s", text)
    assert re.search(r"left \d:\d\d:\d\d", text)
    assert "60 ready, 60 done" in text


@pytest.mark.system
def test_a_run_on_a_terminal_keeps_stdout_for_data(tiny, tmp_path: Path) -> None:
    terminal = _Terminal()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "160"}
    try:
        process = forked.start(
            *("orchestrator.cli", "campaign", "run", tiny.file, "--workers", 1),
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=terminal.descriptor,
        )
    finally:
        os.close(terminal.descriptor)
    out, _ = process.communicate(timeout=120)
    text = terminal.text()
    assert (process.returncode, out) == (0, b"")
    assert "36/36" in text
    assert re.search(r"\d+\.\d/s", text)
    assert "12 done" in text
    assert text.splitlines()[-1] == "tiny: finished"
    listed = forked.run("orchestrator.cli", "campaign", "list", "--json", cwd=tmp_path, env=environment)
    assert listed.stderr == ""
    assert [row["state"] for row in json.loads(listed.stdout)] == ["finished"]
