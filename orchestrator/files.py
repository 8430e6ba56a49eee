"""Write files completely or not at all, with clear errors."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from orchestrator.errors import OutputError

SECRET = 0o600
"""Mode of a file that only its owner may read."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Faults that another file name would not fix."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise `OutputError` if a file cannot be written, unless the disk is full or broken.

    Raises
    ------
    OutputError
        No such directory, no rights, or a directory of that name.
    """
    try:
        yield
    except OSError as reason:
        if reason.errno in _NO_ROOM:
            raise
        raise OutputError(f"{path}: cannot be written ({reason.strerror or reason})") from reason


def refuse_existing(*paths: Path) -> None:
    """Raise `OutputError` if one of the files exists: before any work for their content is done."""
    for path in paths:
        if path.exists():
            raise _exists(path)


def refuse_unwritable(path: Path) -> None:
    """Raise `OutputError` if a file cannot be written there: before any work for its content is done."""
    with writing(path), tempfile.TemporaryFile(dir=path.parent):
        pass


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path}: exists already: choose another name")


def write_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a file so that readers see the old content or the new, never a part.

    Parameters
    ----------
    mode
        Permissions, also of an existing file; None for the default ones.

    Raises
    ------
    OutputError
        As in `writing`.
    """
    with writing(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).chmod(0o666 & ~_umask() if mode is None else mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_new(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a new file, completely or not at all.

    Raises
    ------
    OutputError
        It exists already, or as in `writing`.
    """
    with new_file(path, mode=mode) as file:
        file.write(content)


@contextlib.contextmanager
def new_file(path: Path, *, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Open a new file to be written in the block, completely or not at all; errors as in `write_new`."""
    with writing(path):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
        except FileExistsError as reason:
            raise _exists(path) from reason
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
