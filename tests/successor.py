"""Compile the function of a module in a given folder; for `tests/wm/engines/test_compiled.py`."""

from __future__ import annotations

import resource
import sys

from numba.core import config

if __name__ == "__main__":
    folder, limit = sys.argv[1], int(sys.argv[2])
    sys.path.insert(0, folder)
    config.reload_config()  # the nursery has read another environment
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    from numbers_of import successor

    assert successor(41) == 42
    print(sum(successor.stats.cache_hits.values()))
