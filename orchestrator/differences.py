"""Compare two campaigns: their files, and what they ran with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """A value that differs; None where one side has no such value."""

    place: str
    """Dotted path, as in ``embedding.trigger_share`` or ``attack.0.eps``."""
    first: str | None
    second: str | None


def flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value of nested tables as JSON text after its dotted path; lists of tables by number.

    >>> dict(flat({"seed": 2, "forest": {"tune": None}, "attack": [{"eps": [0.1]}]}))
    {'seed': '2', 'forest.tune': 'null', 'attack.0.eps': '[0.1]'}
    """
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            yield from flat({str(number): each for number, each in enumerate(value)}, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """Return the values of two documents that differ, in their order."""
    one, two = dict(flat(first)), dict(flat(second))
    return [
        Difference(place, one.get(place), two.get(place))
        for place in dict.fromkeys((*one, *two))
        if one.get(place) != two.get(place)
    ]
