"""A compiled forward checker of proofs: reverse unit propagation with two watched literals.

A clause follows from others by *reverse unit propagation* (RUP) if making all its literals false, and
propagating, ends in a conflict. A proof is a list of clauses, each of them RUP given the formula and the
clauses before it, up to the empty clause (Goldberg and Novikov 2003, in the form of DRAT files). It may also
name clauses to delete. Any deletion is safe: all clauses held follow from the formula, so fewer of them prove
less, never more. Steps that only preserve satisfiability (RAT) are refused; solvers without preprocessing
have none.

Literal 2 v stands for variable v >= 1, 2 v + 1 for its complement. numba compiles the functions on their
first use and caches them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wm.engines.compiled import compiled

PROVED, UNFOUNDED, UNFINISHED = 0, 1, 2
"""Verdicts of `check`: the empty clause follows; a step does not; there is no empty clause."""

_SPREAD = 0x9E3779B1
"""Knuth's multiplicative hashing: about 2^32 divided by the golden ratio."""


class _State(NamedTuple):
    """The state of a check."""

    literals: NDArray[np.int64]
    start: NDArray[np.int64]
    """Literals of clause c are ``literals[start[c]:start[c + 1]]``; the first two are its watches."""
    value: NDArray[np.int8]
    """Of each literal: 1 true, -1 false, 0 open."""
    trail: NDArray[np.int64]
    """True literals, in the order of assignment."""
    size: NDArray[np.int64]
    """(2,): number of literals on the trail, and of those already propagated."""
    implied: NDArray[np.int64]
    implied_start: NDArray[np.int64]
    """Literal x implies ``implied[implied_start[x]:implied_start[x + 1]]``, by the binary clauses."""
    first: NDArray[np.int64]
    following: NDArray[np.int64]
    """The watches of each literal, as a linked list: watch w of clause c is number 2 c + w."""
    deleted: NDArray[np.bool_]
    """Whether each clause is deleted."""
    bucket: NDArray[np.int64]
    next_in_bucket: NDArray[np.int64]
    """Hash table of the clauses by their literals, with linked lists."""
    mark: NDArray[np.int64]
    """For each literal, the last deletion that named it."""


@compiled()
def check(
    literals: NDArray[np.int64],
    start: NDArray[np.int64],
    n_formula: int,
    deletes: NDArray[np.bool_],
    n_variables: int,
) -> tuple[int, int]:
    """Check a proof, up to its empty clause.

    Parameters
    ----------
    literals, start
        Literals of clause c, without repetition, are ``literals[start[c]:start[c + 1]]``: first the
        formula's, then the proof's. Their order within a clause is changed.
    n_formula
        Number of the formula's clauses.
    deletes : (steps,)
        Which steps of the proof delete their clause.
    n_variables
        Largest variable.

    Returns
    -------
    verdict, step
        `PROVED`, `UNFOUNDED` or `UNFINISHED`, and the step (from 0) at which it was reached.
    """
    n_clauses = len(start) - 1
    n_literals = 2 * n_variables + 2
    n_buckets = 1
    while n_buckets < n_clauses:
        n_buckets *= 2
    implied, implied_start = _implications(literals, start, n_formula, n_literals)
    state = _State(
        literals,
        start,
        np.zeros(n_literals, np.int8),
        np.empty(n_variables + 1, np.int64),
        np.zeros(2, np.int64),
        implied,
        implied_start,
        np.full(n_literals, -1, np.int64),
        np.empty(2 * n_clauses, np.int64),
        np.zeros(n_clauses, np.bool_),
        np.full(n_buckets, -1, np.int64),
        np.empty(n_clauses, np.int64),
        np.full(n_literals, -1, np.int64),
    )
    refuted = False
    for clause in range(n_formula):
        if start[clause + 1] - start[clause] != 2:
            refuted = not _add(state, clause) or refuted
    refuted = refuted or not _propagate(state)
    for step in range(n_clauses - n_formula):
        clause = n_formula + step
        if deletes[step]:
            _delete(state, clause)
            continue
        if not refuted and not _follows(state, clause):
            return UNFOUNDED, step
        if start[clause] == start[clause + 1]:
            return PROVED, step
        refuted = not _add(state, clause) or refuted
        refuted = refuted or not _propagate(state)
    return UNFINISHED, n_clauses - n_formula


@compiled()
def _implications(
    literals: NDArray[np.int64], start: NDArray[np.int64], n_formula: int, n_literals: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `implied` and `implied_start`: most clauses of a forest are binary, and watches cost more."""
    count = np.zeros(n_literals + 1, np.int64)
    for clause in range(n_formula):
        if start[clause + 1] - start[clause] == 2:
            for place in range(start[clause], start[clause] + 2):
                count[(literals[place] ^ 1) + 1] += 1
    implied_start = np.cumsum(count)
    free = implied_start.copy()
    implied = np.empty(implied_start[-1], np.int64)
    for clause in range(n_formula):
        if start[clause + 1] - start[clause] == 2:
            one, other = literals[start[clause]], literals[start[clause] + 1]
            implied[free[one ^ 1]] = other
            free[one ^ 1] += 1
            implied[free[other ^ 1]] = one
            free[other ^ 1] += 1
    return implied, implied_start


@compiled()
def _follows(state: _State, clause: int) -> bool:
    """Return whether a clause is RUP; the assignments made to find out are undone."""
    fixed = state.size[0]
    conflict = False
    for place in range(state.start[clause], state.start[clause + 1]):
        literal = state.literals[place]
        if state.value[literal] == 1:
            conflict = True
            break
        if state.value[literal] == 0:
            _make_true(state, literal ^ 1)
    conflict = conflict or not _propagate(state)
    for place in range(fixed, state.size[0]):
        literal = state.trail[place]
        state.value[literal] = 0
        state.value[literal ^ 1] = 0
    state.size[:] = fixed
    return conflict


@compiled()
def _make_true(state: _State, literal: int) -> None:
    state.value[literal] = 1
    state.value[literal ^ 1] = -1
    state.trail[state.size[0]] = literal
    state.size[0] += 1


@compiled()
def _add(state: _State, clause: int) -> bool:
    """Add a clause: watch two literals that are not false, or make the only one true.

    Returns False if all its literals are false.
    """
    begin, end = state.start[clause], state.start[clause + 1]
    bucket = _bucket(state, clause)
    state.next_in_bucket[clause] = state.bucket[bucket]
    state.bucket[bucket] = clause
    found = 0
    for place in range(begin, end):
        literal = state.literals[place]
        if state.value[literal] != -1:
            state.literals[place] = state.literals[begin + found]
            state.literals[begin + found] = literal
            found += 1
            if found == 2:
                _watch(state, 2 * clause)
                _watch(state, 2 * clause + 1)
                return True
    if found == 1 and state.value[state.literals[begin]] == 0:
        _make_true(state, state.literals[begin])
    return found == 1


@compiled()
def _watch(state: _State, watch: int) -> None:
    literal = state.literals[state.start[watch >> 1] + (watch & 1)]
    state.following[watch] = state.first[literal]
    state.first[literal] = watch


@compiled()
def _propagate(state: _State) -> bool:
    """Propagate all implied literals; return False at a conflict."""
    while state.size[1] < state.size[0]:
        true = state.trail[state.size[1]]
        state.size[1] += 1
        for place in range(state.implied_start[true], state.implied_start[true + 1]):
            literal = state.implied[place]
            if state.value[literal] == -1:
                return False
            if state.value[literal] == 0:
                _make_true(state, literal)
        false = true ^ 1
        watch = state.first[false]
        state.first[false] = -1
        consistent = True
        while watch >= 0:
            following = state.following[watch]
            clause, own = watch >> 1, watch & 1
            # A deleted clause loses its watches when they are next visited.
            if not state.deleted[clause]:
                other = state.literals[state.start[clause] + 1 - own]
                if consistent and state.value[other] != 1 and not _moved(state, clause, own):
                    if state.value[other] == -1:
                        consistent = False
                    else:
                        _make_true(state, other)
                _watch(state, watch)
            watch = following
        if not consistent:
            return False
    return True


@compiled()
def _moved(state: _State, clause: int, own: int) -> bool:
    """Replace a watch that became false by a literal that is not; return False if there is none."""
    begin = state.start[clause]
    for place in range(begin + 2, state.start[clause + 1]):
        literal = state.literals[place]
        if state.value[literal] != -1:
            state.literals[place] = state.literals[begin + own]
            state.literals[begin + own] = literal
            return True
    return False


@compiled()
def _bucket(state: _State, clause: int) -> int:
    total = 0
    for place in range(state.start[clause], state.start[clause + 1]):
        total += state.literals[place] * _SPREAD & 0xFFFFFFFF
    return (total ^ total >> 16) & (len(state.bucket) - 1)


@compiled()
def _delete(state: _State, named: int) -> None:
    """Delete one clause with the same literals, if there is one."""
    begin, end = state.start[named], state.start[named + 1]
    for place in range(begin, end):
        state.mark[state.literals[place]] = named
    clause = state.bucket[_bucket(state, named)]
    while clause >= 0:
        if not state.deleted[clause] and state.start[clause + 1] - state.start[clause] == end - begin:
            same = True
            for place in range(state.start[clause], state.start[clause + 1]):
                same = same and state.mark[state.literals[place]] == named
            if same:
                state.deleted[clause] = True
                return
        clause = state.next_in_bucket[clause]
