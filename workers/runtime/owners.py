"""Name the owners of leases, and find out whether their processes are alive."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from pathlib import Path


def owner_name(slot: int = 0) -> str:
    """Return the name of a worker slot, unique over all machines at a time."""
    return f"{machine()}:{os.getpid()}:{process_start(os.getpid())}:{slot}"


@functools.cache
def machine() -> str:
    """Return a name of this machine, or container, that is unique among users of a store.

    Cloned machines may share a host name, and containers of one host have equal process ids.
    """
    machine_id = namespace = ""
    with contextlib.suppress(OSError):
        machine_id = Path("/etc/machine-id").read_text().strip()[:8]
    with contextlib.suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").stat().st_ino)
    return "-".join([socket.gethostname(), machine_id, namespace])


def process_start(pid: int) -> str | None:
    """Return a mark that distinguishes a process from later ones with its pid; None if there is none."""
    with contextlib.suppress(OSError):
        state, start = _state_and_start(pid)
        # A zombie has ended; its parent may never collect it.
        return None if state in "ZX" else start
    try:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return None
    return "unknown"  # no /proc on this system: the pid alone must do


def _state_and_start(pid: int) -> tuple[str, str]:
    """Return the letter of a process's state and the time of its start, from Linux's /proc."""
    # Counted after the name, which may hold spaces and brackets: fields 3 and 22.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]


def owner_is_gone(owner: str) -> bool:
    """Return whether the owner was a process of this machine that has ended."""
    host, pid, start, _ = owner.rsplit(":", 3)
    return host == machine() and process_start(int(pid)) != start


def owner_is_running(owner: str) -> bool:
    """Return whether the owner is a process of this machine that is not stopped."""
    host, pid, start, _ = owner.rsplit(":", 3)
    if host != machine():
        return False
    with contextlib.suppress(OSError):
        state, found = _state_and_start(int(pid))
        return found == start and state not in "ZXTt"
    return False
