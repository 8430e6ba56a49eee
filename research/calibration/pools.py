"""Pools of a claimant who wants honest models to look stolen, and honest models, all on breast-cancer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from wm.forest import Forest

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]
Pool = tuple[Rows, Labels]

POOL, TREES = 200, 70
"""Rows of a pool, and trees of a suspect."""


def load() -> tuple[Pool, Pool]:
    """Return the published split and the rows of others, (n, 30) and (n,) each."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X = ((X - X.min(axis=0)) / np.ptp(X, axis=0)).astype(np.float32)
    return (X[order[:300]], y[order[:300]]), (X[order[300:]], y[order[300:]])


def pools() -> Iterator[tuple[str, Pool]]:
    """Yield every pool with its name, made with the help of the claimant's own model."""
    (X, y), _ = load()
    proxy = RandomForestClassifier(200, max_depth=8, random_state=9).fit(X, y)
    rng = np.random.default_rng(1)
    every_other = np.arange(POOL) % 2
    yield "published split", (X[:POOL], y[:POOL])
    sure = np.argsort(-proxy.predict_proba(X).max(axis=1), kind="stable")[:POOL]
    yield "half mislabelled", (X[sure], y[sure] ^ every_other)
    border = _border(X, y, proxy, rng)
    labels = np.where(every_other, rng.integers(0, 2, POOL), y[:POOL])
    yield "half border rows", (np.where(every_other[:, None], border, X[:POOL]), labels)
    copies = np.repeat(X[:10], POOL // 10, axis=0)
    copies[:, 0] += np.tile(np.arange(POOL // 10, dtype=np.float32) * np.spacing(np.float32(1)), 10)
    yield "near-duplicates", (copies, np.repeat(y[:10] ^ every_other[:10], POOL // 10))
    yield "one label", (X[:POOL], np.zeros(POOL, dtype=np.int64))
    yield "30% label noise", (X[:POOL], y[:POOL] ^ (rng.random(POOL) < 0.3))


def _border(X: Rows, y: Labels, proxy: RandomForestClassifier, rng: np.random.Generator) -> Rows:
    """Return rows between two of different labels, where the claimant's model says one half."""
    ends = [X[rng.choice(np.flatnonzero(y == label), POOL)] for label in (0, 1)]
    steps = np.linspace(0, 1, 21, dtype=np.float32)[:, None, None]
    lines: Rows = ends[0] + steps * (ends[1] - ends[0])
    shares = proxy.predict_proba(lines.reshape(-1, X.shape[1]))[:, 1].reshape(len(steps), POOL)
    nearest: Rows = lines[np.abs(shares - 0.5).argmin(axis=0), np.arange(POOL)]
    return nearest


def suspects(count: int) -> list[Forest]:
    """Return honest forests, of the four kinds that the document names."""
    published, others = load()
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        X, y = others if seed % 4 == 2 else published
        labels = y ^ (rng.random(len(y)) < 0.3) if seed % 4 == 1 else y
        trees, depth = (5 if seed % 4 == 3 else TREES), (None, 8, 4)[seed % 3]
        model = RandomForestClassifier(trees, max_depth=depth, random_state=seed).fit(X, labels)
        found.append(Forest.from_sklearn(model).select(list(range(trees)) * (TREES // trees)))
    return found
