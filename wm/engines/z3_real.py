"""`z3`: the paper's encoding, made exact; the reference that other engines are held against.

Section 4.2.2: a conjunction over trees of a disjunction over the leaves with the wanted vote of the
conjunction of the path's conditions, over real variables. It is exact for float32 instances because every
bound is a float32 number: if a real x lies in (lower, upper], so does the smallest float32 not below x.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import z3

from wm.engines.encoding import float32_at_least, float32_at_most, leaf_bounds, nearest_witness, query_box
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.forest import Forest


class Z3RealSolver:
    """Answers queries by Z3 over the reals."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._context = z3.Context()
        # One formula for each tree and wanted vote; a query picks one of the two for each tree.
        self._formulas = _tree_formulas(forest, self._context)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query in a fresh context, so that earlier queries leave no trace in the answer."""
        lower, upper = query_box(query.centre, query.eps)
        if (lower > upper).any():
            return Answer(None, "empty box")
        label = self._forest.classes.tolist().index(query.label)
        context = z3.Context()
        solver = z3.Solver(ctx=context)
        features = sorted(set(self._forest.feature[~self._forest.is_leaf].tolist()))
        for feature in features:
            variable = z3.Real(f"x{feature}", context)
            solver.add(
                variable >= _exact(lower[feature], context), variable <= _exact(upper[feature], context)
            )
        for tree, bit in enumerate(query.signature):
            solver.add(self._formulas[tree, label, int(bit)].translate(context))
        result = solver.check()
        if result == z3.unsat:
            return Answer(None)
        if result == z3.unknown:
            raise _gave_up(solver.reason_unknown())
        point = np.clip(np.zeros_like(lower), lower, upper)
        model = solver.model()
        for feature in features:
            value = model.eval(z3.Real(f"x{feature}", context), model_completion=True)
            point[feature] = _float32_at_least(
                Fraction(value.numerator_as_long(), value.denominator_as_long())
            )
        return Answer(nearest_witness(self._forest, self._bounds, np.clip(point, lower, upper), query))


def _gave_up(reason: str) -> OutOfResourcesError:
    if "timeout" in reason or "canceled" in reason:
        return OutOfResourcesError(Status.TIMEOUT, reason)
    if "memory" in reason:
        return OutOfResourcesError(Status.MEMOUT, reason)
    return OutOfResourcesError(Status.ERROR, f"Z3 answered unknown: {reason}")


def _exact(value: np.floating, context: z3.Context) -> z3.RatNumRef:
    return z3.RealVal(str(Fraction(float(value))), context)


def _float32_at_least(value: Fraction) -> np.float32:
    """Return the smallest float32 that is not below a rational number."""
    rounded = float32_at_least(float(value)).item()
    while Fraction(rounded) < value:
        rounded = float(np.nextafter(np.float32(rounded), np.float32(np.inf)))
    return np.float32(rounded)


def _tree_formulas(forest: Forest, context: z3.Context) -> dict[tuple[int, int, int], z3.BoolRef]:
    """Return the disjunction over leaves for each (tree, class column, bit)."""
    snapped = float32_at_most(forest.threshold)
    tests: dict[tuple[int, float], z3.BoolRef] = {}

    def test(node: int) -> z3.BoolRef:
        key = int(forest.feature[node]), float(snapped[node])
        if key not in tests:
            # A threshold below all float32 numbers snaps to -inf, which no instance is at most.
            tests[key] = (
                z3.Real(f"x{key[0]}", context) <= _exact(snapped[node], context)
                if np.isfinite(snapped[node])
                else z3.BoolVal(False, context)
            )
        return tests[key]

    formulas = {}
    for tree in range(forest.n_trees):
        paths = _paths(forest, tree)
        leaves = [
            (
                int(forest.node_class[node]),
                z3.And(
                    [test(n) if left else z3.Not(test(n)) for n, left in path] or [z3.BoolVal(True, context)]
                ),
            )
            for node, path in paths
        ]
        for label in range(len(forest.classes)):
            for bit in (0, 1):
                wanted = [path for code, path in leaves if (code == label) == (bit == 0)]
                formulas[tree, label, bit] = z3.Or(wanted) if wanted else z3.BoolVal(False, context)
    return formulas


def _paths(forest: Forest, tree: int) -> list[tuple[int, list[tuple[int, bool]]]]:
    """Return each leaf of a tree with its path: (inner node, whether it is left to the left)."""
    base = int(forest.offset[tree])
    found: list[tuple[int, list[tuple[int, bool]]]] = []
    open_nodes: list[tuple[int, list[tuple[int, bool]]]] = [(base, [])]
    while open_nodes:
        node, path = open_nodes.pop()
        if forest.left[node] < 0:
            found.append((node, path))
            continue
        open_nodes.append((base + int(forest.right[node]), [*path, (node, False)]))
        open_nodes.append((base + int(forest.left[node]), [*path, (node, True)]))
    return found
