"""The compiled functions of engines, in a fresh clone compiled by one of the test processes for all."""

from __future__ import annotations

import fcntl
from pathlib import Path

from wm.engines import learning, search, search_kernel


def load_kernels() -> None:
    """Load them from numba's cache; what is not there is compiled, in some ten seconds of a core."""
    with Path(search_kernel.__file__).open() as file:  # any that all of them see
        fcntl.flock(file, fcntl.LOCK_EX)
        search.compile_kernel()
        learning.compile_kernel()
