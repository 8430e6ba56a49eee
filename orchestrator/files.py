"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from orchestrator.errors import OutputError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Raises
    ------
    OutputError
        No such directory, no rights, no space.
    """
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as reason:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({reason.strerror or reason})") from reason


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
