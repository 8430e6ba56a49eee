"""Standard streams that never decide over the work: closed ones, and a stderr that nobody reads any more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

_STDERR = 2


def prepare() -> None:
    """Open those standard streams that the caller closed, and let messages be lost if they cannot be written.

    Streams that a program put in the place of the real ones are left as they are.
    """
    _fill_descriptors()
    if sys.stdout is None:  # closed by the caller, as with >&-
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open until the end of the program
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name may hold bytes that are no text: they are escaped.
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is sys.__stderr__:
        encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Messages()), encoding=encoding, errors="backslashreplace", line_buffering=True
        )


def lose_messages() -> None:
    """Send stderr nowhere, for this process and for those that it starts from now on."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDERR)
        os.close(nowhere)


def _fill_descriptors() -> None:
    """Open the descriptors 0 to 2 if they are closed: the store's file must not become one of them."""
    for descriptor in range(_STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one


class _Messages(io.RawIOBase):
    """The descriptor of stderr; what it does not take is lost."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _STDERR

    def isatty(self) -> bool:
        return os.isatty(_STDERR)

    def write(self, data: Any, /) -> int:
        try:
            return os.write(_STDERR, data)
        except BlockingIOError:  # the reader is slow: work does not wait for it
            pass
        except OSError:  # the reader has gone, or the disk is full
            lose_messages()
        return memoryview(data).nbytes
