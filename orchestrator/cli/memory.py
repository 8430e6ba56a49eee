"""Tell faults that come from a lack of memory, whatever they look like."""

from __future__ import annotations

import resource

_SIGNS = ("failed to map segment", "cannot allocate memory", "can't start new thread", "libllvmlite.so")
"""Parts of the messages of libraries that could not be loaded, or had no memory; in lower case."""

_LEAST_MB = 900
"""Address space below which OpenBLAS tries to get memory for ever."""


def memory_fault(fault: BaseException) -> str | None:
    """Return one line that says so if a fault comes from a lack of memory, else None."""
    reason: BaseException | None = fault
    while reason is not None:
        text = " ".join(str(reason).split())
        if isinstance(reason, MemoryError) or any(sign in text.lower() for sign in _SIGNS):
            return f"not enough memory: {text or 'MemoryError'}{_limit()}"
        reason = reason.__cause__ or reason.__context__
    return None


def check_limit() -> None:
    """Raise `MemoryError` if this process's limit is so low that libraries would hang at their start."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_MB * 2**20:
        raise MemoryError(f"at least {_LEAST_MB} MB are needed")


def _limit() -> str:
    """Return the limit on this process's memory as text; empty if there is none."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    return f"; the address space is limited to {limit // 2**20} MB: raise that with ulimit -v"
