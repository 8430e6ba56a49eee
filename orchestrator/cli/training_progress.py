"""Progress of training, a line on stderr after each round."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

_QUIET_S = 5.0
"""Times are printed only of a training that takes longer."""


class TrainingProgress:
    """Prints a line after each round of training; called as `wm.embedding.common.OnRound`.

    Parameters
    ----------
    trees
        Number of trees of each kind: "right" and "wrong".
    by_tree
        Whether trees that fit are not trained again, so that the time left can be estimated.
    clock
        Seconds.
    """

    def __init__(
        self, trees: dict[str, int], *, by_tree: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = sum(trees.values())
        self._unfit = dict(trees)
        self._by_tree = by_tree
        self._clock = clock
        self._start = clock()

    def __call__(self, kind: str, number: int, unfit: int) -> None:
        """Print what a round left."""
        self._unfit[kind] = unfit
        if self._by_tree:
            state = f"{self._total - sum(self._unfit.values())} of {self._total} trees trained"
        else:
            state = f"{kind} trees, round {number}: {unfit} do not fit yet"
        click.echo(state + self._times(), err=True)

    def _times(self) -> str:
        elapsed = self._clock() - self._start
        left = sum(self._unfit.values())
        if elapsed < _QUIET_S:
            return ""
        if not self._by_tree or not left or left == self._total:
            return f" ({elapsed:.0f} s)"
        return f" ({elapsed:.0f} s, about {elapsed / (self._total - left) * left:.0f} s left)"
