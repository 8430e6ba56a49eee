"""Folders of servers; if the process that made one was killed, the next to make one removes it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

PREFIX = "treeproof-server-"
_LOCK = "lock"


def make_folder(parent: Path | None = None) -> Path:
    """Make an empty folder for this process, and remove those of processes that are gone.

    Not in pytest's directories: the path of a unix socket must be short, and another user must get in.
    """
    parent = parent or Path(tempfile.gettempdir())
    remove_abandoned(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        # Not closed: the kernel does it, and so lets go of the lock, however this process ends.
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():  # else another process took it for abandoned before it was locked
            return folder
        os.close(lock)


def remove_abandoned(parent: Path) -> None:
    """Remove the folders whose owners are gone, and end the servers that still run in them."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            with (folder / _LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_processes_in(folder)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # in use, another user's, just being made, or just removed by another process
            continue


def end_processes_in(folder: Path, *, within_s: float = 10.0) -> None:
    """Kill the processes whose working directory is in a folder, and wait until they are gone."""
    deadline = time.monotonic() + within_s
    while (found := _processes_in(folder)) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _processes_in(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:  # ended meanwhile, or another user's
            continue
        if place.is_relative_to(folder):
            found.append(int(process.name))
    return found
