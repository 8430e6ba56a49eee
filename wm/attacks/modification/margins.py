"""Modifications of models whose trees add margins: of the ensemble, of single numbers, and by new training.

What leaves add is all that a released boosted model holds, so that a thief can change it without forests'
detour over votes. New training uses the rate `RATE`, since a file does not say its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData, Kind, MarginChange, some_trees
from wm.attacks.modification.evaluation import STRENGTHS, Step
from wm.attacks.modification.splits import noise, quantise
from wm.embedding.boosted.rounds import BoostingTask, boost, shares_of
from wm.embedding.options import GradientOptions
from wm.errors import ModelError
from wm.formats.assembling import Tree, trees_of, with_trees
from wm.models import Margins, TreeModel

RATE = 0.1
"""The thief's learning rate, scikit-learn's and LightGBM's default."""

_NOISE = 10.0
"""Size of the noise that splits a tree, in standard deviations of its leaves."""

_TINY = 1e-150
"""Sum of p (1 - p) below which a leaf adds nothing."""


def margins_of(model: TreeModel) -> Margins:
    """Return a model's margins; raise `ModelError` for one whose trees vote."""
    if model.margins is None:
        raise ModelError("the trees of this model vote: it has no margins")
    return model.margins


def _selected(model: TreeModel, order: NDArray[np.int64]) -> TreeModel:
    trees = trees_of(model)
    return with_trees(model, [trees[number] for number in order], margins_of(model).column[order])


def shuffle(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Permute a share of the trees at random; sums stay as they are, up to rounding."""
    places = some_trees(model.forest, strength, rng)
    order = np.arange(model.forest.n_trees)
    order[places] = rng.permutation(places)
    return _selected(model, order)


def drop(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Remove a share of the trees at random, at most all but one; the others keep their order."""
    dropped = some_trees(model.forest, strength, rng)[: model.forest.n_trees - 1]
    return _selected(model, np.setdiff1d(np.arange(model.forest.n_trees), dropped))


def shorten(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Remove the last trees, a share of them, at most all but one of each output: shorter boosting."""
    trees, outputs = model.forest.n_trees, len(margins_of(model).base)
    kept = max(outputs, trees - round(strength * trees))
    return _selected(model, np.arange(kept))


def split(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Split a share of the trees in two that add up to it, the first with leaves of noise; no sum changes."""
    chosen = set(some_trees(model.forest, strength, rng).tolist())
    found: list[Tree] = []
    copies = np.ones(model.forest.n_trees, dtype=np.int64)
    for place, tree in enumerate(trees_of(model)):
        if place in chosen:
            noise = rng.normal(scale=_NOISE * max(float(tree.value.std()), _TINY), size=len(tree.value))
            found.append(replace(tree, value=noise))
            tree, copies[place] = replace(tree, value=tree.value - noise), 2
        found.append(tree)
    return with_trees(model, found, np.repeat(margins_of(model).column, copies))


def noisy(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Add normal noise to every threshold, in standard deviations of the feature."""
    return replace(model, forest=noise(model.forest, strength, data, rng))


def quantised(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Round every threshold to a multiple of a step, in standard deviations of the feature."""
    return replace(model, forest=quantise(model.forest, strength, data, rng))


def rounded(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Round what each leaf adds to a multiple of a step; the strength is the step in standard deviations."""
    margins = margins_of(model)
    step = strength * float(margins.leaf[model.forest.is_leaf].std())
    if step <= 0:
        return model
    trees = [replace(tree, value=np.round(tree.value / step) * step) for tree in trees_of(model)]
    return with_trees(model, trees, margins.column)


def truncate(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Cut off the deepest levels, as in forests; a cut node adds what the leaves below add on average.

    The average is over the thief's rows, or without any there over the leaves.
    """
    forest, margins = model.forest, margins_of(model)
    deepest = round((1 - strength) * int(forest.tree_depths.max()))
    count = np.zeros(len(forest.left))
    reached, times = np.unique(forest.apply(data.X), return_counts=True)
    count[reached] = times
    sums = np.stack([count * margins.leaf, count, margins.leaf, forest.is_leaf])
    for inner, left, right in reversed(forest.inner_levels):
        sums[:, inner] = sums[:, left] + sums[:, right]
    seen = sums[1] > 0
    mean = np.where(seen, sums[0], sums[2]) / np.where(seen, sums[1], sums[3])
    at = (forest.node_depth == deepest) & ~forest.is_leaf
    trees = []
    for number, tree in enumerate(trees_of(model)):
        nodes = slice(*forest.offset[number : number + 2].tolist())
        left, right = (np.where(at[nodes], -1, side) for side in (tree.left, tree.right))
        trees.append(
            replace(tree, left=left, right=right, value=np.where(at[nodes], mean[nodes], tree.value))
        )
    return with_trees(model, trees, margins.column)


def refit(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Fit the leaves again to the thief's rows, tree after tree, as LightGBM's ``refit``.

    A leaf adds (1 - strength) of what it did, and `strength` of Newton's step at the rate `RATE`; one that
    none of the rows reaches stays.
    """
    margins, leaves = margins_of(model), model.forest.apply(data.X)
    columns = len(margins.base)
    raw = np.tile(margins.base, (len(data.y), 1))
    codes = np.searchsorted(model.classes, data.y) if model.classes is not None else data.y
    trees: list[Tree] = []
    for number, tree in enumerate(trees_of(model)):
        column = int(margins.column[number])
        p = shares_of(raw)[:, column]
        own = (codes == (1 if columns == 1 else column)).astype(np.float64)
        local = leaves[:, number] - model.forest.offset[number]
        size = len(tree.left)
        push = np.bincount(local, own - p, minlength=size)
        scale = np.bincount(local, p * (1 - p), minlength=size)
        step = RATE * np.divide(push, scale, out=np.zeros(size), where=scale > _TINY)
        value = np.where(scale > _TINY, (1 - strength) * tree.value + strength * step, tree.value)
        raw[:, column] += value[local]
        trees.append(replace(tree, value=value))
    return with_trees(model, trees, margins.column)


def go_on(model: TreeModel, strength: float, data: AttackerData, rng: np.random.Generator) -> TreeModel:
    """Train more rounds on the thief's rows, a share of those that are there."""
    margins, columns = margins_of(model), len(margins_of(model).base)
    rounds = round(strength * model.forest.n_trees / columns)
    if not rounds:
        return model
    classes = [0, 1] if model.classes is None else model.classes
    task = BoostingTask(
        X=data.X,
        y=np.searchsorted(classes, data.y).astype(np.int64),
        trigger_rows=np.zeros(0, dtype=np.int64),
        wanted=np.zeros((0, rounds * columns), dtype=bool),
        max_depth=int(model.forest.tree_depths.max()) or 1,
        options=GradientOptions(learning_rate=RATE),
        seed=int(rng.integers(2**31 - 1)),
        start=model.raw(data.X),
    )
    if task.n_classes != len(classes):
        raise ModelError(f"go-on needs rows of all {len(classes)} classes, the thief has no row of the last")
    added = boost(task).model
    column = np.concatenate([margins.column, margins_of(added).column])
    more = trees_of(added)
    if model.forest.missing_left is not None:  # the thief's rows say nothing of missing values: to the right
        more = [replace(tree, missing_left=np.zeros(len(tree.left), dtype=bool)) for tree in more]
    return with_trees(model, [*trees_of(model), *more], column)


MARGIN_MODIFICATIONS: dict[str, Kind[MarginChange]] = {
    "shuffle": Kind(shuffle, STRENGTHS["shuffle"]),
    "drop": Kind(drop, STRENGTHS["drop"]),
    "shorten": Kind(shorten, (0.1, 0.25, 0.5)),
    "split": Kind(split, (0.5, 1.0)),
    "truncate": Kind(truncate, STRENGTHS["truncate"]),
    "noise": Kind(noisy, STRENGTHS["noise"], is_share=False),
    "quantise": Kind(quantised, STRENGTHS["quantise"], is_share=False),
    "round-leaves": Kind(rounded, (0.1, 0.3, 1.0), is_share=False),
    "refit": Kind(refit, (0.1, 0.5, 1.0)),
    "go-on": Kind(go_on, (0.1, 0.5, 1.0), is_share=False),
}
"""By name; of those that forests have too the names and strengths are the same."""


def modify_margins(
    model: TreeModel, steps: Sequence[Step], data: AttackerData, rng: np.random.Generator
) -> TreeModel:
    """Apply one modification after another to a boosted model.

    Raises
    ------
    ModelError
        An unknown step, an impossible strength, or a model whose trees vote.
    """
    for step in steps:
        kind = MARGIN_MODIFICATIONS.get(step.name)
        if kind is None:
            known = ", ".join(MARGIN_MODIFICATIONS)
            raise ModelError(f"{step.name} does not change models that add margins: {known} do")
        kind.check(step.name, step.strength)
        model = kind.change(model, step.strength, data, rng)
    return model
