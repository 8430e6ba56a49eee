"""The data directory, and downloads into it."""

from __future__ import annotations

import contextlib
import http.client
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from wm.datasets.wording import reason
from wm.errors import DataError
from wm.user_cache import expanded, lasting_cache, temporary_cache

DATA_DIR_VARIABLE = "WM_DATA_DIR"
STALL_LIMIT_S = 30.0
"""Longest silence of a server during a download."""
TIME_LIMIT_S = 300.0
"""Longest duration of one download."""
SIZE_LIMIT_BYTES = 2**28
"""Largest file that is downloaded, and largest size of its text when unpacked."""

_CHUNK_BYTES = 2**16


def default_data_dir() -> Path:
    """Return the directory that WM_DATA_DIR names, else the user's cache directory of this program.

    A user who has none, or may not write it, gets a temporary directory.

    Raises
    ------
    DataError
        There is no home directory for a ~ in WM_DATA_DIR, or no place for a temporary directory.
    """
    if named := os.environ.get(DATA_DIR_VARIABLE):
        folder = expanded(Path(named))
        if folder.parts[:1] == ("~",):
            raise DataError(f"{DATA_DIR_VARIABLE} {named}: this user has no home directory")
        return folder
    found = lasting_cache() or temporary_cache()
    if found is None:
        raise DataError(f"there is no directory for data sets: set {DATA_DIR_VARIABLE} to one")
    return found


def make_directory(folder: Path) -> None:
    """Make the data directory if it is missing; raise `DataError` if that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot make the data directory ({error.strerror}): set {DATA_DIR_VARIABLE} to another"
        ) from error


def write_atomically(target: Path, content: bytes) -> None:
    """Write a file whole or not at all, even if two processes write it; raise `DataError` if that fails."""
    make_directory(target.parent)
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror}): set {DATA_DIR_VARIABLE} to another directory"
        ) from error


def offline_advice(file_name: str, data_dir: Path) -> str:
    """Return advice for a file that could not be downloaded."""
    return f"put {file_name} into {data_dir} (or set {DATA_DIR_VARIABLE} to the directory that has it)"


def download(url: str, target: Path, *, check: Callable[[bytes], None]) -> bytes:
    """Fetch a file, check it, keep it, and return its content.

    Parameters
    ----------
    url
        An http or https address.
    target
        Path at which the file is kept; nothing is written unless the check passes.
    check
        Raises if the content is wrong.

    Raises
    ------
    DataError
        The server cannot be reached, or the file is too slow, too large, cut short, or fails the check.
    """
    if not url.startswith(("https://", "http://")):
        raise DataError(f"cannot download {url}: only http and https are supported")
    try:
        content = _fetch(url)
    except (OSError, http.client.HTTPException) as error:
        close_response(error)
        advice = offline_advice(target.name, target.parent)
        raise DataError(f"cannot download {url} ({reason(error)}): {advice}") from error
    check(content)
    write_atomically(target, content)
    return content


def close_response(error: BaseException) -> None:
    """Close the connection that an HTTP error still holds."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()


def _fetch(url: str) -> bytes:
    deadline = time.monotonic() + TIME_LIMIT_S
    content = bytearray()
    # `download`, the only caller, has checked that the scheme is http(s).
    with urllib.request.urlopen(url, timeout=min(STALL_LIMIT_S, TIME_LIMIT_S)) as response:  # noqa: S310 - scheme checked
        announced = response.headers.get("Content-Length")
        # read1 returns what has arrived: a server that sends single bytes cannot hold it past the deadline.
        while chunk := response.read1(_CHUNK_BYTES):
            content += chunk
            if len(content) > SIZE_LIMIT_BYTES:
                raise OSError(f"more than {SIZE_LIMIT_BYTES} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"not done after {TIME_LIMIT_S:g} s")
    if announced is not None and len(content) != int(announced):
        raise OSError(f"cut short: {len(content)} of {announced} bytes")
    return bytes(content)
