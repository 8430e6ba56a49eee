"""The findings of `wm.attacks.leakage`: secrets in each part of a model file, and how to fix them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.attacks.leakage.node_weights import NodeWeights, two_groups

GUESSED_SEEDS = 2000
"""Number of small seeds of a whole forest that are compared with the seeds of its trees."""

_MIN_TREES = 4
"""With fewer trees, two values among them mean nothing: two bootstrapped trees always differ."""


class Severity(StrEnum):
    """How secret the information of a finding is."""

    CRITICAL = "critical"
    """The signature, or the trigger rows."""
    HIGH = "high"
    """A part of either, or information that narrows them down."""
    INFO = "info"
    """In the file, but apparently no secret."""


@dataclass(frozen=True)
class Finding:
    """One piece of information in the file."""

    name: str
    """Short and stable: ``root-weights``, ``class-priors``, ``root-impurity``, ``heavy-leaves``,
    ``shared-seeds``, ``guessable-seed``, ``tree-order``, ``training-counts``."""
    severity: Severity
    """See `Severity`."""
    detail: str
    """Evidence in the file, with figures."""
    remedy: str
    """How to fix it."""


_STRIP = (
    "release votes only: wm scrub (in Python wm.formats.scrubbing.scrubbed) keeps splits and votes, no more"
)


def root_groups(nodes: NodeWeights) -> tuple[NDArray[np.int64] | None, list[Finding]]:
    """Return the first division of the trees into two groups by values at the roots, and all findings."""
    kept = {
        ("root-weights", "total weights"): nodes.weight,
        ("class-priors", "class shares"): nodes.shares,
        ("root-impurity", "impurities"): nodes.impurity,
    }
    first: NDArray[np.int64] | None = None
    found: list[Finding] = []
    if nodes.bootstrap or nodes.forest.n_trees < _MIN_TREES:
        return first, found
    for (name, words), values in kept.items():
        roots = None if values is None else values[nodes.roots]
        groups = None if roots is None else two_groups(roots)
        if groups is None or roots is None:
            continue
        first = groups if first is None else first
        zero, one = (roots[np.argmax(groups == group)] for group in (0, 1))
        found.append(
            Finding(
                name,
                Severity.CRITICAL,
                f"the roots show two {words}, {_number(zero)} on {int((groups == 0).sum())} trees and "
                f"{_number(one)} on {int(groups.sum())}: they spell out the signature, up to complement",
                _STRIP,
            )
        )
    return first, found


def _number(value: NDArray[np.float64]) -> str:
    return " / ".join(f"{part:.6g}" for part in np.atleast_1d(value))


def leaf_findings(nodes: NodeWeights, size: int | None, weights: tuple[float, ...]) -> Iterator[Finding]:
    """Report leaves that weigh more than their rows."""
    if nodes.heavy.any():
        rows = "heavier rows" if size is None else f"{size} rows"
        heavy = f" of weight {' and '.join(f'{weight:g}' for weight in weights)}" if weights else ""
        yield Finding(
            "heavy-leaves",
            Severity.CRITICAL,
            f"{int(nodes.heavy.sum())} leaves weigh more than their rows: they hold {rows}{heavy}, which "
            "anybody with candidates can pick out (membership)",
            _STRIP,
        )


def seed_findings(seeds: NDArray[np.int64] | None, signature: NDArray[np.int64] | None) -> Iterator[Finding]:
    """Report seeds that trees share, and a small seed that all of them derive from."""
    if seeds is None:
        return
    distinct, inverse, count = np.unique(seeds, return_inverse=True, return_counts=True)
    if len(distinct) < len(seeds):
        detail = f"{len(seeds)} trees have {len(distinct)} seeds"
        if signature is not None and (count == 2).all():
            pairs = np.argsort(inverse, kind="stable").reshape(-1, 2)
            opposed = int((signature[pairs[:, 0]] != signature[pairs[:, 1]]).sum())
            detail += f"; in {opposed} of {len(pairs)} pairs with one seed the two bits differ"
        yield Finding(
            "shared-seeds",
            Severity.HIGH,
            f"{detail}: such trees were trained by the same draws on different labels or weights",
            "train the two kinds of trees with independent seeds, and release no random_state",
        )
    if (guessed := _guess_seed(distinct)) is not None:
        yield Finding(
            "guessable-seed",
            Severity.INFO if signature is None else Severity.HIGH,
            f"the trees' seeds are those of a forest with random_state = {guessed}: whoever has the data "
            "can train it again",
            "draw seeds of 128 bits (wm.streams), and release no random_state",
        )


def _guess_seed(distinct: NDArray[np.int64]) -> int | None:
    """Return a small seed from which scikit-learn derives these trees' seeds, None if there is none."""
    for guess in range(GUESSED_SEEDS):
        # As RandomForestClassifier.fit draws them; no secret of ours depends on this generator.
        first = np.random.RandomState(guess).randint(np.iinfo(np.int32).max, size=len(distinct))
        if np.isin(first, distinct).all():
            return guess
    return None


def order_findings(signature: NDArray[np.int64] | None) -> Iterator[Finding]:
    """Report a signature that consists of two blocks of equal bits."""
    if signature is not None and np.count_nonzero(np.diff(signature)) == 1 and len(signature) >= 4:
        yield Finding(
            "tree-order",
            Severity.CRITICAL,
            f"the first {int(np.argmax(signature != signature[0]))} trees are of one kind, the rest are not",
            "draw the signature at random; never join the two forests one after the other",
        )


def count_findings(nodes: NodeWeights) -> Iterator[Finding]:
    """Report that the file holds counts of training rows."""
    if nodes.rows is not None:
        yield Finding(
            "training-counts",
            Severity.INFO,
            f"the file counts the training rows at each node, {int(nodes.rows[0])} at its first root",
            _STRIP,
        )
