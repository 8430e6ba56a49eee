"""Where this user's caches are, also for a user without a home directory, as in many containers."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

_NAME = "treeproof"


def lasting_cache() -> Path | None:
    """Return this program's directory in the user's cache directory; None if it is unusable."""
    # The XDG rules: a relative path is invalid and ignored.
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not home.is_absolute():
        home = expanded(Path("~")) / ".cache"
    if not home.is_absolute():
        return None
    folder = home / _NAME
    return folder if _is_directory(folder) or can_make(folder) else None


def temporary_cache() -> Path | None:
    """Return a temporary directory that only this user can use, made if missing; None if impossible.

    Its name can be known in advance: one that another user made is not used, for what it holds may be run.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"{_NAME}-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return folder if is_private else None


def expanded(path: Path) -> Path:
    """Return a path with ~ replaced by the home directory; as it is if there is none."""
    try:
        return path.expanduser()
    except RuntimeError:  # neither HOME nor an entry of this user in the password file
        return path


def nearest(folder: Path) -> Path:
    """Return a directory, or the nearest one above it that exists and can be seen."""
    return next(each for each in (folder, *folder.absolute().parents) if os.access(each, os.F_OK))


def can_make(folder: Path) -> bool:
    """Return whether this user can write into a directory, making it if it is missing."""
    existing = nearest(folder)
    return _is_directory(existing) and os.access(existing, os.W_OK | os.X_OK)


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises if a directory above may not be searched
