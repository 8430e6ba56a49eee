"""A stream of votes with a planted signature."""

from __future__ import annotations

import numpy as np

from wm.signature import random_signature


def planted(seed, trees=30, triggers=5, ordinary=60, ones_share=0.5):
    """Votes of a stream whose trigger queries are divided as one signature says."""
    rng = np.random.default_rng(seed)
    signature = random_signature(trees, ones_share, rng)
    labels = rng.integers(0, 2, triggers)
    marked = labels[:, None] ^ signature.array
    plain = rng.integers(0, 2, (ordinary, 1)) ^ (rng.random((ordinary, trees)) < 0.05)
    codes = np.concatenate([marked, plain]).astype(np.int64)
    return codes, np.arange(len(codes)) < triggers, labels, signature
