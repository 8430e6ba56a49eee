"""The short list that `run` puts to two commits: what users wait for, on made-up rows, in a second or so each.

    python -m research.benchmarks.short_list NAME

Does the thing once, so that nothing is compiled or imported later, then once more, and prints the processor's
seconds of the second time. It uses only calls that older commits have too, as it runs with their packages.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Work = Callable[[], Any]


def _rows(n: int, d: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return n rows of d features in [0, 1], the class of which hangs on a few of them, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    score = np.sin(6 * X[:, :4]).sum(axis=1) + X[:, 4] * X[:, 5] + rng.normal(0, 0.2, n)
    return X, (score > np.median(score)).astype(np.int64)


def embed() -> Work:
    """Return the embedding of 40 trees in 1,000 rows of 20 features."""
    import wm

    X, y = _rows(1000, 20)
    return lambda: wm.embed(X, y, n_estimators=40, seed=1)


def tune() -> Work:
    """Return a grid search over 2 x 6 forests, in 4,000 rows of 20 features."""
    from wm.embedding.tuning import fold_accuracies

    X, y = _rows(4000, 20)
    grid: dict[str, Any] = {"n_estimators": [20, 40], "max_depth": [4, 8, 12, 16, 20, None]}
    return lambda: [fold_accuracies(X, y, **grid, folds=3, fold=fold, seed=1) for fold in range(3)]


def candidates() -> Work:
    """Return the votes of 80 candidates of a line-up, with 4,000 training rows and 2,000 queries."""
    from wm.claims.lineup_settings import TreeSettings
    from wm.embedding.lineup.context import canonical_rows
    from wm.embedding.lineup.trees import votes_of_seeds

    rows, (X, _) = canonical_rows(*_rows(4000, 20)), _rows(2000, 20, seed=1)
    return lambda: votes_of_seeds(rows, TreeSettings(max_depth=16), range(80), X)


def _forest(n_trees: int) -> Any:
    """Return a forest of random trees with 1,000 leaves each, in 30 features."""
    from wm.forest import Forest

    rng, leaves = np.random.default_rng(1), 1000
    nodes = 2 * leaves - 1
    left = np.full(nodes, -1)
    open_ = [0]
    for child in range(1, nodes, 2):
        left[open_.pop(int(rng.integers(len(open_))))] = child
        open_ += [child, child + 1]
    left = np.tile(left, n_trees)
    share = rng.random(len(left))
    return Forest.from_arrays(
        offset=np.arange(n_trees + 1) * nodes,
        left=left,
        right=np.where(left < 0, -1, left + 1),
        feature=np.where(left < 0, -1, rng.integers(0, 30, len(left))),
        threshold=rng.random(len(left)),
        value=np.stack([share, 1 - share], axis=1),
        n_features=30,
        classes=[0, 1],
    )


def load() -> Work:
    """Return the reading of a forest file of 10^6 nodes."""
    from wm.forest import Forest

    content = _forest(500).to_bytes()
    return lambda: Forest.from_bytes(content)


def audit() -> Work:
    """Return the audit of a forest of 10^6 nodes."""
    import wm

    forest = _forest(500)
    return lambda: wm.audit(forest)


def votes() -> Work:
    """Return the votes of 200 trees on 2,000 rows."""
    forest, (X, _) = _forest(200), _rows(2000, 30)
    return lambda: forest.votes(X)


def forge() -> Work:
    """Return 400 small forgery queries to the engine that is the default."""
    from wm import engines
    from wm.testing import random_case

    cases = [random_case(np.random.default_rng(seed), n_queries=10) for seed in range(40)]
    solver = engines.solver_class("portfolio")
    return lambda: [solver(case.forest).answer(query) for case in cases for query in case.queries]


LIST: dict[str, Callable[[], Work]] = {
    each.__name__: each for each in (embed, tune, candidates, load, audit, votes, forge)
}


def main() -> None:
    """Print the seconds of one entry of the list."""
    work = LIST[sys.argv[1]]()
    work()
    started = time.process_time()
    work()
    print(time.process_time() - started)


if __name__ == "__main__":
    main()
