"""Compile functions by numba, with a cache that costs time at worst.

numba's own cache ends the program if a file of it was cut short, if its disk is full, or if there is no
directory for it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

from wm.user_cache import lasting_cache, temporary_cache

_config: Any = numba.config


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function on its first use, and keeps the code for later processes.

    The function runs without Python's lock; `options` are those of `numba.njit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = _njit(function, **options)
        if (cache := _cache_of(function)) is not None:
            dispatcher._cache = cache
        return dispatcher

    return decorate


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    """Compile also where NUMBA_DISABLE_JIT is set: there are machine instructions that Python lacks."""
    disabled, _config.DISABLE_JIT = _config.DISABLE_JIT, 0
    try:
        return numba.njit(nogil=True, **options)(function)
    finally:
        _config.DISABLE_JIT = disabled


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)

    def load_overload(self, signature: Any, *arguments: Any) -> Any:
        """Return saved code; None if there is none, if it cannot be read, or if it is of another signature.

        Processes that compile two signatures of one function at the same time would give both the same file
        (numba numbers the files by an index that each has read before), and one would run the other's code.
        """
        try:
            with self._locked():
                found = super().load_overload(signature, *arguments)
        except Exception:  # whatever a damaged pickle raises
            self._discard()
            return None
        if found is not None and tuple(found.signature.args) != tuple(getattr(signature, "args", signature)):
            self._discard()
            return None
        return found

    def save_overload(self, *arguments: Any) -> None:
        """Save code if there is room for it."""
        try:
            with self._locked():
                super().save_overload(*arguments)
        except Exception:
            # The index may name code that was not written: that of an older version may stand there.
            self._discard()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time read or change the index; without a lock where none can be made."""
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(Path(f"{self._cache_file._index_path}.lock").open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError:  # a cache that can only be read has no writers
                pass
            yield

    def _discard(self) -> None:
        try:
            Path(self._cache_file._index_path).unlink(missing_ok=True)
        except OSError:
            self.disable()


def _cache_of(function: Callable[..., Any]) -> _Cache | None:
    """Return a cache where numba would have it, else in a temporary directory; None if there is no place."""
    # Without a home directory numba would make one named ~ in the working directory.
    if _config.CACHE_DIR or lasting_cache() is not None:
        try:
            return _Cache(function)
        except (RuntimeError, OSError):  # no place
            pass
    folder = temporary_cache()
    if folder is None:
        return None
    named, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
    try:
        return _Cache(function)
    except (RuntimeError, OSError):
        return None
    finally:
        _config.CACHE_DIR = named
