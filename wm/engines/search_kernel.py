"""The k-partite search, compiled: one leaf for each tree, every two of which meet.

Boxes with sides parallel to the axes have a common point if every two of them meet, so a witness is a choice
of one wanted leaf for each tree such that every two are compatible. The leaves still possible, the live ones,
are bits, each tree padded to whole words; choosing a leaf is one AND with its compatibility row.

numba compiles the functions on their first use and caches them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from wm.engines.compiled import compiled

RUNNING, FOUND, NONE = 0, 1, 2
"""Results of `search`: budget used up, witness found, proved that there is none."""

STEP = 32
"""Entries between two checkpoints of a sorted list of bounds: a row clears fewer bits of it one by one."""

_SORTED_LEVELS = 4
"""Levels of the search tree at which leaves that keep the most leaves live are tried first."""


def _count_ones(_context: Any, word: Any) -> Any:
    def generate(_target: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _count_trailing_zeros(_context: Any, word: Any) -> Any:
    def generate(_target: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


_popcount: Any = intrinsic(_count_ones)
_lowest_bit: Any = intrinsic(_count_trailing_zeros)


@compiled(error_model="numpy")
def build_row(leaf, row, root, bounds, box_lower, box_upper, bit_of, by_key, lists):
    """Write the bits of all leaves that meet a leaf within the box.

    Two leaves do not meet if one begins above the other's end in some feature. The leaves that do not meet
    this one are those before some key in one of the feature's two sorted lists.

    Parameters
    ----------
    leaf, row : int, (words,) uint64
        The leaf; the bits, written here.
    root : (words,) uint64
        The bits of all leaves considered, each of which meets the box.
    bounds, box_lower, box_upper
        As in `walk_kernel.shrink`.
    bit_of : (L,) int32
        Bit of each leaf, -1 where it has none.
    by_key
        `cells.SortedBounds`.
    lists
        The sorted lists, see `box_search.row_table`.
    """
    start, feature, lower, upper = bounds
    bits, keys, begin, end, marks, first, _ = lists
    one = np.uint64(1)
    row[:] = root
    for bound in range(start[leaf], start[leaf + 1]):
        f = feature[bound]
        for side in range(2):
            if (upper[bound] == box_upper[f]) if side == 0 else (lower[bound] == box_lower[f]):
                continue
            key = -upper[bound] if side == 0 else lower[bound]
            if begin[side, f] < 0:
                _list_feature(side, f, by_key, lists, box_lower, box_upper, bit_of)
            after = begin[side, f] + np.searchsorted(keys[begin[side, f] : end[side, f]], key)
            jumps = (after - begin[side, f]) // STEP
            if jumps:
                mark = first[side, f] + jumps - 1
                for word in range(len(row)):
                    row[word] &= ~marks[mark, word]
            for number in range(begin[side, f] + jumps * STEP, after):
                bit = bits[number]
                row[bit >> 6] &= ~(one << np.uint64(bit & 63))


@compiled(error_model="numpy")
def _list_feature(side, f, by_key, lists, box_lower, box_upper, bit_of):
    """Write one sorted list of a feature: the bounds inside the box of all leaves that have a bit."""
    leaves, all_keys, start = by_key
    bits, keys, begin, end, marks, first, used = lists
    one = np.uint64(1)
    # Bounds before the box belong to leaves that do not meet it; those from its other end on exclude nothing.
    near = -box_upper[f] if side == 0 else box_lower[f]
    far = -box_lower[f] if side == 0 else box_upper[f]
    place, mark = used[0], used[1]
    begin[side, f], first[side, f] = place, mark
    inside = start[f] + np.searchsorted(all_keys[side, start[f] : start[f + 1]], near)
    for bound in range(inside, start[f + 1]):
        key = all_keys[side, bound]
        if key >= far:
            break
        bit = bit_of[leaves[side, bound]]
        if bit < 0:
            continue
        bits[place], keys[place] = bit, key
        place += 1
        if (place - begin[side, f]) % STEP == 0:
            # All bits of the list so far: those of the previous checkpoint and those added since.
            if mark > first[side, f]:
                marks[mark] = marks[mark - 1]
            else:
                marks[mark] = np.uint64(0)
            for number in range(place - STEP, place):
                marks[mark, bits[number] >> 6] |= one << np.uint64(bits[number] & 63)
            mark += 1
    end[side, f] = place
    used[0], used[1] = place, mark


@compiled(error_model="numpy")
def search(
    max_choices, progress, live, n_live, branching, order, ease, choice, planes, rows, row_of, built, table
):
    """Search depth-first until a witness, a proof, or the limit of choices; a further call continues.

    Parameters
    ----------
    max_choices : int
        Limit on leaves chosen in this call, by branching or as the only one of their tree.
    progress : (1,) int64
        The current level; -1 before the first call.
    live : (m + 1, words) uint64
        Live leaves at each level.
    n_live : (m + 1, m) int64
        Number of live leaves of each tree at each level.
    branching
        For each level the bits to try, (m + 1, largest number of leaves of a tree) int64, and their number,
        the next one and their tree, (m + 1,) int64 each.
    order : (m,) int64
        The order in which trees are examined, the most recently wiped out first.
    ease : (m,) float64
        1 / (1 + number of wipe-outs of a tree) (dom/wdeg).
    choice : (m,) int64
        The bit chosen in each tree; complete when a witness is found.
    planes : (K + 1,) int64
        Word t of plane k is word ``planes[k] + t``: the (k + 1)-st word of tree t. Trees are sorted by their
        number of words, the largest first.
    rows, row_of, built : (leaves, words) uint64, (bits,) int32, (1,) int64
        Compatibility rows in the order in which they were built, the row of each bit (-1: none yet), and the
        number of rows.
    table
        `box_search.row_table`.
    """
    candidates, number, place, branch = branching
    levels = live, n_live, order, ease, planes
    trees = len(order)
    pending = np.empty(trees, np.int64)
    counts = np.empty(trees, np.int64)
    score, chosen = np.empty(candidates.shape[1], np.int64), np.empty(3, np.int64)
    choices, due, target = 0, 0, -1
    if progress[0] < 0:
        progress[0] = target = 0
        for tree in range(trees):
            if n_live[0, tree] == 1:
                pending[due] = tree
                due += 1
    # A function that takes `table` must not be called for each node: passing its many arrays is slow.
    while True:
        if target < 0:
            now = progress[0]
            if place[now] >= number[now]:
                if now == 0:
                    return NONE
                progress[0] = now - 1
                continue
            if choices >= max_choices:
                return RUNNING
            choices += 1
            bit, tree, target = candidates[now, place[now]], branch[now], now + 1
            place[now] += 1
            choice[tree] = bit
            if row_of[bit] < 0:
                _build(bit, rows, row_of, built, table)
            due = _meet(rows[row_of[bit]], tree, now, target, np.int64(0), pending, counts, levels)
        while due > 0:  # choose every leaf that is the only one of its tree, three at once
            together = min(due, 3)
            choices += together
            for number_of in range(together):
                due -= 1
                tree = pending[due]
                plane = 0
                while live[target, planes[plane] + tree] == 0:
                    plane += 1
                word = planes[plane] + tree
                bit = word * 64 + np.int64(_lowest_bit(live[target, word]))
                choice[tree] = bit
                if row_of[bit] < 0:
                    _build(bit, rows, row_of, built, table)
                chosen[number_of] = row_of[bit]
            first, second, third = chosen[0], chosen[min(1, together - 1)], chosen[together - 1]
            if together == 1:
                due = _meet(rows[first], tree, target, target, due, pending, counts, levels)
            else:
                due = _meet_three(
                    rows[first], rows[second], rows[third], tree, target, due, pending, counts, levels
                )
        if due < 0:
            if target == 0:
                return NONE
        else:
            progress[0] = target
            if not _open_level(target, live, n_live, candidates, number, place, branch, ease, planes):
                return FOUND
            if target < _SORTED_LEVELS:
                _sort_level(target, live, candidates, number, rows, row_of, built, table, score)
        target = -1


@compiled(error_model="numpy")
def _build(bit, rows, row_of, built, table):
    leaf_at, root, bounds, box_lower, box_upper, bit_of, by_key, lists = table
    build_row(leaf_at[bit], rows[built[0]], root, bounds, box_lower, box_upper, bit_of, by_key, lists)
    row_of[bit] = built[0]
    built[0] += 1


@compiled(error_model="numpy")
def _meet(row, tree, source, target, due, pending, counts, levels):
    """Write level `target` from level `source` after the choice of a leaf with this row.

    The two levels may be the same. Trees that now have a single leaf are added to the `due` pending ones.
    Returns the number of pending trees, or -1 if a tree is wiped out.
    """
    live, planes = levels[0], levels[-1]
    # Loops without branches over all trees become vector instructions.
    for word in range(len(counts)):
        bits = live[source, word] & row[word]
        live[target, word] = bits
        counts[word] = np.int64(_popcount(bits))
    for plane in range(1, len(planes) - 1):
        first = np.uint64(planes[plane])
        for other in range(np.uint64(planes[plane + 1]) - first):
            bits = live[source, first + other] & row[first + other]
            live[target, first + other] = bits
            counts[other] += np.int64(_popcount(bits))
    return _settle(tree, source, target, due, pending, counts, levels)


@compiled(error_model="numpy")
def _meet_three(first_row, second_row, third_row, tree, target, due, pending, counts, levels):
    """Write the live leaves of a level after the choice of three leaves, or two, and count them.

    One pass instead of three. For a fourth row LLVM would have to compare too many addresses, and makes no
    vector instructions. The rest is as in `_meet`.
    """
    live, planes = levels[0], levels[-1]
    for word in range(len(counts)):
        bits = live[target, word] & first_row[word] & second_row[word] & third_row[word]
        live[target, word] = bits
        counts[word] = np.int64(_popcount(bits))
    for plane in range(1, len(planes) - 1):
        first = np.uint64(planes[plane])
        for other in range(np.uint64(planes[plane + 1]) - first):
            at = first + other
            bits = live[target, at] & first_row[at] & second_row[at] & third_row[at]
            live[target, at] = bits
            counts[other] += np.int64(_popcount(bits))
    return _settle(tree, target, target, due, pending, counts, levels)


@compiled(error_model="numpy", inline="always")
def _settle(tree, source, target, due, pending, counts, levels):
    """Write the numbers of live leaves of level `target`, and return what `_meet` does.

    Part of its callers: a function of its own, called with so many arrays, takes a sixth of all time.
    """
    _, n_live, order, ease, _ = levels
    empty, single = np.int64(0), np.int64(0)
    for other in range(len(counts)):
        empty += np.int64(counts[other] == 0)
        single += np.int64((counts[other] == 1) & (n_live[source, other] != 1))
    if empty:
        place = 0
        while counts[order[place]]:
            place += 1
        # It is likely to be wiped out again: raise its weight and examine it first from now on.
        wiped = order[place]
        ease[wiped] = 1.0 / (1.0 / ease[wiped] + 1.0)
        for earlier in range(place, 0, -1):
            order[earlier] = order[earlier - 1]
        order[0] = wiped
        return -1
    if single > np.int64(n_live[source, tree] != 1):  # the chosen tree itself has a single leaf now
        for other in range(len(counts)):
            if counts[other] == 1 and n_live[source, other] != 1 and other != tree:
                pending[due] = other
                due += 1
    for other in range(len(counts)):
        n_live[target, other] = counts[other]
    return due


@compiled(error_model="numpy", fastmath={"nnan", "nsz"})
def _open_level(level, live, n_live, candidates, number, place, branch, ease, planes):
    """Select the tree to branch on and list its leaves; False if none is open: a witness is found."""
    # Two loops without branches, which become vector instructions, instead of one with.
    least = np.inf
    for tree in range(len(ease)):
        value = n_live[level, tree] * ease[tree]
        least = min(least, value if n_live[level, tree] > 1 else np.inf)
    if least == np.inf:
        return False
    best = 0
    while n_live[level, best] <= 1 or n_live[level, best] * ease[best] != least:
        best += 1
    branch[level], place[level] = best, 0
    found = 0
    for plane in range(len(planes) - 1):
        word = planes[plane] + best
        if word >= planes[plane + 1]:
            break
        rest = live[level, word]
        while rest:
            candidates[level, found] = word * 64 + np.int64(_lowest_bit(rest))
            found += 1
            rest &= rest - np.uint64(1)
    number[level] = found
    return True


@compiled(error_model="numpy")
def _sort_level(level, live, candidates, number, rows, row_of, built, table, score):
    """Sort the leaves to try by how many leaves they keep live, largest first."""
    for at in range(number[level]):
        bit = candidates[level, at]
        if row_of[bit] < 0:
            _build(bit, rows, row_of, built, table)
        total = np.uint64(0)
        for word in range(live.shape[1]):
            total += _popcount(live[level, word] & rows[row_of[bit], word])
        score[at] = np.int64(total)
    # Insertion sort, stable: a tree has few live leaves.
    for at in range(1, number[level]):
        bit, value = candidates[level, at], score[at]
        other = at - 1
        while other >= 0 and score[other] < value:
            candidates[level, other + 1] = candidates[level, other]
            score[other + 1] = score[other]
            other -= 1
        candidates[level, other + 1] = bit
        score[other + 1] = value
