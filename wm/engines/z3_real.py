"""`z3`: the paper's encoding, made exact; the reference for the other engines.

Section 4.2.2: a conjunction over trees of a disjunction over the leaves with the wanted vote of the
conjunction of the path's conditions, over real variables. It is exact for float32 instances because every
bound is a float32 number: if a real x lies in (lower, upper], so does the smallest float32 not below x.

The published notebooks require x <= t - 0.0001 or x > t + 0.0001 at every threshold t instead. That excludes
instances near a threshold and can turn a forged query into an impossible one, as option `margin` shows.
"""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import z3
from pydantic import Field

from wm.engines.encoding import float32_at_least, float32_at_most, leaf_bounds, nearest_witness, query_box
from wm.engines.options import EngineOptions
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.forest import Forest


class Z3RealOptions(EngineOptions):
    """Options of `z3`."""

    margin: float = Field(default=0.0, ge=0)
    """Distance that a solution keeps from every threshold on its paths; 0.0001 in the published notebooks.
    Unless it is 0, ``impossible`` holds for that encoding only, and the reason says so. The witness is still
    the point nearest to the centre that reaches the same leaves."""
    rebuild: bool = False
    """Build the formula again for every query, as the authors' code does, not once for each process."""


class Z3RealSolver:
    """Answers queries by Z3 over the reals.

    Parameters
    ----------
    **options
        Fields of `Z3RealOptions`.
    """

    Options = Z3RealOptions

    def __init__(self, forest: Forest, **options: Any) -> None:
        chosen = Z3RealOptions.of(options, engine="z3")
        self._forest = forest
        self._margin = chosen.margin
        self._reason = f"solver, margin {self._margin:g}" if self._margin else "solver"
        self._bounds = leaf_bounds(forest)
        self._context = z3.Context()
        # One formula for each tree, label and bit; a query selects one for each tree.
        self._formulas = None if chosen.rebuild else _tree_formulas(forest, self._context, self._margin)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query in a fresh context, so that the answer does not depend on earlier queries."""
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
        bits = query.signature.tolist()
        if self._formulas is None:
            formulas = _tree_formulas(self._forest, context, self._margin, only=(label, bits))
            solver.add(*formulas.values())
        else:
            wanted = (self._formulas[tree, label, bit] for tree, bit in enumerate(bits))
            solver.add(*(formula.translate(context) for formula in wanted))
        result = solver.check()
        if result == z3.unsat:
            return Answer(None, self._reason)
        if result == z3.unknown:
            raise unknown_error(solver.reason_unknown())
        point = np.clip(np.zeros_like(lower), lower, upper)
        model = solver.model()
        for feature in features:
            value = model.eval(z3.Real(f"x{feature}", context), model_completion=True)
            point[feature] = round_up(Fraction(value.numerator_as_long(), value.denominator_as_long()))
        witness = nearest_witness(self._forest, self._bounds, np.clip(point, lower, upper), query)
        return Answer(witness, self._reason)


def unknown_error(reason: str) -> OutOfResourcesError:
    """Return the error for Z3's answer "unknown", given its reason."""
    if "timeout" in reason or "canceled" in reason:
        return OutOfResourcesError(Status.TIMEOUT, reason)
    if "memory" in reason:
        return OutOfResourcesError(Status.MEMOUT, reason)
    return OutOfResourcesError(Status.ERROR, f"Z3 answered unknown: {reason}")


def _exact(value: float | np.floating, context: z3.Context) -> z3.RatNumRef:
    return z3.RealVal(_fraction(float(value)), context)


@functools.lru_cache(maxsize=2**16)
def _fraction(value: float) -> str:
    return str(Fraction(value))


def round_up(value: Fraction) -> np.float32:
    """Return the smallest float32 that is not below a rational number."""
    rounded = float32_at_least(float(value)).item()
    while Fraction(rounded) < value:
        rounded = float(np.nextafter(np.float32(rounded), np.float32(np.inf)))
    return np.float32(rounded)


def _tree_formulas(
    forest: Forest, context: z3.Context, margin: float, *, only: tuple[int, list[int]] | None = None
) -> dict[tuple[int, int, int], z3.BoolRef]:
    """Return the disjunction over leaves for each (tree, class column, bit).

    `only` is a class column and each tree's bit, if no others are needed.
    """
    snapped = float32_at_most(forest.threshold)
    # At most the snapped threshold: rounded up to float32, x must still go the same way.
    at_most = np.minimum(snapped, forest.threshold - margin) if margin else snapped
    above = forest.threshold + margin if margin else snapped
    tests: dict[tuple[int, float], tuple[z3.BoolRef, z3.BoolRef]] = {}

    def test(node: int, to_the_left: bool) -> z3.BoolRef:
        """Return the condition for going to one side of an inner node."""
        key = int(forest.feature[node]), float(forest.threshold[node] if margin else snapped[node])
        if key not in tests:
            variable = z3.Real(f"x{key[0]}", context)
            # A threshold below all float32 numbers becomes -inf, and every instance goes right.
            if not np.isfinite(snapped[node]):
                tests[key] = z3.BoolVal(False, context), z3.BoolVal(True, context)
            else:
                left = variable <= _exact(at_most[node], context)
                right = variable > _exact(above[node], context) if margin else z3.Not(left)
                tests[key] = left, right
        return tests[key][0 if to_the_left else 1]

    formulas = {}
    for tree in range(forest.n_trees):
        leaves = [
            (forest.node_class[node], z3.And([test(*step) for step in path] or [z3.BoolVal(True, context)]))
            for node, path in _paths(forest, tree)
        ]
        every = itertools.product(range(len(forest.classes)), (0, 1))
        for label, bit in every if only is None else [(only[0], only[1][tree])]:
            wanted = [path for code, path in leaves if (code == label) == (bit == 0)]
            formulas[tree, label, bit] = z3.Or(wanted) if wanted else z3.BoolVal(False, context)
    return formulas


def _paths(forest: Forest, tree: int) -> list[tuple[int, list[tuple[int, bool]]]]:
    """Return each leaf of a tree with its path: inner nodes and whether the path goes left there."""
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
