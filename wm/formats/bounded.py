"""Reader of files that may be hostile, with a limit on their size."""

from __future__ import annotations

from pathlib import Path

from wm.errors import WmError


def read_bounded(path: str | Path, *, error: type[WmError], max_bytes: int, kind: str) -> bytes:
    """Return a file's bytes.

    Parameters
    ----------
    error
        Type of the exception, with one line that names the file, if it cannot be read or is too large.
    max_bytes
        Largest size. It is found by reading, since devices and pipes state no size and may never end.
    kind
        What the file should be, with its article, for the error's text.
    """
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as reason:
        raise error(f"{path}: cannot be read ({reason.strerror})") from reason
    if len(content) > max_bytes:
        raise error(f"{path}: larger than the {max_bytes} bytes that {kind} may have")
    return content
