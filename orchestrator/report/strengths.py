"""What the strength of each modification is a measure of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "shuffle": "share of trees",
        "drop": "share of trees",
        "replace": "share of trees",
        "regrow": "share of trees",
        "truncate": "share of levels cut",
        "cost-complexity": "alpha",
        "reduced-error": "share of trees",
        "noise": "sd of the feature",
        "quantise": "step, sd of the feature",
        "flip-leaves": "share of leaves",
        "distil-votes": "queries / thief's rows",
        "distil-labels": "queries / thief's rows",
        "collapse": "share of trees",
    }
)
"""A few words for each modification of `wm.attacks.modification`."""


def meaning(modification: str) -> str:
    """Return what the strengths of a modification, or of each of several joined by "+", are."""
    return " + ".join(dict.fromkeys(MEANINGS[step] for step in modification.split("+")))
