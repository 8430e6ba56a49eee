"""Find the leaves that meet a box, and shrink the box; compiled, in cells (see `cells`).

numba compiles the functions on their first use and caches them.
"""

from __future__ import annotations

import numpy as np

from wm.engines.compiled import compiled

_ROUNDS = 5
"""Limit on the number of times that the box is shrunk."""

_MAX_SHARE = 0.95
"""Another round follows only if the last one left at most this share of the leaves."""

_SAME, _SHRUNK, _EMPTY = 0, 1, 2


@compiled(error_model="numpy")
def cells_of(point, thresholds, threshold_start, cells):
    """Write the cell of each of a point's features: the number of thresholds below it."""
    for f in range(len(point)):
        cells[f] = np.searchsorted(thresholds[threshold_start[f] : threshold_start[f + 1]], point[f])


@compiled(error_model="numpy")
def box_around(centre, eps, thresholds, threshold_start, box, cells):
    """Write a query's closed box, and the cells of its two corners.

    The box is that of `encoding.query_box`, to the last bit.

    Parameters
    ----------
    centre, eps : (d,) float64, float64
        The query's; finite.
    box, cells : (2, d) float32, (2, d) int32
        Written.

    Returns
    -------
    bool
        False if the box is empty; then the cells mean nothing.
    """
    is_full = True
    for f in range(len(centre)):
        box[0, f] = max(_float32_at_least_sum(centre[f], -eps), np.float32(0))
        box[1, f] = min(-_float32_at_least_sum(-centre[f], -eps), np.float32(1))
        is_full &= box[0, f] <= box[1, f]
    for side in range(2):
        cells_of(box[side], thresholds, threshold_start, cells[side])
    return is_full


@compiled(error_model="numpy")
def _float32_at_least_sum(a, b):
    """Return the smallest float32 that is not below a + b in exact arithmetic (Knuth's TwoSum)."""
    total = a + b
    near = np.float32(total)
    if near == total:
        part = total - a
        if (a - (total - part)) + (b - part) > 0:
            near = np.nextafter(near, np.float32(np.inf))
    elif near < total:
        near = np.nextafter(near, np.float32(np.inf))
    return near


@compiled(error_model="numpy")
def lay_out(met, met_start, is_open, start):
    """Give each leaf of the open trees a bit.

    Trees are padded to whole words and lie in planes, those with the most leaves first, as
    `search_kernel.search` takes them.

    Parameters
    ----------
    met, met_start, is_open
        As `shrink` wrote them; each tree has a leaf.
    start : (L + 1,) int64
        First bound of each leaf.

    Returns
    -------
    bit_of : (L,) int32
        Bit of each leaf; -1 without one.
    leaf_at : (bits,) int64
        Leaf of each bit; -1 without one.
    root : (words,) uint64
        The bits that have a leaf.
    planes : (K + 1,) int64
        See `search_kernel.search`.
    sizes : (open trees,) int64
        Leaves of each tree, descending.
    bounds : int
        Bounds of all leaves that have a bit.
    """
    trees = np.flatnonzero(is_open)
    sizes = met_start[trees + 1] - met_start[trees]
    order = np.argsort(-sizes, kind="mergesort")
    largest = (sizes[order[0]] + 63) >> 6
    planes = np.zeros(largest + 1, np.int64)
    for size in sizes:
        for plane in range((size + 63) >> 6):
            planes[plane + 1] += 1
    for plane in range(largest):
        planes[plane + 1] += planes[plane]
    bit_of = np.full(len(start) - 1, -1, np.int32)
    leaf_at = np.full(planes[largest] * 64, -1, np.int64)
    root = np.zeros(planes[largest], np.uint64)
    bounds = 0
    for place in range(len(order)):
        first = met_start[trees[order[place]]]
        for number in range(sizes[order[place]]):
            leaf = met[first + number]
            word = planes[number >> 6] + place
            bit_of[leaf] = word * 64 + (number & 63)
            leaf_at[bit_of[leaf]] = leaf
            root[word] |= np.uint64(1) << np.uint64(number & 63)
            bounds += start[leaf + 1] - start[leaf]
    return bit_of, leaf_at, root, planes, sizes[order], bounds


@compiled(error_model="numpy")
def shrink(box_lower, box_upper, wanted, nodes, bounds, met, met_start, is_open):
    """Shrink a box to what each tree's wanted leaves cover, and list those that meet it; in place.

    Every point of the box that reaches a wanted leaf in every tree stays in it.

    Parameters
    ----------
    box_lower, box_upper : (d,) int32
        First and last cell of each feature.
    wanted : (L,) bool
        Leaves with the wanted vote.
    nodes
        `CellForest.nodes`.
    bounds
        First bound of each leaf (L + 1,), and feature, first and last cell of each bound (B,).
    met : (L,) int64
        Written: the wanted leaves that meet the box, tree after tree.
    met_start : (m + 1,) int64
        Written: where those of each tree begin.
    is_open : (m,) bool
        Written: whether the box also meets an unwanted leaf of the tree.

    Returns
    -------
    bool
        False if a tree has no wanted leaf in the box: proved impossible.
    """
    root, feature, cut, left, right, leaf_of = nodes
    trees = len(root)
    stack = np.empty(len(feature), np.int32)
    features = np.empty(len(box_lower), np.int64)
    hull_lower = np.empty(len(box_lower), np.int32)
    hull_upper = np.empty(len(box_lower), np.int32)
    count = 0
    for number in range(_ROUNDS + 1):
        before, count = count, 0
        for tree in range(trees):
            met_start[tree] = count
            is_open[tree] = False
            stack[0] = root[tree]
            height = 1
            while height:
                height -= 1
                node = stack[height]
                f = feature[node]
                while f >= 0:
                    if box_lower[f] <= cut[node]:
                        if box_upper[f] > cut[node]:
                            stack[height] = right[node]
                            height += 1
                        node = left[node]
                    else:
                        node = right[node]
                    f = feature[node]
                leaf = leaf_of[node]
                if leaf >= 0:
                    if wanted[leaf]:
                        met[count] = leaf
                        count += 1
                    else:
                        is_open[tree] = True
            if count == met_start[tree]:
                return False
        met_start[trees] = count
        if number == _ROUNDS or count > _MAX_SHARE * before > 0:
            break
        shrunk = False
        for tree in range(trees):
            leaves = met[met_start[tree] : met_start[tree + 1]]
            change = _shrink_to(leaves, bounds, box_lower, box_upper, features, hull_lower, hull_upper)
            if change == _EMPTY:
                return False
            shrunk |= change == _SHRUNK
        if not shrunk:
            break
    return True


@compiled(error_model="numpy")
def _shrink_to(leaves, bounds, box_lower, box_upper, features, hull_lower, hull_upper):
    """Shrink the box to the hull of some leaves; return `_SAME`, `_SHRUNK` or `_EMPTY`."""
    start, feature, lower, upper = bounds
    # Only features that all leaves bound can shrink; after two distant leaves usually none is left.
    count = 0
    for bound in range(start[leaves[0]], start[leaves[0] + 1]):
        f = feature[bound]
        if lower[bound] > box_lower[f] or upper[bound] < box_upper[f]:
            features[count], hull_lower[count], hull_upper[count] = f, lower[bound], upper[bound]
            count += 1
    for step in range(1, len(leaves)):
        if count == 0:
            return _SAME
        leaf = leaves[len(leaves) - step]
        kept, bound, end = 0, start[leaf], start[leaf + 1]
        for place in range(count):
            f = features[place]
            while bound < end and feature[bound] < f:
                bound += 1
            if bound == end:
                break
            if feature[bound] != f:
                continue
            low, high = min(hull_lower[place], lower[bound]), max(hull_upper[place], upper[bound])
            if low > box_lower[f] or high < box_upper[f]:
                features[kept], hull_lower[kept], hull_upper[kept] = f, low, high
                kept += 1
        count = kept
    for place in range(count):
        f = features[place]
        box_lower[f] = max(box_lower[f], hull_lower[place])
        box_upper[f] = min(box_upper[f], hull_upper[place])
        if box_lower[f] > box_upper[f]:
            return _EMPTY
    return _SHRUNK if count else _SAME


@compiled(error_model="numpy")
def clip_into(point, lower, upper, leaves, bounds, first, last, thresholds, above, threshold_start):
    """Move a point to the nearest one in a box and in all of some leaves, which have one in common; in place.

    Parameters
    ----------
    point, lower, upper : (d,) float32
        The point; the box, which is shrunk.
    bounds
        First bound of each leaf (L + 1,), feature, lower and upper bound (B,), in float32.
    first, last : (d,) int32
        Cells that the point must also be in.
    thresholds, above, threshold_start
        `CellForest.thresholds`, the next larger float32 numbers, and where those of each feature begin.
    """
    start, feature, leaf_lower, leaf_upper = bounds
    for leaf in leaves:
        for bound in range(start[leaf], start[leaf + 1]):
            f = feature[bound]
            lower[f] = max(lower[f], leaf_lower[bound])
            upper[f] = min(upper[f], leaf_upper[bound])
    for f in range(len(point)):
        if first[f] > 0:
            lower[f] = max(lower[f], above[threshold_start[f] + first[f] - 1])
        if last[f] < threshold_start[f + 1] - threshold_start[f]:
            upper[f] = min(upper[f], thresholds[threshold_start[f] + last[f]])
        point[f] = min(max(point[f], lower[f]), upper[f])
