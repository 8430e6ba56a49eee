"""Writing files: whole or not at all, and with the right error."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from orchestrator.errors import OutputError

SECRET = 0o600
"""Mode of a file that only its owner may read."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Faults in writing that no other file name would fix."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell a file that cannot be written as the user's mistake, unless the disk is full or broken.

    Raises
    ------
    OutputError
        No such directory, no rights, a directory in the file's place.
    """
    try:
        yield
    except OSError as reason:
        if reason.errno in _NO_ROOM:
            raise
        raise OutputError(f"{path}: cannot be written ({reason.strerror or reason})") from reason


def write_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Parameters
    ----------
    mode
        Permissions, whatever the file had before; None for those of any new file.

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
    """Write a file that is not there yet, whole or not at all.

    Raises
    ------
    OutputError
        It is there already, or as in `writing`.
    """
    with writing(path):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
        except FileExistsError as reason:
            raise OutputError(f"{path}: exists, and is not replaced: choose another name") from reason
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
