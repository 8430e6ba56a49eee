"""Grow a decision tree from ranks instead of numbers; compiled.

numba compiles the functions on their first use and caches them. `wm.embedding.growing` calls them, and says
why the trees are those of scikit-learn. Indices in inner loops are unsigned: for others numba adds a test
whether they count from the end, which costs a fifth of all time.
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
def grow(columns, samples, max_depth, min_leaf, max_features, state, nodes):
    """Grow a tree depth first, as scikit-learn does without weights for two classes.

    Parameters
    ----------
    columns
        ranks (d, n): of each row's value among the feature's different ones; values: those, ascending,
        feature after feature, float32; first (d + 1,): where those of each feature begin.
    samples : (n,) uint32
        Twice the index of each row, plus its label, 0 or 1; permuted. Rows may repeat.
    max_depth
        At least 1.
    min_leaf
        Smallest number of rows in a leaf, at least 1.
    max_features
        Number of features that a split chooses from, in 1..d.
    state
        Of the generator, below 2^32.
    nodes
        Written: left, right, feature (int32; -1 at a leaf), threshold (float64), rows and rows of label 1
        (int64) of each node; room for 2 n - 1 nodes, or what the limit on depth allows.

    Returns
    -------
    nodes, depth
        How many there are, and how deep the deepest lies.
    """
    ranks, values, first = columns
    left, right, feature_of, threshold_of, rows_of, ones_of = nodes
    n_features, n = ranks.shape
    features, constants = np.arange(n_features), np.empty(n_features, np.int64)
    keys, spare, digits = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(256, np.int64)
    widest = 0
    for f in range(n_features):
        widest = max(widest, first[f + 1] - first[f])
    counts = np.zeros(min(widest, _SPARSE * n), np.int64)
    room = min(max_depth, n) + 2
    stack, impurities = np.empty((room, 6), np.int64), np.empty(room)
    ones = 0
    for i in range(n):
        ones += samples[i] & 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4], stack[0, 5] = 0, n, 0, -1, 0, ones
    impurities[0] = gini(n, ones)
    top, size, deepest = 1, 0, 0
    if state == 0:
        state = 1
    while top > 0:
        top -= 1
        start, end, depth, parent = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        known, ones, impurity = stack[top, 4], stack[top, 5], impurities[top]
        rows = end - start
        chosen = -1
        best, best_rank, best_threshold, best_left, best_ones = -np.inf, np.uint64(0), 0.0, 0, 0
        if depth < max_depth and rows >= 2 * min_leaf and impurity > EPSILON:
            # Features are drawn without replacement, constant ones set aside: features[:drawn] are known to
            # be constant and drawn, [drawn:known] known, [known:total] found so here, [undrawn:] tried.
            undrawn, visited, found, drawn, total = n_features, 0, 0, 0, known
            while undrawn > total and (visited < max_features or visited <= found + drawn):
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
                column, own = ranks[f], samples[start:end]
                low, high = np.uint32(2**32 - 1), np.uint32(0)
                for i in range(rows):
                    each = np.uint32(column[own[i] >> 1])
                    keys[i] = (each << np.uint32(1)) | (own[i] & np.uint32(1))
                    low, high = min(low, each), max(high, each)
                base = np.uint64(first[f])
                if values[base + high] <= values[base + low] + SAME:
                    features[place], features[total] = features[total], features[place]
                    found += 1
                    total += 1
                    continue
                undrawn -= 1
                features[undrawn], features[place] = features[place], features[undrawn]
                # Groups of equal values, ascending: counted where ranks are dense, else sorted.
                dense = high - low < _SPARSE * rows
                if dense:
                    for i in range(rows):
                        counts[(keys[i] >> np.uint32(1)) - low] += 1 + (np.int64(keys[i] & 1) << 32)
                else:
                    order(keys, rows, spare, digits)
                left_rows, left_ones, previous, at = 0, 0, np.uint64(low), np.uint64(0)
                while left_rows < rows:
                    if dense:
                        while counts[at] == 0:
                            at += np.uint64(1)
                        rank = low + at
                        group, group_ones = counts[at] & 0xFFFFFFFF, counts[at] >> 32
                        counts[at] = 0
                        at += np.uint64(1)
                    else:
                        rank = np.uint64(keys[at] >> np.uint32(1))
                        group = group_ones = np.int64(0)
                        while at < np.uint64(rows) and np.uint64(keys[at] >> np.uint32(1)) == rank:
                            group_ones += np.int64(keys[at] & 1)
                            group += 1
                            at += np.uint64(1)
                    is_allowed = left_rows >= min_leaf and rows - left_rows >= min_leaf
                    if is_allowed and not (values[base + rank] <= values[base + previous] + SAME):
                        proxy = -float(rows - left_rows) * gini(rows - left_rows, ones - left_ones) - float(
                            left_rows
                        ) * gini(left_rows, left_ones)
                        if proxy > best:
                            best, chosen, best_rank, best_left, best_ones = (
                                proxy,
                                f,
                                previous,
                                left_rows,
                                left_ones,
                            )
                            best_threshold = (
                                np.float64(values[base + previous]) / 2.0
                                + np.float64(values[base + rank]) / 2.0
                            )
                    left_rows += group
                    left_ones += group_ones
                    previous = rank
            for place in range(known):
                features[place] = constants[place]
            for place in range(known, total):
                constants[place] = features[place]
            known = total
        impure_left = impure_right = 0.0
        if chosen >= 0:
            right_rows = rows - best_left
            impure_left, impure_right = gini(best_left, best_ones), gini(right_rows, ones - best_ones)
            improvement = (float(rows) / float(n)) * (
                impurity
                - (float(right_rows) / float(rows) * impure_right)
                - (float(best_left) / float(rows) * impure_left)
            )
            if improvement + EPSILON < 0.0:
                chosen = -1
        node = size
        size += 1
        deepest = max(deepest, depth)
        if parent >= 0:
            # The left child is grown first: a parent that has one is still without the right one.
            if left[parent] < 0:
                left[parent] = node
            else:
                right[parent] = node
        left[node] = right[node] = -1
        feature_of[node], rows_of[node], ones_of[node] = chosen, rows, ones
        threshold_of[node] = best_threshold if chosen >= 0 else 0.0
        if chosen < 0:
            continue
        column = ranks[chosen]
        i, j = start, end
        while i < j:
            if column[samples[i] >> np.uint32(1)] <= best_rank:
                i += 1
            else:
                j -= 1
                samples[i], samples[j] = samples[j], samples[i]
        middle = start + best_left
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, depth + 1
        stack[top, 3], stack[top, 4], stack[top, 5] = node, known, ones - best_ones
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = start, middle, depth + 1
        stack[top + 1, 3], stack[top + 1, 4], stack[top + 1, 5] = node, known, best_ones
        impurities[top], impurities[top + 1] = impure_right, impure_left
        top += 2
    return size, deepest


@compiled(error_model="numpy", inline="always")
def gini(rows, ones):
    """Return the impurity of some rows, with scikit-learn's operations in their order."""
    zeros, one, all_ = float(rows - ones), float(ones), float(rows)
    return 1.0 - (zeros * zeros + one * one) / (all_ * all_)


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


@compiled(error_model="numpy")
def shares(X, nodes, out):
    """Write the share of each class in the leaf that each row of X, (n, d) float32, reaches: (n, 2)."""
    rows, ones = nodes[4:]
    for i in range(len(X)):
        leaf = leaf_of(X[i], nodes)
        out[i, 0] = float(rows[leaf] - ones[leaf]) / float(rows[leaf])
        out[i, 1] = float(ones[leaf]) / float(rows[leaf])


@compiled(error_model="numpy")
def votes(X, nodes, out):
    """Write the class that most rows have in the leaf that each row of X reaches, 0 on a tie: (n,)."""
    rows, ones = nodes[4:]
    for i in range(len(X)):
        leaf = leaf_of(X[i], nodes)
        out[i] = 2 * ones[leaf] > rows[leaf]


@compiled(error_model="numpy", inline="always")
def leaf_of(row, nodes):
    """Return the leaf that a row, (d,) float32, reaches."""
    _, right, feature_of, threshold = nodes[:4]
    node = np.uint64(0)
    feature = feature_of[node]
    while feature >= 0:
        # The left child comes next.
        is_left = row[np.uint64(feature)] <= threshold[node]
        node = node + np.uint64(1) if is_left else np.uint64(right[node])
        feature = feature_of[node]
    return node
