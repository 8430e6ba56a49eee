"""The attacks there are: one line for each of ours, and those of installed packages.

A package adds attacks by entry points of the group ``treeproof.attacks``, whose names are kinds and whose
objects are `wm.attacks.base.Attack`. Every process finds them there, workers on other machines included.
"""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.metadata import entry_points

from wm.attacks.base import Attack
from wm.errors import AttackError

_BUILT_IN: dict[str, str] = {
    "leakage": "wm.attacks.leakage",
    "detection": "wm.attacks.detection",
    "suppression": "wm.attacks.suppression",
    "forgery": "wm.attacks.forgery",
    "free-forgery": "wm.attacks.free_forgery",
    "modification": "wm.attacks.modification",
    "calibration": "wm.attacks.calibration",
}
"""Kind -> module with an `ATTACK`, in the order in which reports show them."""

GROUP = "treeproof.attacks"

_RESERVED = {"kind", "only", "seed", "repeat", "limit_s", "memory_mb"}
"""What an `[[attack]]` table or a job has beside options."""


@functools.cache
def kinds() -> tuple[str, ...]:
    """Return the kinds of all attacks, ours first."""
    return (*_BUILT_IN, *sorted({point.name for point in entry_points(group=GROUP)} - _BUILT_IN.keys()))


@functools.cache
def attack(kind: str) -> Attack:
    """Return an attack; its module is imported when it is first asked for.

    Raises
    ------
    AttackError
        There is none of this kind, or a package registers something else under it.
    """
    if kind in _BUILT_IN:
        found = import_module(f"wm.attacks.{kind.replace('-', '_')}").ATTACK
    else:
        points = [point for point in entry_points(group=GROUP) if point.name == kind]
        if not points:
            raise AttackError(f"unknown attack {kind!r}; known are: {', '.join(kinds())}")
        found = points[0].load()
    if not isinstance(found, Attack) or found.kind != kind:
        raise AttackError(f"entry point {kind!r} of group {GROUP} is no attack of that kind")
    taken = _RESERVED.intersection(found.job_options.model_fields, found.options.model_fields)
    if taken and not found.is_queried:
        raise AttackError(f"attack {kind!r}: options cannot be called {', '.join(sorted(taken))}")
    return found


def attacks() -> tuple[Attack, ...]:
    """Return all attacks."""
    return tuple(attack(kind) for kind in kinds())
