"""Check proofs that a forgery query is impossible, trusting neither the solver nor the encoding.

The formula that a proof must refute is derived here again from forest and query, one node and one number at a
time, without `encoding` or `cnf`. `proof_kernel` checks each step. An error in the encoder, the solver or the
proof therefore leads to a refusal, not to a wrong ``impossible``.

The formula: a test "x_f <= t" is a Boolean for each feature and each t on a path, rounded down to float32 as
in scikit-learn's comparison. A smaller t implies a larger one, and for each unwanted leaf that an instance in
the box can reach, one of its path's tests must fail.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from wm.engines import proof_kernel
from wm.engines.protocol import ForgeryQuery
from wm.errors import WmError
from wm.forest import Forest

Test = tuple[int, float]
"""Feature f and float32 number t: x_f <= t."""


class ProofError(WmError):
    """A proof is malformed or incomplete, or a step does not follow."""


class ReachedLeaf(NamedTuple):
    """A leaf that some instance in a query's box reaches."""

    tree: int
    wanted: bool
    """Whether its vote is the one that the query asks for."""
    passes: list[Test]
    """Tests that hold for an instance in the box iff, together with `fails`, it reaches the leaf."""
    fails: list[Test]
    """Tests that do not hold."""


class ProofChecker:
    """Checks proofs about impossible queries to one forest."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._left, self._right = forest.left.tolist(), forest.right.tolist()
        self._feature, self._offset = forest.feature.tolist(), forest.offset.tolist()
        # Compile the kernel, or load it from the cache, before the first query's clock runs.
        check_proof([(1,), (-1,)], ["0"], n_variables=1)

    def trivial_reason(self, query: ForgeryQuery) -> str | None:
        """Return why a query is impossible without a proof: "empty box", "no leaf", or None if it is not."""
        box = exact_box(query)
        if box is None:
            return "empty box"
        with_wanted = {leaf.tree for leaf in self._reached(query, box) if leaf.wanted}
        return "no leaf" if len(with_wanted) < self._forest.n_trees else None

    def check(self, query: ForgeryQuery, names: Sequence[Test], proof: Sequence[str]) -> int:
        """Check a proof that a query is impossible.

        Parameters
        ----------
        names
            The tests for which the proof's variables 1, 2, ... stand. They need not be trusted: with a wrong
            name a proof fails, or still proves the same.
        proof
            As in `check_proof`, with the solver's variables; so are the result and the errors.
        """
        box = exact_box(query)
        if box is None:
            return 0
        variable = {test: number for number, test in enumerate(names, start=1)}
        clauses: list[tuple[int, ...]] = []
        for leaf in self._reached(query, box):
            if leaf.wanted:
                continue
            for test in leaf.passes + leaf.fails:
                variable.setdefault(test, len(names) + 1 + len(variable))
            passes, fails = ([variable[test] for test in tests] for tests in (leaf.passes, leaf.fails))
            clauses.append((*(-number for number in passes), *fails))
        for (feature, smaller), (other, larger) in itertools.pairwise(sorted(variable)):
            if feature == other:
                clauses.append((-variable[feature, smaller], variable[feature, larger]))
        return check_proof(clauses, proof, n_variables=max(variable.values(), default=0))

    def _reached(self, query: ForgeryQuery, box: tuple[list[float], list[float]]) -> Iterator[ReachedLeaf]:
        """Yield every leaf that an instance in the box can reach."""
        forest = self._forest
        for tree, root in enumerate(self._offset[:-1]):
            # For each feature tested on the path, the smallest and the largest float32 that follow it.
            to_do: list[tuple[int, dict[int, tuple[float, float]]]] = [(root, {})]
            while to_do:
                node, path = to_do.pop()
                if self._left[node] < 0:
                    vote = forest.classes[int(np.argmax(forest.value[node]))]
                    yield ReachedLeaf(
                        tree=tree,
                        wanted=bool(vote == query.label) == (query.signature[tree] == 0),
                        passes=[(f, high) for f, (_, high) in path.items() if high < box[1][f]],
                        fails=[(f, _step(low, -1)) for f, (low, _) in path.items() if low > box[0][f]],
                    )
                    continue
                feature = self._feature[node]
                low, high = path.get(feature, (box[0][feature], box[1][feature]))
                at_most, above = _neighbours(float(forest.threshold[node]))
                if low <= at_most:
                    to_do.append((root + self._left[node], path | {feature: (low, min(high, at_most))}))
                if high >= above:
                    to_do.append((root + self._right[node], path | {feature: (max(low, above), high)}))


def exact_box(query: ForgeryQuery) -> tuple[list[float], list[float]] | None:
    """Return the smallest and the largest float32 in [0, 1] within eps of each number of the centre.

    Computed with fractions, without rounding; None if some feature has no such float32.
    """
    lower, upper = [], []
    for number in query.centre.tolist():
        low = max(Fraction(0), Fraction(number) - Fraction(query.eps))
        high = min(Fraction(1), Fraction(number) + Fraction(query.eps))
        if low > high:
            return None
        smallest, largest = float(np.float32(float(low))), float(np.float32(float(high)))
        while Fraction(smallest) < low:
            smallest = _step(smallest, +1)
        while Fraction(largest) > high:
            largest = _step(largest, -1)
        if smallest > largest:
            return None
        lower.append(smallest)
        upper.append(largest)
    return lower, upper


@functools.lru_cache(maxsize=2**17)
def _step(number: float, direction: int) -> float:
    """Return the next float32 above or below one."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(number), np.float32(direction * np.inf)))


@functools.lru_cache(maxsize=2**17)
def _neighbours(threshold: float) -> tuple[float, float]:
    """Return the largest float32 that is at most a number, and the smallest one above it."""
    with np.errstate(over="ignore"):
        near = float(np.float32(threshold))
    if near > threshold:
        return _step(near, -1), near
    return near, _step(near, +1)


def check_proof(clauses: Sequence[Sequence[int]], proof: Sequence[str], *, n_variables: int) -> int:
    """Check that clauses have no model, given a proof.

    Parameters
    ----------
    clauses
        Lists of literals as in DIMACS files.
    proof
        Lines of a DRAT file in text form; only steps that are RUP are accepted (see `proof_kernel`).
    n_variables
        Largest variable allowed in either.

    Returns
    -------
    int
        Number of steps up to the empty clause.

    Raises
    ------
    ProofError
        The proof is malformed or incomplete, or a step does not follow from the ones before.
    """
    steps = [_step_literals(number, line, n_variables) for number, line in enumerate(proof, start=1)]
    all_clauses = [*map(set, clauses), *map(set, steps)]
    flat = np.fromiter(itertools.chain.from_iterable(all_clauses), dtype=np.int64)
    verdict, step = proof_kernel.check(
        np.where(flat > 0, 2 * flat, 1 - 2 * flat),
        np.concatenate([[0], np.cumsum([len(clause) for clause in all_clauses], dtype=np.int64)]),
        len(clauses),
        np.array([line.startswith("d") for line in proof], dtype=np.bool_),
        n_variables,
    )
    if verdict == proof_kernel.UNFOUNDED:
        raise ProofError(f"step {step + 1} of the proof, {proof[step]!r:.80}, does not follow")
    if verdict == proof_kernel.UNFINISHED:
        raise ProofError(f"the proof ends after {len(proof)} steps without the empty clause")
    return int(step) + 1


def _step_literals(number: int, line: str, n_variables: int) -> list[int]:
    """Return the literals of a step: numbers other than 0, then a 0."""
    try:
        *literals, end = map(int, line.removeprefix("d ").split())
    except ValueError:
        end = None
    if end != 0 or not all(0 < abs(literal) <= n_variables for literal in literals):
        raise ProofError(f"step {number} of the proof is malformed: {line!r:.80}")
    return literals
