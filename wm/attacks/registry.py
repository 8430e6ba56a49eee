"""The registry of attacks: the built-in ones, and those of installed packages.

A package adds attacks by entry points of the group ``treeproof.attacks``, whose names are kinds and whose
objects are `wm.attacks.base.Attack`. Every process finds them there, including workers on other machines.
"""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.metadata import entry_points

from wm.attacks.base import Attack
from wm.errors import AttackError

_BUILT_IN = (
    "leakage",
    "detection",
    "suppression",
    "forgery",
    "free-forgery",
    "modification",
    "calibration",
    "claims",
)
"""Kinds, in the order of reports; the attack ``free-forgery`` is `wm.attacks.free_forgery.ATTACK`."""

GROUP = "treeproof.attacks"

_RESERVED = {"kind", "only", "seed", "repeat", "limit_s", "memory_mb"}
"""Fields of an `[[attack]]` table or a job that are not options."""


@functools.cache
def kinds() -> tuple[str, ...]:
    """Return the kinds of all attacks, the built-in ones first."""
    return (*_BUILT_IN, *sorted({point.name for point in entry_points(group=GROUP)} - set(_BUILT_IN)))


@functools.cache
def attack(kind: str) -> Attack:
    """Return an attack, importing its module.

    Raises
    ------
    AttackError
        There is none of this kind, or a package registers another object as one.
    """
    if kind in _BUILT_IN:
        found = import_module(f"wm.attacks.{kind.replace('-', '_')}").ATTACK
    else:
        points = [point for point in entry_points(group=GROUP) if point.name == kind]
        if not points:
            raise AttackError(f"unknown attack {kind!r}; known are: {', '.join(kinds())}")
        found = points[0].load()
    if not isinstance(found, Attack) or found.kind != kind:
        raise AttackError(f"entry point {kind!r} of group {GROUP} is not an attack of that kind")
    taken = _RESERVED.intersection(found.job_options.model_fields, found.options.model_fields)
    if taken and not found.is_queried:
        raise AttackError(f"attack {kind!r}: options cannot be called {', '.join(sorted(taken))}")
    return found


def attacks() -> tuple[Attack, ...]:
    """Return all attacks."""
    return tuple(attack(kind) for kind in kinds())
