"""Who holds a lease, and whether that process is alive."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from pathlib import Path


def owner_name(slot: int = 0) -> str:
    """Return a name for a worker slot that no other slot on any machine bears at the same time."""
    return f"{machine()}:{os.getpid()}:{process_start(os.getpid())}:{slot}"


@functools.cache
def machine() -> str:
    """Return what tells this machine, and this container on it, from others that use the same store.

    Machines may be clones with one host name, and containers of one host number their processes each anew.
    """
    machine_id = namespace = ""
    with contextlib.suppress(OSError):
        machine_id = Path("/etc/machine-id").read_text().strip()[:8]
    with contextlib.suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").stat().st_ino)
    return "-".join([socket.gethostname(), machine_id, namespace])


def process_start(pid: int) -> str | None:
    """Return what tells a process from a later one with the same pid; None if there is none such."""
    with contextlib.suppress(OSError):
        # Counted after the name, which may hold spaces and brackets: fields 3 (state) and 22 (start).
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # A zombie has ended; it only waits for a parent that may never ask for it.
        return None if fields[0] in "ZX" else fields[19]
    try:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return None
    return "unknown"  # no /proc on this system: the pid alone must do


def owner_is_gone(owner: str) -> bool:
    """Return whether a worker of this machine that held a lease has ended; False for other machines'."""
    host, pid, start, _ = owner.rsplit(":", 3)
    return host == machine() and process_start(int(pid)) != start
