"""Commands and threads that tests wait for: each ends in time, or is a failure that says so."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

LIMIT_S = 120.0
"""Enough for a command on a busy machine; below the limit of each test in pyproject.toml."""


@contextlib.contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a command; at the end of the block it, and all of its process group, are killed."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run(
    command: Sequence[str | Path], *, code: int | None = 0, within_s: float = LIMIT_S, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a command to its end.

    Parameters
    ----------
    code
        What it must exit with; None for anything.
    within_s
        When it is killed, with all of its process group, and `subprocess.TimeoutExpired` is raised.
    options
        Those of `subprocess.Popen`; by default its input is empty and its output is captured as text.
    """
    captured = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    with started(command, **(captured | options)) as process:
        out, err = process.communicate(timeout=within_s)
    assert code is None or process.returncode == code, f"exit code {process.returncode}: {err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def join(*threads: threading.Thread, within_s: float = LIMIT_S) -> None:
    """Wait for the ends of threads."""
    for thread in threads:
        thread.join(within_s)
        assert not thread.is_alive(), f"{thread.name} has not ended after {within_s:g} s"


def until(moment: Callable[[], object], *, within_s: float = LIMIT_S) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + within_s
    while not moment():
        assert time.monotonic() < deadline, f"not within {within_s:g} s"
        time.sleep(0.02)
