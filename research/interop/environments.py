"""Environments of servers, made once below the user's cache directory, and servers for a while."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from wm.user_cache import lasting_cache, temporary_cache

START_LIMIT_S = 120.0
"""Seconds until a server answers."""


def environment(name: str, requirements: Sequence[str], python: str) -> Path:
    """Return the directory of programs of a virtual environment with some packages, made if missing.

    Parameters
    ----------
    python
        What makes the environment.
    """
    cache = lasting_cache() or temporary_cache()
    if cache is None:
        raise SystemExit("there is no cache directory to install servers into")
    version = subprocess.run(  # noqa: S603 - what the caller chose
        [python, "-c", "import sys; print(sys.version)"], check=True, capture_output=True, text=True
    ).stdout.strip()
    wanted = hashlib.sha256("\n".join([version, *requirements]).encode()).hexdigest()[:12]
    folder = cache / "interop" / f"{name}-{wanted}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _install(folder, requirements, python)
        (folder / "complete").touch()
    return folder / "bin"


def _install(folder: Path, requirements: Sequence[str], python: str) -> None:
    """Make an environment; where Python has no ensurepip, with the pip of the Python that it is made from."""
    asked = subprocess.run([python, "-c", "import ensurepip"], check=False, capture_output=True)  # noqa: S603 - the same
    has_pip = asked.returncode == 0
    subprocess.run(  # noqa: S603 - our own words
        [python, "-m", "venv", *([] if has_pip else ["--without-pip"]), str(folder)], check=True
    )
    pip = (
        [f"{folder}/bin/python", "-m", "pip"]
        if has_pip
        else [python, "-m", "pip", "--python", f"{folder}/bin/python"]
    )
    subprocess.run(  # noqa: S603 - the same
        [*pip, "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", *requirements],
        check=True,
        stdout=sys.stderr,
    )


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that no one listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def running(command: Sequence[str], programs: Path, folder: Path, ready: str) -> Iterator[None]:
    """Run a server until the block ends.

    Parameters
    ----------
    programs
        Its environment's directory of programs.
    folder
        Where it runs, and where its log is.
    ready
        Address that answers 200 once it is ready.

    Raises
    ------
    SystemExit
        It ended, or did not answer in time; the text is the end of its log.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own |= {"PATH": f"{programs}:{own.get('PATH', '')}", "HOME": str(folder), "BENTOML_DO_NOT_TRACK": "1"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the same
            [f"{programs}/{command[0]}", *command[1:]],
            cwd=folder,
            env=own,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait(process, ready, folder / "server.log")
        yield
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and its workers: all are of its own session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)


def _wait(process: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"it did not start:\n{log.read_text(errors='replace')[-2000:]}")
        try:
            if httpx.get(ready, trust_env=False, timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass  # not yet
        time.sleep(0.2)
