"""A toy attack as a package of its own would bring it: how far each tree is from a fair share of votes."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from wm.attacks.base import Attack, AttackOptions, AttackRow, Result, Scene, Streams


class Options(AttackOptions):
    """Looking for trees whose votes lean to one class on a sample."""

    sample: int = Field(default=20, ge=1)
    """Test rows that are looked at."""


class Row(AttackRow):
    """One tree."""

    tree: int
    """Its place."""
    lean: float
    """Share of votes for class 1 less one half."""
    bit: int
    """Its true bit."""


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Measure each tree on some test rows."""
    rows = rng.own("lean").permutation(len(scene.split.y_test))[: options.sample]
    leans = scene.forest.vote_codes(scene.split.X_test[rows]).mean(axis=0) - 0.5
    bits = scene.claim.bits.array
    return Result(
        [Row(tree=tree, lean=float(leans[tree]), bit=int(bits[tree])) for tree in np.argsort(-leans)]
    )


ATTACK = Attack(
    kind="lean", summary="How far each tree leans to one class", options=Options, row=Row, run=run
)
