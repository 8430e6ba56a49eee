"""Processes of this project that need no imports, as they are forked from one that has imported everything.

A new interpreter takes a second or two of imports until it is a `wm`, or the template of a
`wm.isolation.Sandbox`, and tests start hundreds of them. These are processes of their own as well: with an
id, a working directory, an environment and streams, and with signals and exit codes. What they lack is a
fresh interpreter: some tests of each kind start one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import wm.isolation
from tests.ending import LIMIT_S

WIDTH = 11
"""Bytes of a number on the line to a caller."""

STARTER = "TREEPROOF_STARTED_BY"
"""Variable of a forked process with the id of the process that asked for it."""

_ROOT = str(Path(__file__).resolve().parent.parent)
_FORK_SERVER = ["-P", "-m", "wm.fork_server"]
_AT_START = ("PYTHON", "NUMBA", "HOME", "XDG_", "TMPDIR", "LD_", "OMP_", "OPENBLAS_", "MKL_", "LANG", "LC_")
"""Variables that count when an interpreter starts or a library is imported."""


@dataclass(frozen=True)
class Request:
    """What a process is to run, ``python -m module arguments``, and what `subprocess.Popen` sets up for it.

    `numbers` are the descriptors that it is to have, for those that come with the request; `nursery` is where
    it can ask for processes itself, and `prepared` the environment that these can have.
    """

    module: str
    arguments: tuple[str, ...]
    cwd: bytes
    environment: Mapping[str, str]
    numbers: tuple[int, ...]
    new_session: bool
    nursery: str
    prepared: Mapping[str, str]


class Nursery:
    """The process that forks all others, started when it is first needed.

    Parameters
    ----------
    address, prepared
        Of one that another process has started; by default it is started here.
    """

    def __init__(self, address: str | None = None, prepared: Mapping[str, str] | None = None) -> None:
        # What Sandbox sets for its templates is set for all.
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
        self.prepared = dict(prepared or os.environ | one_thread | {"PYTHONPATH": path})
        self._address = address
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens, as an abstract unix socket."""
        if self._address is None:
            address = f"\0treeproof-nursery-{os.getpid()}-{time.monotonic_ns()}"
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(address)
                listener.listen(100)
                room = "-" * 4096  # for what `tests.nursery` lets /proc show
                command = [sys.executable, "-P", "-m", "tests.nursery", str(listener.fileno()), room]
                self._process = subprocess.Popen(
                    command,
                    pass_fds=[listener.fileno()],
                    stdin=subprocess.PIPE,
                    env=self.prepared | {"TREEPROOF_ROOM": room},
                )
            atexit.register(self.close)
            self._address = address
        return self._address

    def can_be(self, environment: Mapping[str, str]) -> bool:
        """Return whether a process with such an environment could have made the same imports."""

        def told(variables: Mapping[str, str]) -> dict[str, str]:
            return {
                name: value
                for name, value in variables.items()
                if name.startswith(_AT_START) and name not in ("PYTHONPATH", "PYTHONFAULTHANDLER")
            }

        paths, prepared = (
            set(filter(None, each.get("PYTHONPATH", "").split(os.pathsep)))
            for each in (environment, self.prepared)
        )
        return paths <= prepared and told(environment) == told(self.prepared)

    def close(self) -> None:
        """End it, if it was started here; processes that it has forked go on."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(LIMIT_S)
            self._process = None


class Process:
    """A process of the nursery, to be used as a `subprocess.Popen` is.

    Parameters
    ----------
    module, arguments
        It runs ``python -m module arguments``.
    stdin, stdout, stderr
        A file or its descriptor, `subprocess.PIPE` or `subprocess.DEVNULL`; None for this process's own.
    closed
        Which of the descriptors 0, 1 and 2 it does not have.
    pass_fds
        More descriptors that it has.
    """

    def __init__(
        self,
        nursery: Nursery,
        module: str,
        *arguments: object,
        cwd: bytes | str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        closed: Sequence[int] = (),
        pass_fds: Sequence[int] = (),
        start_new_session: bool = False,
        text: bool = False,
    ) -> None:
        self.args = [module, *map(str, arguments)]
        self.returncode: int | None = None
        self.stdin: Any = None
        self.stdout: Any = None
        self.stderr: Any = None
        self._turn = threading.Lock()
        self._line = socket.socket(socket.AF_UNIX)
        with contextlib.ExitStack() as stack:
            descriptors = {number: number for number in pass_fds}
            for number, (name, given) in enumerate(
                (("stdin", stdin), ("stdout", stdout), ("stderr", stderr))
            ):
                if number in closed:
                    continue
                theirs = number if given is None else given if isinstance(given, int) else given.fileno()
                if given == subprocess.DEVNULL:
                    theirs = os.open(os.devnull, os.O_RDWR)
                    stack.callback(os.close, theirs)
                elif given == subprocess.PIPE:
                    reading, writing = os.pipe()
                    ours, theirs = (writing, reading) if number == 0 else (reading, writing)
                    mode = "w" if number == 0 else "r"
                    setattr(self, name, open(ours, mode if text else f"{mode}b"))  # noqa: SIM115, PTH123
                    stack.callback(os.close, theirs)
                descriptors[number] = theirs
            request = Request(
                module,
                tuple(self.args[1:]),
                os.fsencode(Path.cwd() if cwd is None else cwd),
                {**(os.environ if env is None else env), STARTER: str(os.getpid())},
                tuple(descriptors),
                start_new_session,
                nursery.address,
                nursery.prepared,
            )
            file = stack.enter_context(tempfile.TemporaryFile())
            pickle.dump(request, file)
            file.flush()
            self._line.connect(nursery.address)
            socket.send_fds(self._line, [b"?"], [file.fileno(), *descriptors.values()])
            self.pid = self._number()

    def _number(self) -> int:
        told = b""
        while len(told) < WIDTH:
            more = self._line.recv(WIDTH - len(told))
            if not more:
                raise ChildProcessError("the nursery has ended")
            told += more
        return int(told)

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code."""
        with self._turn:
            if self.returncode is None:
                if not select.select([self._line], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
                self.returncode = self._number()
                self._line.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Wait for the end; return what it wrote to stdout and stderr, None where that is no pipe."""
        deadline = time.monotonic() + (LIMIT_S if timeout is None else timeout)
        written: dict[str, Any] = {"stdout": None, "stderr": None}

        def read(name: str, stream: Any) -> None:
            written[name] = stream.read()

        if self.stdin is not None:
            self.stdin.close()
        streams = {name: stream for name in written if (stream := getattr(self, name)) is not None}
        readers = [threading.Thread(target=read, args=each, daemon=True) for each in streams.items()]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or LIMIT_S)
        for stream in streams.values():
            stream.close()
        self.wait(max(0.0, deadline - time.monotonic()))
        return written["stdout"], written["stderr"]

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait(LIMIT_S)


def starter_of(pid: int) -> int | None:
    """Return the process that asked for a forked one; None for others, and for those that have ended."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next(
        (int(each.partition(b"=")[2]) for each in variables if each.startswith(STARTER.encode())), None
    )


_nurseries = [Nursery()]  # now: a test that is the first to need it may have changed the environment


def start(module: str, *arguments: object, **options: Any) -> Process:
    """Start a `Process` of this process's nursery."""
    return Process(_nurseries[0], module, *arguments, **options)


def run(
    module: str, *arguments: object, code: int | None = 0, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run such a process to its end, as `tests.ending.run` does."""
    pipe = subprocess.PIPE
    captured = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "text": True}
    with start(module, *arguments, **(captured | options)) as process:
        try:
            out, err = process.communicate(LIMIT_S)
        finally:
            process.kill()
    assert code is None or process.returncode == code, f"exit code {process.returncode}: {err}"
    return subprocess.CompletedProcess(process.args, int(process.returncode or 0), out, err)


def _popen(command: Sequence[str], **options: Any) -> Any:
    """Start the template of a sandbox: as ever if its environment demands another interpreter."""
    if command[1:4] != _FORK_SERVER or not _nurseries[0].can_be(options["env"]):
        return subprocess.Popen(command, **options)
    return Process(_nurseries[0], command[3], *command[4:], **options)


SUBPROCESS = SimpleNamespace(**{**vars(subprocess), "Popen": _popen})
"""What stands for `subprocess` in `wm.isolation`."""


@contextlib.contextmanager
def templates() -> Iterator[None]:
    """Fork the templates of all sandboxes of this process from the nursery."""
    former = wm.isolation.subprocess
    wm.isolation.subprocess = SUBPROCESS
    try:
        yield
    finally:
        wm.isolation.subprocess = former


def join(request: Request) -> None:
    """Have the sandboxes of this process, which is one of the nursery, forked there too."""
    _nurseries[:] = [Nursery(request.nursery, request.prepared)]
    wm.isolation.subprocess = SUBPROCESS
