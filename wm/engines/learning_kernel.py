"""Conflict-driven search over boxes, compiled: each dead end becomes a box that is never entered again.

A CDCL solver with one Boolean for each threshold spends most of its time on their order. Here a feature is an
interval of positions between thresholds, and a literal bounds it from one side (lazy clause generation;
Ohrimenko, Stuckey and Codish 2009). What a conflict needs is at most one bound for each side of each feature,
a box, and the learned clause keeps points out of it. Two watched literals, first unique implication points,
decaying activities, saved positions and restarts are as in MiniSat and CaDiCaL. The state and its numbering
are described in `learning_state`.

numba compiles the functions on their first use and caches them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wm.engines.compiled import compiled
from wm.engines.learning_state import (
    CLAUSES,
    CONFLICTS,
    FAST,
    INCREMENT,
    LEVEL,
    LITERALS,
    LOGGED,
    LUBY,
    ORIGINAL,
    QUEUE,
    REDUCE_AT,
    REDUCTIONS,
    RESTART_AT,
    SLOW,
    STABLE,
    STAMP,
    SWITCH_AT,
    TRAIL,
    WORK,
)

RUNNING, FOUND, NONE = 0, 1, 2
"""Results of `run`: budget used up, point found, proved that there is none."""

KEPT_GLUE = 2
"""Clauses of at most so many levels are kept for good (Audemard and Simon 2009)."""

_INNER: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of functions that are only called by compiled ones: a way from Python takes long to compile."""

_DECAY = 0.95
FIRST_SWITCH, FIRST_REDUCTION, RESTART, STABLE_RESTART = 1_000, 2_000, 10, 512
"""Conflicts before the first change of mode and the first reduction, and between restarts in each mode."""

_MARGIN = 1.1
"""Recent glue above its average by this factor means a restart."""


@compiled(**_INNER)
def holds(state, literal):
    """Return whether a literal holds in all of the box."""
    atom = literal >> 1
    f = state.feature[atom]
    return state.lower[f] > atom if literal & 1 else state.upper[f] <= atom


@compiled(**_INNER)
def assign(state, literal, reason):
    """Make a literal true that is open."""
    entry = state.numbers[TRAIL]
    atom = literal >> 1
    f = state.feature[atom]
    side = 2 * f + (literal & 1)
    state.trail[entry], state.reason[entry] = literal, reason
    state.level[entry], state.previous[entry] = state.numbers[LEVEL], state.last[side]
    state.last[side] = entry
    if literal & 1:
        state.before[entry], state.lower[f] = state.lower[f], atom + 1
    else:
        state.before[entry], state.upper[f] = state.upper[f], atom
    state.numbers[TRAIL] = entry + 1


@compiled(**_INNER)
def watch(state, clause):
    """Watch the first two literals of a clause."""
    for own in range(2):
        literal = state.literals[state.start[clause] + own]
        state.following[2 * clause + own] = state.first[literal]
        state.first[literal] = 2 * clause + own


@compiled(error_model="numpy")
def begin(state):
    """Watch the formula's clauses, and make those of one literal true; return whether they allow that."""
    for clause in range(state.numbers[CLAUSES]):
        if state.length[clause] > 1:
            watch(state, clause)
            continue
        if state.length[clause] == 0:
            return False
        literal = np.int64(state.literals[state.start[clause]])
        if holds(state, literal ^ 1):
            return False
        if not holds(state, literal):
            assign(state, literal, np.int64(-1))
    return True


@compiled(error_model="numpy")
def run(max_conflicts, state):
    """Search until a point, a proof, or the limit of conflicts; a further call continues.

    With a log, it also returns `RUNNING` when the log must be emptied.
    """
    numbers, averages, lower, upper = state.numbers, state.averages, state.lower, state.upper
    end = numbers[CONFLICTS] + max_conflicts
    longest = len(state.learned) + 1
    while True:
        conflict = _propagate(state)
        if conflict >= 0:
            if numbers[LEVEL] == 0:
                return NONE
            for f in range(len(lower)):
                state.saved[f] = min(max(state.saved[f], lower[f]), upper[f])
            _learn(state, conflict)
            continue
        conflicts = numbers[CONFLICTS]
        is_full = len(state.log) and numbers[LOGGED] + longest > len(state.log)
        if conflicts >= end or is_full:
            return RUNNING
        has_room = numbers[CLAUSES] < len(state.start) and numbers[LITERALS] + longest <= len(state.literals)
        if conflicts >= numbers[REDUCE_AT] or not has_room:
            if len(state.log) and numbers[LOGGED]:  # what is dropped must fit
                return RUNNING
            _backjump(state, 0)
            _reduce(state, KEPT_GLUE if has_room else 0)
            numbers[REDUCTIONS] += 1
            numbers[REDUCE_AT] = conflicts + FIRST_REDUCTION + 300 * numbers[REDUCTIONS]
        elif conflicts >= numbers[RESTART_AT] and (
            numbers[STABLE] or averages[FAST] > _MARGIN * averages[SLOW]
        ):
            _backjump(state, 0)
            numbers[LUBY] += numbers[STABLE]
            pause = STABLE_RESTART * _luby(numbers[LUBY]) if numbers[STABLE] else RESTART
            numbers[RESTART_AT] = conflicts + pause
        if conflicts >= numbers[SWITCH_AT]:
            numbers[STABLE] ^= 1
            numbers[SWITCH_AT] = conflicts + FIRST_SWITCH + conflicts // 2
            numbers[RESTART_AT] = conflicts
            state.saved[:] = state.centre
        atom = _most_active(state)
        if atom < 0:
            return FOUND
        numbers[LEVEL] += 1
        assign(state, np.int64(2 * atom + (state.saved[state.feature[atom]] > atom)), np.int64(-1))


@compiled(**_INNER)
def _propagate(state):
    """Make all implied literals true; return a clause whose literals are all false, or -1."""
    numbers, feature, lower, upper = state.numbers, state.feature, state.lower, state.upper
    first, following, literals = state.first, state.following, state.literals
    work = 0
    while numbers[QUEUE] < numbers[TRAIL]:
        entry = numbers[QUEUE]
        numbers[QUEUE] = entry + 1
        true, edge = state.trail[entry], state.before[entry]
        side, atom = true & 1, true >> 1
        begin, end = (edge, atom + 1) if side else (atom, edge)  # atoms whose other literal is false now
        work += end - begin
        for passed in range(begin, end):
            false = 2 * passed + 1 - side
            own: Any = np.int64(first[false])
            if own < 0:
                continue
            first[false] = -1
            conflict: Any = -1
            while own >= 0:
                after = np.int64(following[own])
                clause = own >> 1
                work += 16
                at = state.start[clause]
                other = np.int64(literals[at + 1 - (own & 1)])
                has_moved = False
                if conflict < 0 and not holds(state, other):
                    for k in range(at + 2, at + state.length[clause]):
                        literal = literals[k]
                        bound, f = literal >> 1, feature[literal >> 1]
                        if upper[f] > bound if literal & 1 else lower[f] <= bound:  # not false
                            literals[k], literals[at + (own & 1)] = false, literal
                            following[own] = first[literal]
                            first[literal] = own
                            has_moved = True
                            break
                    if not has_moved and holds(state, other ^ 1):
                        conflict = clause
                    elif not has_moved:
                        assign(state, other, clause)
                if not has_moved:
                    following[own] = first[false]
                    first[false] = own
                own = after
            if conflict >= 0:
                numbers[QUEUE] = numbers[TRAIL]
                numbers[WORK] += work
                return conflict
    numbers[WORK] += work
    return -1


@compiled(**_INNER)
def _backjump(state, level):
    """Undo all that was made true above a level."""
    entry = state.numbers[TRAIL]
    while entry > 0 and state.level[entry - 1] > level:
        entry -= 1
        literal = state.trail[entry]
        f = state.feature[literal >> 1]
        state.last[2 * f + (literal & 1)] = state.previous[entry]
        if literal & 1:
            state.lower[f] = state.before[entry]
        else:
            state.upper[f] = state.before[entry]
    state.numbers[TRAIL], state.numbers[QUEUE], state.numbers[LEVEL] = entry, entry, level


@compiled(**_INNER)
def _implies(literal, other):
    """Return whether a literal implies another one on the same side of the same feature."""
    return literal >= other if literal & 1 else literal <= other


@compiled(**_INNER)
def _entry(state, literal):
    """Return the first entry of the trail that made a literal true; -1 if it was from the start."""
    entry = state.last[2 * state.feature[literal >> 1] + (literal & 1)]
    if entry < 0 or not _implies(state.trail[entry], literal):
        return np.int64(-1)
    while state.previous[entry] >= 0 and _implies(state.trail[state.previous[entry]], literal):
        entry = state.previous[entry]
    return np.int64(entry)


@compiled(**_INNER)
def _need(state, count, clause, implied):
    """Add what makes a clause's literals false but the implied one; return the number of sides needed."""
    size = len(state.activity) // 2
    for k in range(state.start[clause], state.start[clause] + state.length[clause]):
        if state.literals[k] == implied:
            continue
        literal = np.int64(state.literals[k] ^ 1)
        entry = _entry(state, literal)
        if entry < 0 or state.level[entry] == 0:
            continue
        node = size + (literal >> 1)
        value = state.activity[node] + state.averages[INCREMENT]
        while node and state.activity[node] < value:
            state.activity[node] = value
            node >>= 1
        side = 2 * state.feature[literal >> 1] + (literal & 1)
        if state.needed[side] < 0:
            state.sides[count] = side
            count += 1
        elif _implies(state.needed[side], literal):
            continue
        state.needed[side], state.place[side] = literal, entry
    return count


@compiled(**_INNER)
def _learn(state, conflict):
    """Learn from a conflict, undo what led to it, and make the learned clause's one open literal true."""
    numbers, averages, place, sides = state.numbers, state.averages, state.place, state.sides
    count = _need(state, np.int64(0), conflict, np.int64(-1))
    while True:
        latest, at, current = -1, -1, 0
        for k in range(count):
            entry = place[sides[k]]
            current += state.level[entry] == numbers[LEVEL]
            if entry > latest:
                latest, at = entry, k
        if current <= 1:
            break
        count -= 1
        state.needed[sides[at]] = -1
        sides[at] = sides[count]
        count = _need(state, count, np.int64(state.reason[latest]), np.int64(state.trail[latest]))
    sides[0], sides[at] = sides[at], sides[0]
    length, back, glue = _shorten(state, count)
    _backjump(state, back)
    clause = np.int64(-1)
    if length > 1:
        clause = numbers[CLAUSES]
        begin = numbers[LITERALS]
        state.start[clause], state.length[clause], state.glue[clause] = begin, length, glue
        state.literals[begin : begin + length] = state.learned[:length]
        watch(state, clause)
        numbers[CLAUSES] += 1
        numbers[LITERALS] += length
    _write(state, length, state.learned, 0)
    assign(state, np.int64(state.learned[0]), clause)
    numbers[CONFLICTS] += 1
    averages[FAST] += 0.03 * (glue - averages[FAST])
    averages[SLOW] += (glue - averages[SLOW]) / min(numbers[CONFLICTS], 10_000)
    averages[INCREMENT] /= _DECAY
    if averages[INCREMENT] > 1e100:
        averages[INCREMENT] *= 1e-100
        state.activity[:] *= 1e-100


@compiled(**_INNER)
def _shorten(state, count):
    """Write the learned clause without literals that follow from the others.

    Returns its length, the level at which its first literal follows, and its number of levels.
    """
    numbers, place, learned = state.numbers, state.place, state.learned
    learned[0] = state.needed[state.sides[0]] ^ 1
    numbers[STAMP] += 1
    length, back, glue = 1, 0, 1
    for number in range(1, count):
        side = state.sides[number]
        entry = place[side]
        clause, level = state.reason[entry], state.level[entry]
        follows = clause >= 0
        if follows:
            for k in range(state.start[clause], state.start[clause] + state.length[clause]):
                literal = np.int64(state.literals[k] ^ 1)
                if literal ^ 1 == state.trail[entry]:
                    continue
                other = 2 * state.feature[literal >> 1] + (literal & 1)
                known = state.needed[other]
                # Only from earlier ones: no two follow from each other.
                if known >= 0 and place[other] < entry and _implies(known, literal):
                    continue
                cause = _entry(state, literal)
                if cause >= 0 and state.level[cause] > 0:
                    follows = False
                    break
        if follows:
            continue
        learned[length] = state.needed[side] ^ 1
        if level > back:
            back = level
            learned[1], learned[length] = learned[length], learned[1]
        length += 1
        if state.stamp[level] != numbers[STAMP]:
            state.stamp[level] = numbers[STAMP]
            glue += 1
    for number in range(count):
        state.needed[state.sides[number]] = -1
    return length, back, glue


@compiled(**_INNER)
def _write(state, length, literals, begin):
    """Write a clause to the log, if there is one; a negative length for one that is dropped."""
    if len(state.log):
        at = state.numbers[LOGGED]
        state.log[at] = length
        for k in range(abs(length)):
            state.log[at + 1 + k] = literals[begin + k]
        state.numbers[LOGGED] = at + 1 + abs(length)


@compiled(**_INNER)
def _reduce(state, kept_glue):
    """Drop, at level 0, the half of the learned clauses with the most levels; clear out what is settled."""
    numbers, glue = state.numbers, state.glue
    of_glue = np.zeros(256, np.int64)
    for clause in range(numbers[ORIGINAL], numbers[CLAUSES]):
        of_glue[min(glue[clause], 255)] += 1
    surplus, limit = of_glue[kept_glue + 1 :].sum() // 2, 255
    while limit > kept_glue and of_glue[limit] <= surplus:
        surplus -= of_glue[limit]
        limit -= 1
    state.first[:] = -1
    kept, place, original = 0, 0, 0
    for clause in range(numbers[CLAUSES]):
        begin, length = state.start[clause], state.length[clause]
        if clause >= numbers[ORIGINAL] and min(glue[clause], 255) >= limit > kept_glue:
            dropped = glue[clause] > limit or surplus > 0  # of those at the limit the oldest
            surplus -= glue[clause] == limit
            if dropped:
                _write(state, -length, state.literals, begin)
                continue
        left, is_met = 0, False
        for k in range(begin, begin + length):
            literal = np.int64(state.literals[k])
            is_met = is_met or holds(state, literal)
            if not holds(state, literal ^ 1):
                state.literals[place + left] = literal
                left += 1
        if is_met:
            continue
        state.start[kept], state.length[kept], glue[kept] = place, left, glue[clause]
        watch(state, kept)
        place += left
        kept += 1
        original += clause < numbers[ORIGINAL]
    numbers[ORIGINAL], numbers[CLAUSES], numbers[LITERALS] = original, kept, place


@compiled(**_INNER)
def _luby(number):
    """Return term `number`, from 1 on, of 1 1 2 1 1 2 4 ... (Luby, Sinclair and Zuckerman 1993)."""
    while True:
        size = 1
        while 2 * size <= number:
            size *= 2
        if number == 2 * size - 1:
            return size
        number -= size - 1


@compiled(**_INNER)
def _most_active(state):
    """Return the most active atom that is open; -1 if none is."""
    activity, size = state.activity, len(state.activity) // 2
    best, value = -1, -1.0
    for f in range(len(state.lower)):
        left, right = state.lower[f] + size, state.upper[f] + size
        while left < right:
            if left & 1:
                if activity[left] > value:
                    best, value = left, activity[left]
                left += 1
            if right & 1:
                right -= 1
                if activity[right] > value:
                    best, value = right, activity[right]
            left >>= 1
            right >>= 1
    if best >= 0:
        while best < size:
            best = 2 * best + (activity[2 * best + 1] > activity[2 * best])
        best -= size
    return best
