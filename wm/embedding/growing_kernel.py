"""Grow a decision tree from ranks instead of numbers; compiled.

numba compiles the functions on their first use and caches them. `wm.embedding.growing` calls them, and says
why the trees are those of scikit-learn. All are in one file, as numba's cache knows of no other that changed.
Indices in inner loops are unsigned: for others numba adds a test whether they count from the end, which costs
a fifth of all time.
"""

from __future__ import annotations

import numpy as np

from wm.engines.compiled import compiled

SAME = np.float32(1e-7)
"""scikit-learn's FEATURE_THRESHOLD: neighbours that differ by no more are not split."""

EPSILON = float(np.finfo(np.float64).eps)
"""Impurity that counts as none."""

_SPARSE = 16
"""Ranks for each row from which the rows of a node are sorted: counting would visit mostly empty ranks."""


@compiled(error_model="numpy")
def grow(columns, samples, limits, weight, state, nodes):
    """Grow a tree of two classes depth first, as scikit-learn does without `max_leaf_nodes`.

    Parameters
    ----------
    columns
        ranks (d, n): of each row's value among the feature's different ones; values: those, ascending,
        feature after feature, float32; first (d + 1,): where those of each feature begin.
    samples : (n,) uint32
        Four times the index of each row, plus 2 if it is heavy, plus its label, 0 or 1; permuted. Rows may
        repeat.
    limits
        Largest depth, at least 1; smallest number of rows in a leaf, at least 1; number of features that a
        split chooses from, in 1..d.
    weight
        Of a heavy row; others weigh 1. Sums of both must be exact.
    state
        Of the generator, below 2^32.
    nodes
        Written: left, right, feature (int32; -1 at a leaf), threshold (float64), rows (int64), their weight
        and the weight of those of label 1 (float64) of each node; room for 2 n - 1 nodes, or what the limit
        on depth allows.

    Returns
    -------
    nodes, depth
        How many there are, and how deep the deepest lies.
    """
    ranks = columns[0]
    left, right = nodes[:2]
    max_depth, min_leaf = limits[:2]
    space = space_of(columns)
    n, extra = len(samples), weight - 1.0
    room = min(max_depth, n) + 2
    stack, impurities = np.empty((room, 8), np.int64), np.empty(room)
    ones, heavy, heavy_ones = counted(samples)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, n, 0, -1, 0
    stack[0, 5], stack[0, 6], stack[0, 7] = ones, heavy, heavy_ones
    all_, all_ones = mass(n, heavy, extra), mass(ones, heavy_ones, extra)
    impurities[0] = gini(all_, all_ones)
    top, size, deepest = 1, 0, 0
    if state == 0:
        state = 1
    while top > 0:
        top -= 1
        start, end, depth, parent = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        known, ones, heavy, heavy_ones = stack[top, 4], stack[top, 5], stack[top, 6], stack[top, 7]
        impurity = impurities[top]
        total, total_ones = mass(end - start, heavy, extra), mass(ones, heavy_ones, extra)
        chosen, rank, threshold = -1, np.uint64(0), 0.0
        left_rows, left_ones, left_heavy, left_heavy_ones = 0, 0, 0, 0
        impure_left = impure_right = 0.0
        if depth < max_depth and end - start >= 2 * min_leaf and impurity > EPSILON:
            found, counts, known, state = best_split(
                columns, samples[start:end], (ones, heavy, heavy_ones), limits, extra, space, known, state
            )
            chosen, rank, threshold = found
            left_rows, left_ones, left_heavy, left_heavy_ones = counts
        if chosen >= 0:
            improvement, impure_left, impure_right = improved(
                all_,
                (total, total_ones, impurity),
                mass(left_rows, left_heavy, extra),
                mass(left_ones, left_heavy_ones, extra),
            )
            if improvement + EPSILON < 0.0:
                chosen, threshold = -1, 0.0
        node = size
        size += 1
        deepest = max(deepest, depth)
        if parent >= 0:
            # The left child is grown first: a parent that has one is still without the right one.
            if left[parent] < 0:
                left[parent] = node
            else:
                right[parent] = node
        write(nodes, node, chosen, threshold, end - start, total, total_ones)
        if chosen < 0:
            continue
        divide(samples[start:end], ranks[chosen], rank)
        middle = start + left_rows
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, depth + 1
        stack[top, 3], stack[top, 4], stack[top, 5] = node, known, ones - left_ones
        stack[top, 6], stack[top, 7] = heavy - left_heavy, heavy_ones - left_heavy_ones
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = start, middle, depth + 1
        stack[top + 1, 3], stack[top + 1, 4], stack[top + 1, 5] = node, known, left_ones
        stack[top + 1, 6], stack[top + 1, 7] = left_heavy, left_heavy_ones
        impurities[top], impurities[top + 1] = impure_right, impure_left
        top += 2
    return size, deepest


@compiled(error_model="numpy")
def grow_best_first(columns, samples, limits, max_leaves, weight, state, nodes):
    """Grow a tree of at most `max_leaves`, at least 2, best split first, as scikit-learn does.

    Else as `grow`. Improvements that are equal are taken in the order of the binary heap of the C++ library
    with which scikit-learn is compiled.
    """
    ranks = columns[0]
    left, right, feature_of, threshold_of, _rows_of, _weight_of, _ones_of = nodes
    max_depth, min_leaf = limits[:2]
    space = space_of(columns)
    n, extra = len(samples), weight - 1.0
    room = 2 * max_leaves - 1
    # Of each node: start, end, depth, label 1, heavy, heavy and label 1, and the same of its left child.
    places, counts = np.empty((room, 3), np.int64), np.empty((room, 7), np.int64)
    # Of each node: impurity, improvement by its split, impurity on its left and on its right.
    gains = np.empty((room, 4))
    heap, entries = np.empty(room, np.int64), 0
    if state == 0:
        state = 1
    ones, heavy, heavy_ones = counted(samples)
    all_ = mass(n, heavy, extra)
    places[0, 0], places[0, 1], places[0, 2] = 0, n, 0
    counts[0, 0], counts[0, 1], counts[0, 2] = ones, heavy, heavy_ones
    gains[0, 0] = gini(all_, mass(ones, heavy_ones, extra))
    first, size, splits, deepest = 0, 1, max_leaves - 1, 0
    while True:
        # Nodes that are new: their best splits.
        for node in range(first, size):
            start, end, depth = places[node, 0], places[node, 1], places[node, 2]
            ones, heavy, heavy_ones = counts[node, 0], counts[node, 1], counts[node, 2]
            total, total_ones = mass(end - start, heavy, extra), mass(ones, heavy_ones, extra)
            chosen, threshold = -1, 0.0
            gains[node, 1] = 0.0
            if depth < max_depth and end - start >= 2 * min_leaf and gains[node, 0] > EPSILON:
                found, to_left, _, state = best_split(
                    columns, samples[start:end], (ones, heavy, heavy_ones), limits, extra, space, 0, state
                )
                if found[0] >= 0:
                    gain, impure_left, impure_right = improved(
                        all_,
                        (total, total_ones, gains[node, 0]),
                        mass(to_left[0], to_left[2], extra),
                        mass(to_left[1], to_left[3], extra),
                    )
                    if not gain + EPSILON < 0.0:
                        chosen, rank, threshold = found
                        divide(samples[start:end], ranks[chosen], rank)
                        gains[node, 1], gains[node, 2], gains[node, 3] = gain, impure_left, impure_right
                        counts[node, 3], counts[node, 4], counts[node, 5], counts[node, 6] = to_left
            write(nodes, node, chosen, threshold, end - start, total, total_ones)
        for node in range(first, size):
            heap[entries] = node
            entries += 1
            rise(heap, entries - 1, node, gains)
        if entries == 0:
            return size, deepest
        node, entries = heap[0], entries - 1
        if entries > 0:
            sink(heap, entries, heap[entries], gains)
        deepest = max(deepest, places[node, 2])
        first = size
        if feature_of[node] < 0 or splits <= 0:
            feature_of[node], threshold_of[node] = -1, 0.0
            continue
        splits -= 1
        left[node], right[node] = size, size + 1
        start, end, depth = places[node, 0], places[node, 1], places[node, 2] + 1
        middle = start + counts[node, 3]
        places[size, 0], places[size, 1], places[size, 2] = start, middle, depth
        places[size + 1, 0], places[size + 1, 1], places[size + 1, 2] = middle, end, depth
        for each in range(3):
            counts[size, each] = counts[node, 4 + each]
            counts[size + 1, each] = counts[node, each] - counts[node, 4 + each]
        gains[size, 0], gains[size + 1, 0] = gains[node, 2], gains[node, 3]
        size += 2


@compiled(error_model="numpy")
def rise(heap, place, node, gains):
    """Put a node into a heap of nodes by their gains: `std::push_heap`."""
    while place > 0 and gains[heap[(place - 1) // 2], 1] < gains[node, 1]:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = node


@compiled(error_model="numpy")
def sink(heap, entries, node, gains):
    """Put a node in the place of the first of some entries: `std::pop_heap` of libstdc++."""
    hole = child = 0
    while child < (entries - 1) // 2:
        child = 2 * (child + 1)
        if gains[heap[child], 1] < gains[heap[child - 1], 1]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if entries % 2 == 0 and child == (entries - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    rise(heap, hole, node, gains)


@compiled(error_model="numpy")
def write(nodes, node, feature, threshold, rows, weight, ones):
    """Write a node without children."""
    left, right, feature_of, threshold_of, rows_of, weight_of, ones_of = nodes
    left[node] = right[node] = -1
    feature_of[node], threshold_of[node] = feature, threshold
    rows_of[node], weight_of[node], ones_of[node] = rows, weight, ones


@compiled(error_model="numpy")
def shares(X, nodes, out):
    """Write the share of each class in the leaf that each row of X, (n, d) float32, reaches: (n, 2)."""
    weight, ones = nodes[5:]
    for i in range(len(X)):
        leaf = leaf_of(X[i], nodes)
        out[i, 0] = (weight[leaf] - ones[leaf]) / weight[leaf]
        out[i, 1] = ones[leaf] / weight[leaf]


@compiled(error_model="numpy")
def votes(X, nodes, out):
    """Write the class of most weight in the leaf that each row of X reaches, 0 on a tie: (n,)."""
    weight, ones = nodes[5:]
    for i in range(len(X)):
        leaf = leaf_of(X[i], nodes)
        out[i] = 2.0 * ones[leaf] > weight[leaf]


@compiled(error_model="numpy", inline="always")
def leaf_of(row, nodes):
    """Return the leaf that a row, (d,) float32, reaches."""
    left, right, feature_of, threshold = nodes[:4]
    node = np.uint64(0)
    feature = feature_of[node]
    while feature >= 0:
        is_left = row[np.uint64(feature)] <= threshold[node]
        node = np.uint64(left[node]) if is_left else np.uint64(right[node])
        feature = feature_of[node]
    return node


@compiled(error_model="numpy")
def space_of(columns):
    """Return the memory that `best_split` works in, for all nodes of a tree."""
    ranks, _, first = columns
    n_features, n = ranks.shape
    widest = 0
    for f in range(n_features):
        widest = max(widest, first[f + 1] - first[f])
    room = min(widest, _SPARSE * n)
    features, constants = np.arange(n_features), np.empty(n_features, np.int64)
    keys, spare, digits = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(256, np.int64)
    return features, constants, keys, spare, digits, np.zeros(room, np.int64), np.zeros(room, np.int64)


@compiled(error_model="numpy")
def counted(samples):
    """Return how many of some samples have label 1, are heavy, and both."""
    ones = heavy = both = np.int64(0)
    for i in range(len(samples)):
        own = np.int64(samples[i])
        ones += own & 1
        heavy += (own >> 1) & 1
        both += own & (own >> 1) & 1
    return ones, heavy, both


@compiled(error_model="numpy")
def best_split(columns, samples, counts, limits, extra, space, known, state):
    """Find the best split of a node among features drawn at random.

    Parameters
    ----------
    columns, limits
        As in `grow`.
    samples
        Those of the node.
    counts
        How many of them have label 1, are heavy, and both.
    extra
        Weight of a heavy row above 1.
    space
        Of `space_of`.
    known
        Number of features known to be constant, first among the features.

    Returns
    -------
    split
        Feature (-1: there is none), largest rank on the left, threshold.
    counts
        Rows on the left, those of label 1, heavy ones, and both.
    known, state
        For the nodes below.
    """
    ranks, values, first = columns
    features, constants, keys, spare, digits, counted_rows, counted_heavy = space
    _, min_leaf, max_features = limits
    ones, heavy, both = counts
    rows, n_features = len(samples), len(features)
    total, total_ones = mass(rows, heavy, extra), mass(ones, both, extra)
    chosen, best, best_rank, best_threshold = -1, -np.inf, np.uint64(0), 0.0
    best_rows = best_ones = best_heavy = best_both = np.int64(0)
    # Features are drawn without replacement, constant ones set aside: features[:drawn] are known to
    # be constant and drawn, [drawn:known] known, [known:so_far] found so here, [undrawn:] tried.
    undrawn, visited, found, drawn, so_far = n_features, 0, 0, 0, known
    while undrawn > so_far and (visited < max_features or visited <= found + drawn):
        visited += 1
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        place = drawn + (state & 0x7FFFFFFF) % (undrawn - found - drawn)
        if place < known:
            features[drawn], features[place] = features[place], features[drawn]
            drawn += 1
            continue
        place += found
        f = features[place]
        column = ranks[f]
        low, high = np.uint32(2**32 - 1), np.uint32(0)
        for i in range(rows):
            each = np.uint32(column[samples[i] >> 2])
            keys[i] = (each << np.uint32(2)) | (samples[i] & np.uint32(3))
            low, high = min(low, each), max(high, each)
        base = np.uint64(first[f])
        if values[base + high] <= values[base + low] + SAME:
            features[place], features[so_far] = features[so_far], features[place]
            found += 1
            so_far += 1
            continue
        undrawn -= 1
        features[undrawn], features[place] = features[place], features[undrawn]
        # Groups of equal values, ascending: counted where ranks are dense, else sorted.
        dense = high - low < _SPARSE * rows
        if dense:
            for i in range(rows):
                counted_rows[(keys[i] >> np.uint32(2)) - low] += 1 + (np.int64(keys[i] & 1) << 32)
            if heavy > 0:
                for i in range(rows):
                    if keys[i] & np.uint32(2):
                        counted_heavy[(keys[i] >> np.uint32(2)) - low] += 1 + (np.int64(keys[i] & 1) << 32)
        else:
            order(keys, rows, spare, digits)
        left_rows = left_ones = left_heavy = left_both = np.int64(0)
        previous, at = np.uint64(low), np.uint64(0)
        while left_rows < rows:
            group_heavy = group_both = np.int64(0)
            if dense:
                while counted_rows[at] == 0:
                    at += np.uint64(1)
                rank = low + at
                group, group_ones = counted_rows[at] & 0xFFFFFFFF, counted_rows[at] >> 32
                counted_rows[at] = 0
                if heavy > 0:
                    group_heavy, group_both = counted_heavy[at] & 0xFFFFFFFF, counted_heavy[at] >> 32
                    counted_heavy[at] = 0
                at += np.uint64(1)
            else:
                rank = np.uint64(keys[at] >> np.uint32(2))
                group = group_ones = np.int64(0)
                while at < np.uint64(rows) and np.uint64(keys[at] >> np.uint32(2)) == rank:
                    own = np.int64(keys[at])
                    group_ones += own & 1
                    group_heavy += (own >> 1) & 1
                    group_both += own & (own >> 1) & 1
                    group += 1
                    at += np.uint64(1)
            is_allowed = left_rows >= min_leaf and rows - left_rows >= min_leaf
            if is_allowed and not (values[base + rank] <= values[base + previous] + SAME):
                on_left = mass(left_rows, left_heavy, extra)
                ones_left = mass(left_ones, left_both, extra)
                on_right, ones_right = total - on_left, total_ones - ones_left
                proxy = -on_right * gini(on_right, ones_right) - on_left * gini(on_left, ones_left)
                if proxy > best:
                    best, chosen, best_rank = proxy, f, previous
                    best_rows, best_ones, best_heavy, best_both = left_rows, left_ones, left_heavy, left_both
                    best_threshold = (
                        np.float64(values[base + previous]) / 2.0 + np.float64(values[base + rank]) / 2.0
                    )
            left_rows += group
            left_ones += group_ones
            left_heavy += group_heavy
            left_both += group_both
            previous = rank
    for place in range(known):
        features[place] = constants[place]
    for place in range(known, so_far):
        constants[place] = features[place]
    return (
        (chosen, best_rank, best_threshold),
        (best_rows, best_ones, best_heavy, best_both),
        so_far,
        state,
    )


@compiled(error_model="numpy")
def improved(all_, node, on_left, ones_left):
    """Return the improvement by a split, and the impurities on its left and right, as scikit-learn does.

    Parameters
    ----------
    all_
        Weight of the root.
    node
        Weight, weight of label 1, and impurity of the node.
    on_left, ones_left
        Weight on the left, and of label 1 there.
    """
    total, ones, impurity = node
    on_right = total - on_left
    impure_left, impure_right = gini(on_left, ones_left), gini(on_right, ones - ones_left)
    improvement = (total / all_) * (
        impurity - (on_right / total * impure_right) - (on_left / total * impure_left)
    )
    return improvement, impure_left, impure_right


@compiled(error_model="numpy")
def divide(samples, column, rank):
    """Move the samples of at most a rank before the others."""
    i, j = 0, len(samples)
    while i < j:
        if column[samples[i] >> np.uint32(2)] <= rank:
            i += 1
        else:
            j -= 1
            samples[i], samples[j] = samples[j], samples[i]


@compiled(error_model="numpy", inline="always")
def mass(rows, heavy, extra):
    """Return the weight of some rows, of which some are heavy."""
    return float(rows) + extra * float(heavy)


@compiled(error_model="numpy", inline="always")
def gini(weight, ones):
    """Return the impurity of some rows, with scikit-learn's operations in their order."""
    zeros = weight - ones
    return 1.0 - (zeros * zeros + ones * ones) / (weight * weight)


@compiled(error_model="numpy")
def order(keys, count, spare, digits):
    """Sort the first keys in place: few by insertion, many by their bytes."""
    if count <= 32:
        for i in range(1, count):
            key, j = keys[i], i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    top = np.int64(0)
    for i in range(count):
        top |= np.int64(keys[i])
    shift = 0
    while top >> shift:
        for digit in range(256):
            digits[digit] = 0
        for i in range(count):
            digits[(np.int64(keys[i]) >> shift) & 255] += 1
        place = 0
        for digit in range(256):
            place, digits[digit] = place + digits[digit], place
        for i in range(count):
            own = (np.int64(keys[i]) >> shift) & 255
            spare[digits[own]] = keys[i]
            digits[own] += 1
        for i in range(count):
            keys[i] = spare[i]
        shift += 8
