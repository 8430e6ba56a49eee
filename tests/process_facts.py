"""A program that says what kind of process it is; for `tests/test_forked.py`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """Print what a process has from its start, or do what its argument says."""
    match sys.argv[1:]:
        case ["wait"]:
            print("waiting", flush=True)
            signal.pause()
        case ["fail"]:
            raise RuntimeError("on purpose")
        case ["read"]:
            print(sys.stdin.read())
    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)
    facts = {
        "arguments": sys.argv[1:],
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "streams": {
            name: stream
            and [stream.fileno(), stream.encoding, stream.errors, stream.line_buffering, stream.isatty()]
            for name, stream in streams.items()
        },
        "descriptors": [number for number in range(64) if _is_open(number)],
        "signals": [getattr(handler, "__name__", str(handler)) for handler in map(signal.getsignal, signals)],
        "threads": threading.active_count(),
        "leads a session": os.getsid(0) == os.getpid(),
        "name": __name__,
    }
    print(json.dumps(facts), file=streams["stdout"] or streams["stderr"])
    print("to stderr", file=sys.stderr)
    sys.exit(7)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
