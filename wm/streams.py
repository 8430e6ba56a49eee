"""Named random streams: no two roles of a campaign share one.

The paper's artifact uses one seed for owner and attacker, so that its first "random" attacker signature *is*
the owner's. Here every role draws from its own stream, derived from the campaign's seed, the role's name and
a key of indexes; streams do not depend on the order in which they are created.
"""

from __future__ import annotations

import hashlib
import itertools
import operator
from enum import StrEnum

import numpy as np

_SEPARATOR = "\x1f"


class Role(StrEnum):
    """Purpose of a random stream, and who draws from it."""

    SPLIT = "split"
    TUNING = "tuning"
    STANDARD_FOREST = "standard-forest"
    CAPPED_FOREST = "capped-forest"
    OWNER_SIGNATURE = "owner-signature"
    OWNER_TRIGGER = "owner-trigger"
    OWNER_NONCE = "owner-nonce"
    OWNER_TREES_RIGHT = "owner-trees-right"
    OWNER_TREES_WRONG = "owner-trees-wrong"
    OWNER_TREE = "owner-tree"
    OWNER_WRONG_LABELS = "owner-wrong-labels"
    ATTACKER_SIGNATURE = "attacker-signature"
    ATTACKER_INSTANCES = "attacker-instances"
    ATTACKER_PROBES = "attacker-probes"
    ATTACKER_SHADOWS = "attacker-shadows"
    HONEST_POPULATION = "honest-population"
    OTHER_OWNERS = "other-owners"
    JUDGE_QUESTIONS = "judge-questions"
    NULL = "null"


def _part(part: int | str) -> str:
    """Return a key's part as text: different for different keys, equal for equal integers of any type."""
    if isinstance(part, str):
        return f"str:{part.replace(_SEPARATOR, 2 * _SEPARATOR)}"
    return f"int:{operator.index(part)}"


def attacker(kind: str) -> str:
    """Return the role of an attack that draws from a stream of its own; no owner's role begins so."""
    return f"attacker-{kind}"


def sequence(seed: int, role: Role | str, *key: int | str) -> np.random.SeedSequence:
    """Return the seed sequence of a role.

    Parameters
    ----------
    seed
        The campaign's seed, at least 0.
    role
        One of `Role`, or of an `attacker`.
    *key
        Distinguishes the streams of one role (repeat number, signature number, ...).
    """
    if seed < 0:
        raise ValueError(f"seed {seed} is negative")
    name = _SEPARATOR.join([str(role), *map(_part, key)])
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in words))


def generator(seed: int, role: Role | str, *key: int | str) -> np.random.Generator:
    """Return a fresh generator at the start of a role's stream."""
    return np.random.default_rng(sequence(seed, role, *key))


def integer_seed(seed: int, role: Role, *key: int | str) -> int:
    """Return a `random_state` in [0, 2^31) for a library that takes only an integer."""
    return int(sequence(seed, role, *key).generate_state(1, np.uint32)[0] >> 1)


def distinct_seeds(seed: int, role: Role, count: int, *key: int | str) -> tuple[int, ...]:
    """Return `count` different `random_state`, each from a stream of its own.

    As `integer_seed` with the key extended by 0, 1, ...; a repeated seed is skipped (among 10,000 seeds of 31
    bits two are equal in one of 43 cases).
    """
    found: dict[int, None] = {}
    numbers = itertools.count()
    while len(found) < count:
        found[integer_seed(seed, role, *key, next(numbers))] = None
    return tuple(found)
