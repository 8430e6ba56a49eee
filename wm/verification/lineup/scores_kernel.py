"""A pass over the votes of many candidates; compiled.

numba compiles the function on its first use and caches it.
"""

from __future__ import annotations

import numpy as np

from wm.engines.compiled import compiled

_ROWS = 64
"""Candidates whose sum is in single precision."""


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def squared(votes, vector, offset, total):
    """Add V' (V x - b) to a vector, where V are votes; each is read once.

    The ridge of a regression is far above the rounding of single precision.

    Parameters
    ----------
    votes : (candidates, q) uint8
        V: 0 and 1.
    vector : (q,) float32
        x.
    offset : float32
        b.
    total : (q,) float64
        Changed.

    Returns
    -------
    float
        The sum of V x - b.
    """
    queries = votes.shape[1]
    part = np.zeros(queries, np.float32)
    added = 0.0
    for row in range(len(votes)):
        own = votes[row]
        product = np.float32(0)
        for query in range(queries):
            product += np.float32(own[query]) * vector[query]
        product -= offset
        added += np.float64(product)
        for query in range(queries):
            part[query] += np.float32(own[query]) * product
        if row % _ROWS == _ROWS - 1 or row == len(votes) - 1:
            for query in range(queries):
                total[query] += np.float64(part[query])
                part[query] = 0
    return added
