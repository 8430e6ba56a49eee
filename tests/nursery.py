"""The nursery: a process that has imported everything, and forks one for each that is asked of it.

See `tests.forked`, which asks. Each connection to its socket is for one process: it gets the process's id,
then its exit status. The nursery ends when its stdin does, which the process that started it holds.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import io
import os
import pickle
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import forked
from tests.forked import Request

_MODULES = (
    "orchestrator.cli.campaign",
    "orchestrator.cli.forge",
    "orchestrator.cli.results",
    "orchestrator.cli.services",
    "orchestrator.celery_executor",
    "orchestrator.executors",
    "orchestrator.launch",
    "orchestrator.loop",
    "sklearn.model_selection",
    "orchestrator.service",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "wm.engines.sat_incremental",
    "wm.engines.z3_bool",
    "wm.engines.z3_real",
    "workers.celery.consumer",
    "workers.celery.worker",
)
_HIGH = 200
"""Descriptors from here on are none that a caller names."""

_streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}


def _prepare() -> None:
    """Import what processes need, and load what is compiled."""
    for name in _MODULES:
        importlib.import_module(name)
    from tests.kernels import load_kernels
    from workers.runtime import service

    service.prepare()
    load_kernels()
    gc.collect()
    gc.freeze()  # a collection in a child would copy the pages of all objects


def _next(listener: socket.socket) -> Request:
    """Fork a process for each connection; return in each such process, never in the nursery."""
    woken, wake = socket.socketpair()
    for each in (woken, wake):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the tests
    signal.set_wakeup_fd(wake.fileno())
    callers: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as events:
        for each in (0, listener, woken):
            events.register(each, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in events.select()}
            if 0 in ready:
                os._exit(0)
            if woken in ready:
                woken.recv(4096)
                _report_exits(callers)
            if listener in ready:
                caller, _ = listener.accept()
                request, descriptors = _received(caller)
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    events.close()
                    for each in (listener, woken, wake, caller, *callers.values()):
                        each.close()
                    _become(request, descriptors)
                    return request
                for descriptor in descriptors:
                    os.close(descriptor)
                callers[child] = caller
                _tell(caller, child)


def _received(caller: socket.socket) -> tuple[Request, list[int]]:
    _, descriptors, _, _ = socket.recv_fds(caller, 1, 100)
    with os.fdopen(descriptors.pop(0), "rb") as file:
        file.seek(0)
        return pickle.load(file), descriptors  # noqa: S301 - of this run of the tests


def _report_exits(callers: dict[int, socket.socket]) -> None:
    while callers:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with callers.pop(child) as caller:
            _tell(caller, os.waitstatus_to_exitcode(status))


def _tell(caller: socket.socket, number: int) -> None:
    with contextlib.suppress(ConnectionError):  # one that was killed does not listen
        caller.sendall(b"%*d" % (forked.WIDTH, number))


def _become(request: Request, descriptors: Sequence[int]) -> None:
    """Make this process what `subprocess.Popen` would start."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.new_session:
        os.setsid()
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, _HIGH + place)
    os.closerange(0, _HIGH)
    for place, number in enumerate(request.numbers):
        os.dup2(_HIGH + place, number)
    os.closerange(_HIGH, _HIGH + len(descriptors))
    _open_streams()
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [request.module, *request.arguments]
    if "PYTHONFAULTHANDLER" in os.environ:
        faulthandler.enable(2)
    _show([sys.executable, "-m", *sys.argv], request.environment)


def _open_streams() -> None:
    """Open the standard streams as an interpreter does at its start; None for those that are closed."""
    for number, (name, own) in enumerate(_streams.items()):
        stream = None
        with contextlib.suppress(OSError):
            os.fstat(number)
            stream = io.TextIOWrapper(
                open(number, "wb" if number else "rb", closefd=False),  # noqa: SIM115 - to the end
                encoding=own.encoding,
                errors=own.errors,
                line_buffering=own.line_buffering or (os.isatty(number) and not own.write_through),
                write_through=own.write_through,
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _show(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write command and environment where the kernel looks for /proc, as far as they fit."""
    places = list(map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:49]))
    variables = [f"{name}={value}" for name, value in environment.items()]
    for (start, end), texts in ((places[:2], command), (places[2:], variables)):
        content = b"".join(os.fsencode(text) + b"\0" for text in texts)[: end - start]
        ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)


class _Status:
    """What a forked process exits with: 1 if an exception ends it."""

    code = 1


def _leave() -> None:
    """End an interpreter without freeing each of its objects, which takes longer than most commands."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
    os._exit(_Status.code)


if __name__ == "__main__":
    atexit.register(_leave)  # the first, so that it is called last
    _prepare()
    asked = _next(socket.socket(fileno=int(sys.argv[1])))
    forked.join(asked)
    if not hasattr(sys.modules.get(asked.module), "__path__"):
        sys.modules.pop(asked.module, None)  # else runpy warns that it runs it a second time
    try:
        runpy.run_module(asked.module, run_name="__main__", alter_sys=True)
        _Status.code = 0
    except SystemExit as left:
        _Status.code = int(left.code or 0)
