"""`learning`: conflict-driven search over boxes, which learns from each dead end; see `learning_kernel`.

It decides the formula of `sat`, a clause for each unwanted leaf, without Booleans for thresholds. Where
forging turns from possible to impossible it is several times faster than the solvers behind `sat`, and
`search` has no chance. With ``certify=True`` it writes proofs as they do.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wm.engines import learning_kernel as kernel
from wm.engines import learning_state as places
from wm.engines.cnf import Encoding, encode
from wm.engines.encoding import LeafBounds, Problem
from wm.engines.learning_state import State
from wm.engines.sat import SatSolver
from wm.forest import Forest

_LEARNED, _LITERALS = 100_000, 4_000_000
"""Room for learned clauses and their literals; some 20 MB if all is used."""

_NO_LIMIT = 2**62


class LearnedFormula:
    """One query's formula and what is learned about it; parameters and methods as of `sat.PrunedFormula`."""

    def __init__(
        self, bounds: LeafBounds, problem: Problem, centre: NDArray[np.float64], *, with_proof: bool = False
    ) -> None:
        self._encoding = encode(bounds, problem.unwanted, problem.lower, problem.upper)
        self._upper = problem.upper
        self._state = _state(self._encoding, centre, with_proof=with_proof)
        self._proof: list[str] = []
        self._result = kernel.RUNNING if kernel.begin(self._state) else kernel.NONE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing needs to be closed."""

    @property
    def tests(self) -> list[tuple[int, float]]:
        """Feature and threshold of each variable, from 1 on."""
        return self._encoding.tests

    @property
    def work(self) -> int:
        """Work done so far, about a nanosecond each."""
        return int(self._state.numbers[places.WORK])

    def has_witness(self, max_conflicts: int = -1) -> bool | None:
        """Return whether it has a witness; None if more conflicts than a limit (-1: none) are needed."""
        conflicts = self._state.numbers[places.CONFLICTS]
        end = _NO_LIMIT if max_conflicts < 0 else int(conflicts) + max_conflicts
        while self._result == kernel.RUNNING:
            left = end - int(self._state.numbers[places.CONFLICTS])
            self._result = kernel.run(left, self._state)
            self._read_log()
            if left <= 0:
                break
        return None if self._result == kernel.RUNNING else self._result == kernel.FOUND

    def point(self) -> NDArray[np.float32]:
        """Return a point of the box that draws the wanted votes, after a witness was found: (d,)."""
        atoms = np.arange(len(self._state.feature))
        is_at_most = self._state.upper[self._state.feature] <= atoms
        return self._encoding.point(np.where(is_at_most, atoms + 1, -atoms - 1), self._upper)

    def proof(self) -> list[str]:
        """Return the proof that there is no witness."""
        return [*self._proof, "0"]

    def _read_log(self) -> None:
        """Move what the kernel has logged to the proof."""
        end = int(self._state.numbers[places.LOGGED])
        log, at = self._state.log[:end].tolist(), 0
        while at < end:
            length = log[at]
            literals = log[at + 1 : at + 1 + abs(length)]
            named = (-(each >> 1) - 1 if each & 1 else (each >> 1) + 1 for each in literals)
            self._proof.append(f"{'d ' * (length < 0)}{' '.join(map(str, named))} 0")
            at += 1 + abs(length)
        self._state.numbers[places.LOGGED] = 0


class LearningSolver(SatSolver):
    """Answers queries by conflict-driven search over boxes."""

    formula = LearnedFormula

    def __init__(self, forest: Forest, **options: Any) -> None:
        compile_kernel()
        super().__init__(forest, **options)


def _state(encoding: Encoding, centre: NDArray[np.float64], *, with_proof: bool) -> State:
    """Return the state before the search for a formula's point."""
    atoms = len(encoding.feature)
    sizes = np.array([len(clause) for clause in encoding.leaves], dtype=np.int32)
    names, feature, counts = np.unique(encoding.feature, return_inverse=True, return_counts=True)
    lower = np.cumsum(counts) - counts
    # Positions of the centre: the number of its feature's thresholds below it.
    below = np.bincount(feature[centre[encoding.feature] > encoding.threshold], minlength=len(names))
    flat = np.fromiter(chain.from_iterable(encoding.leaves), dtype=np.int32, count=int(sizes.sum()))
    formula = 2 * (np.abs(flat) - 1) + (flat < 0)
    literals = np.empty(len(flat) + _LITERALS, dtype=np.int32)  # takes memory only when written
    literals[: len(flat)] = formula
    room, sides, size = len(sizes) + _LEARNED, 2 * len(names), 1 << max(0, atoms - 1).bit_length()
    clauses = np.zeros((3, room), dtype=np.int32)
    clauses[:2, : len(sizes)] = np.cumsum(sizes) - sizes, sizes
    trail = np.empty((5, 2 * atoms + 8), dtype=np.int32)
    of_sides = np.full((4, sides), -1, dtype=np.int32)
    numbers, averages = np.zeros(places.NUMBERS, dtype=np.int64), np.zeros(places.AVERAGES)
    numbers[places.CLAUSES] = numbers[places.ORIGINAL] = len(sizes)
    numbers[places.LITERALS] = len(flat)
    numbers[places.SWITCH_AT], numbers[places.REDUCE_AT] = kernel.FIRST_SWITCH, kernel.FIRST_REDUCTION
    numbers[places.RESTART_AT] = kernel.RESTART
    averages[places.INCREMENT] = 1.0
    position = (lower + below).astype(np.int32)
    return State(
        numbers=numbers,
        averages=averages,
        feature=feature.astype(np.int32),
        lower=lower.astype(np.int32),
        upper=(lower + counts).astype(np.int32),
        trail=trail[0],
        level=trail[1],
        reason=trail[2],
        previous=trail[3],
        before=trail[4],
        last=of_sides[0],
        first=np.full(2 * atoms, -1, dtype=np.int32),
        following=np.empty(2 * room, dtype=np.int32),
        literals=literals,
        start=clauses[0],
        length=clauses[1],
        glue=clauses[2],
        needed=of_sides[1],
        place=of_sides[2],
        sides=of_sides[3],
        stamp=np.zeros(atoms + 2, dtype=np.int64),
        learned=np.empty(sides + 1, dtype=np.int32),
        activity=_activities(formula, sizes, size),
        saved=position,
        centre=position.copy(),
        log=np.empty(with_proof * (len(literals) + room), dtype=np.int32),
    )


def _activities(formula: NDArray[np.int32], sizes: NDArray[np.int32], size: int) -> NDArray[np.float64]:
    """Return `State.activity` at the start: literals of short clauses come first (Jeroslow and Wang 1990)."""
    activity = np.zeros(2 * size)
    np.add.at(activity, size + (formula >> 1), np.repeat(0.5**sizes, sizes))
    while size > 1:
        pairs = activity[size : 2 * size].reshape(-1, 2)
        size //= 2
        activity[size : 2 * size] = pairs.max(axis=1)
    return activity


def compile_kernel() -> None:
    """Compile the kernel, or load it from the cache, before the first query's clock runs."""
    one = np.zeros(2, dtype=np.int64), np.array([0.25, 0.75], dtype=np.float32)
    encoding = Encoding(feature=one[0], threshold=one[1], order=[], leaves=[[1, -2], [-1, 2]])
    state = _state(encoding, np.zeros(1), with_proof=False)
    kernel.begin(state)
    kernel.run(_NO_LIMIT, state)
