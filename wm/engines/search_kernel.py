"""The k-partite search in machine code: one leaf for each tree, every two of them meeting.

Boxes with sides parallel to the axes have a common point as soon as every two of them meet, so a witness is a
choice of one wanted leaf for each tree in which every two are compatible. Living leaves are bits, each tree
padded to whole words; choosing a leaf is one AND with its compatibility row.

Compiled by numba when first used and kept in its cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

RUNNING, FOUND, NONE = 0, 1, 2
"""What `search` returns: node budget used up, witness found, proved that there is none."""

STEP = 32
"""Entries between two checkpoints of a sorted list of bounds: a row costs at most this many single bits."""

_SORTED_LEVELS = 4
"""Levels of the search tree in which leaves that leave most alive are tried first."""

_HULL_ROUNDS = 5

_LIKELY = 8
"""Trees, those wiped out last, that are looked at before the whole row is written."""


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


@njit(cache=True, nogil=True)
def keep_leaves(alive, start, feature, lower, upper, box_lower, box_upper):
    """Clear the leaves that do not meet the box; in place."""
    for leaf in range(len(alive)):
        if alive[leaf]:
            for bound in range(start[leaf], start[leaf + 1]):
                f = feature[bound]
                if lower[bound] > box_upper[f] or upper[bound] < box_lower[f]:
                    alive[leaf] = False
                    break


@njit(cache=True, nogil=True)
def tighten(alive, tree_start, start, feature, lower, upper, box_lower, box_upper):
    """Shrink the box to what each tree's living leaves cover, and clear leaves outside it; in place.

    Returns False if some tree has no living leaf or the box becomes empty: proved impossible.
    """
    n_features = len(box_lower)
    seen = np.zeros(n_features, np.int64)
    least = np.empty(n_features, np.int32)
    most = np.empty(n_features, np.int32)
    for _ in range(_HULL_ROUNDS):
        keep_leaves(alive, start, feature, lower, upper, box_lower, box_upper)
        shrunk = False
        for tree in range(len(tree_start) - 1):
            living = 0
            seen[:] = 0
            for leaf in range(tree_start[tree], tree_start[tree + 1]):
                if not alive[leaf]:
                    continue
                living += 1
                for bound in range(start[leaf], start[leaf + 1]):
                    f = feature[bound]
                    if seen[f] == 0:
                        least[f] = lower[bound]
                        most[f] = upper[bound]
                    else:
                        least[f] = min(least[f], lower[bound])
                        most[f] = max(most[f], upper[bound])
                    seen[f] += 1
            if living == 0:
                return False
            for f in range(n_features):
                if seen[f] == living:
                    if least[f] > box_lower[f]:
                        box_lower[f] = least[f]
                        shrunk = True
                    if most[f] < box_upper[f]:
                        box_upper[f] = most[f]
                        shrunk = True
                    if box_lower[f] > box_upper[f]:
                        return False
        if not shrunk:
            break
    keep_leaves(alive, start, feature, lower, upper, box_lower, box_upper)
    for tree in range(len(tree_start) - 1):
        any_living = False
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            any_living = any_living or alive[leaf]
        if not any_living:
            return False
    return True


@njit(cache=True, nogil=True)
def checkpoints(entries, ends, bit_of, words):
    """Return, for each list of bounds, the bits of its first STEP, 2 STEP, ... leaves, and where each begins.

    `entries` holds the leaves of all lists in order, `ends` (d + 1,) cuts them by feature.
    """
    n_features = len(ends) - 1
    first = np.zeros(n_features + 1, np.int64)
    for f in range(n_features):
        first[f + 1] = first[f] + (ends[f + 1] - ends[f]) // STEP
    bits = np.zeros((first[n_features], words), np.uint64)
    one = np.uint64(1)
    current = np.zeros(words, np.uint64)
    for f in range(n_features):
        if first[f + 1] == first[f]:
            continue
        current[:] = np.uint64(0)
        row = first[f]
        for number in range(first[f + 1] * STEP - first[f] * STEP):
            position = bit_of[entries[ends[f] + number]]
            current[position >> 6] |= one << np.uint64(position & 63)
            if (number + 1) % STEP == 0:
                bits[row] = current
                row += 1
    return bits, first


@njit(cache=True, nogil=True)
def sorted_lists(leaves, start, feature, key, limit, by_lower, rank, order, leaf_of, marks):
    """Return leaves, keys and ends of the lists of bounds that cut into the box, in their global order.

    `rank` numbers all bounds in that order and `order` is its inverse. Marking the ranks in a bit set and
    reading it from end to end sorts them without comparing.
    """
    n_features = len(limit)
    one = np.uint64(1)
    ends = np.zeros(n_features + 1, np.int64)
    count = 0
    for leaf in leaves:
        for bound in range(start[leaf], start[leaf + 1]):
            f = feature[bound]
            if (key[bound] > limit[f]) if by_lower else (key[bound] < limit[f]):
                place = rank[bound]
                marks[place >> 6] |= one << np.uint64(place & 63)
                ends[f + 1] += 1
                count += 1
    for f in range(n_features):
        ends[f + 1] += ends[f]
    found = np.empty(count, np.int64)
    keys = np.empty(count, np.int32)
    count = 0
    for word in range(len(marks)):
        rest = marks[word]
        while rest:
            bound = order[word * 64 + np.int64(_lowest_bit(rest))]
            found[count] = leaf_of[bound]
            keys[count] = key[bound]
            count += 1
            rest &= rest - one
        marks[word] = np.uint64(0)
    return found, keys, ends


@njit(cache=True, nogil=True)
def cells_of(point, thresholds, threshold_start, cells):
    """Write the cell of each of a point's features: the number of thresholds below it."""
    for f in range(len(point)):
        a, b = threshold_start[f], threshold_start[f + 1]
        while a < b:
            middle = (a + b) >> 1
            if thresholds[middle] < point[f]:
                a = middle + 1
            else:
                b = middle
        cells[f] = a - threshold_start[f]


@njit(cache=True, nogil=True)
def _strike(row, leaves, bit_of, begin, count, bits, first):
    """Clear from a row the first `count` leaves of a list that begins at `begin`."""
    jumps = count // STEP
    if jumps:
        point = bits[first + jumps - 1]
        for word in range(len(row)):
            row[word] &= ~point[word]
    one = np.uint64(1)
    for number in range(begin + jumps * STEP, begin + count):
        position = bit_of[leaves[number]]
        row[position >> 6] &= ~(one << np.uint64(position & 63))


@njit(cache=True, nogil=True)
def build_row(leaf, row, root, start, feature, lower, upper, box_lower, box_upper, bit_of, by_low, by_up):
    """Write the bits of all leaves that meet a leaf within the box.

    A leaf misses another in a feature if it begins above the other's end or ends below its beginning: a
    prefix of the one sorted list or of the other.
    """
    low_leaves, low_keys, low_ends, low_bits, low_first = by_low
    up_leaves, up_keys, up_ends, up_bits, up_first = by_up
    row[:] = root
    for bound in range(start[leaf], start[leaf + 1]):
        f = feature[bound]
        if upper[bound] < box_upper[f]:
            # keys descend: count those above this leaf's last cell
            begin, end, value = low_ends[f], low_ends[f + 1], upper[bound]
            a, b = begin, end
            while a < b:
                middle = (a + b) >> 1
                if low_keys[middle] > value:
                    a = middle + 1
                else:
                    b = middle
            _strike(row, low_leaves, bit_of, begin, a - begin, low_bits, low_first[f])
        if lower[bound] > box_lower[f]:
            # keys ascend: count those below this leaf's first cell
            begin, end, value = up_ends[f], up_ends[f + 1], lower[bound]
            a, b = begin, end
            while a < b:
                middle = (a + b) >> 1
                if up_keys[middle] < value:
                    a = middle + 1
                else:
                    b = middle
            _strike(row, up_leaves, bit_of, begin, a - begin, up_bits, up_first[f])


@njit(cache=True, nogil=True)
def search(
    max_nodes,
    state,
    live,
    count,
    asserted,
    order,
    candidates,
    n_candidates,
    position,
    branch,
    weight,
    rows,
    has_row,
    leaf_at,
    word_start,
    row_data,
):
    """Search depth-first until a witness, a proof, or `max_nodes` more nodes; may be called again to go on.

    Parameters
    ----------
    state : (1,) int64
        Level; -1 at the very beginning.
    live : (m + 1, words) uint64
        Living leaves at each level.
    count, asserted : (m + 1, m)
        Living leaves of each tree, and whether its only one has been propagated.
    order : (m,)
        The order in which trees are looked at, those wiped out last first.
    candidates : (m + 1, most leaves of a tree) int64, n_candidates, position, branch : (m + 1,)
        Bits to try at each level, how many, the next one, and the tree they belong to.
    weight : (m,) float64
        Grows with each wipe-out of a tree (dom/wdeg).
    rows, has_row
        Compatibility rows built so far.
    leaf_at : (words * 64,)
        Leaf of each bit, -1 for padding.
    word_start : (m + 1,)
        Words of each tree.
    row_data
        Arguments of `build_row` after `root`.
    """
    trees = len(word_start) - 1
    scratch_score = np.empty(candidates.shape[1], np.int64)
    nodes = 0
    if state[0] < 0:
        for tree in range(trees):
            count[0, tree] = _count(live[0], word_start, tree)
            asserted[0, tree] = False
        if not _propagate(
            0, live, count, asserted, order, weight, rows, has_row, leaf_at, word_start, row_data
        ):
            return NONE
        state[0] = 0
        if not _open_level(
            0,
            live,
            count,
            candidates,
            n_candidates,
            position,
            branch,
            weight,
            rows,
            has_row,
            leaf_at,
            word_start,
            row_data,
            scratch_score,
        ):
            return FOUND
    while True:
        level = state[0]
        if position[level] >= n_candidates[level]:
            if level == 0:
                return NONE
            state[0] = level - 1
            continue
        if nodes >= max_nodes:
            return RUNNING
        nodes += 1
        bit = candidates[level, position[level]]
        position[level] += 1
        if not _assert_bit(
            bit,
            branch[level],
            level,
            level + 1,
            live,
            count,
            asserted,
            order,
            weight,
            rows,
            has_row,
            leaf_at,
            word_start,
            row_data,
        ):
            continue
        if not _propagate(
            level + 1, live, count, asserted, order, weight, rows, has_row, leaf_at, word_start, row_data
        ):
            continue
        state[0] = level + 1
        if not _open_level(
            level + 1,
            live,
            count,
            candidates,
            n_candidates,
            position,
            branch,
            weight,
            rows,
            has_row,
            leaf_at,
            word_start,
            row_data,
            scratch_score,
        ):
            return FOUND


@njit(cache=True, nogil=True)
def _count(bits, word_start, tree):
    total = np.uint64(0)
    for word in range(word_start[tree], word_start[tree + 1]):
        total += _popcount(bits[word])
    return np.int64(total)


@njit(cache=True, nogil=True)
def _row_of(bit, rows, has_row, leaf_at, row_data):
    if not has_row[bit]:
        root, start, feature, lower, upper, box_lower, box_upper, bit_of, by_low, by_up = row_data
        build_row(
            leaf_at[bit],
            rows[bit],
            root,
            start,
            feature,
            lower,
            upper,
            box_lower,
            box_upper,
            bit_of,
            by_low,
            by_up,
        )
        has_row[bit] = True
    return rows[bit]


@njit(cache=True, nogil=True)
def _wiped_out(tree, place, order, weight):
    """Raise a tree's weight and look at it first from now on: it is the likeliest to be wiped out again."""
    weight[tree] += 1.0
    for earlier in range(place, 0, -1):
        order[earlier] = order[earlier - 1]
    order[0] = tree


@njit(cache=True, nogil=True)
def _assert_bit(
    bit,
    tree,
    source,
    target,
    live,
    count,
    asserted,
    order,
    weight,
    rows,
    has_row,
    leaf_at,
    word_start,
    row_data,
):
    """Write level `target` as level `source` with one leaf chosen; False if that empties a tree."""
    row = _row_of(bit, rows, has_row, leaf_at, row_data)
    before, after = live[source], live[target]
    for place in range(min(_LIKELY, len(order))):
        other = order[place]
        total = np.uint64(0)
        for word in range(word_start[other], word_start[other + 1]):
            total |= before[word] & row[word]
        if total == 0:
            _wiped_out(other, place, order, weight)
            return False
    for word in range(len(row)):
        after[word] = before[word] & row[word]
    for place in range(len(order)):
        other = order[place]
        total = np.uint64(0)
        for word in range(word_start[other], word_start[other + 1]):
            total += _popcount(after[word])
        if total == 0:
            _wiped_out(other, place, order, weight)
            return False
        count[target, other] = np.int64(total)
        asserted[target, other] = asserted[source, other]
    asserted[target, tree] = True
    return True


@njit(cache=True, nogil=True)
def _propagate(level, live, count, asserted, order, weight, rows, has_row, leaf_at, word_start, row_data):
    """Choose every leaf that is the last of its tree, until nothing changes; False if a tree empties."""
    trees = len(word_start) - 1
    changed = True
    while changed:
        changed = False
        for tree in range(trees):
            if count[level, tree] == 1 and not asserted[level, tree]:
                for word in range(word_start[tree], word_start[tree + 1]):
                    if live[level, word]:
                        bit = word * 64 + np.int64(_lowest_bit(live[level, word]))
                if not _assert_bit(
                    bit,
                    tree,
                    level,
                    level,
                    live,
                    count,
                    asserted,
                    order,
                    weight,
                    rows,
                    has_row,
                    leaf_at,
                    word_start,
                    row_data,
                ):
                    return False
                changed = True
    return True


@njit(cache=True, nogil=True)
def _open_level(
    level,
    live,
    count,
    candidates,
    n_candidates,
    position,
    branch,
    weight,
    rows,
    has_row,
    leaf_at,
    word_start,
    row_data,
    score,
):
    """Pick the tree to branch on and list its leaves; False if no tree is open: a witness is found."""
    best, best_value = -1, 0.0
    for tree in range(len(word_start) - 1):
        if count[level, tree] > 1:
            value = count[level, tree] / weight[tree]
            if best < 0 or value < best_value:
                best, best_value = tree, value
    if best < 0:
        return False
    branch[level] = best
    position[level] = 0
    number = 0
    for word in range(word_start[best], word_start[best + 1]):
        rest = live[level, word]
        while rest:
            low = _lowest_bit(rest)
            candidates[level, number] = word * 64 + np.int64(low)
            number += 1
            rest &= rest - np.uint64(1)
    n_candidates[level] = number
    if level < _SORTED_LEVELS:
        for place in range(number):
            row = _row_of(candidates[level, place], rows, has_row, leaf_at, row_data)
            total = np.uint64(0)
            for word in range(live.shape[1]):
                total += _popcount(live[level, word] & row[word])
            score[place] = np.int64(total)
        # Insertion sort, stable, the largest first: a tree has few living leaves.
        for place in range(1, number):
            bit, value = candidates[level, place], score[place]
            other = place - 1
            while other >= 0 and score[other] < value:
                candidates[level, other + 1] = candidates[level, other]
                score[other + 1] = score[other]
                other -= 1
            candidates[level, other + 1] = bit
            score[other + 1] = value
    return True
