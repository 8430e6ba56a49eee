"""Places in JSON documents, written ``result.scores`` or ``predictions[*].score``.

A step is a key, a number (of an entry of a list), or ``*``: the rest of the path in every entry of a list.
"""

from __future__ import annotations

import re
from typing import Any

from wm.errors import EndpointError

JsonPath = tuple[str, ...]
"""Steps from the whole document to a part; none is the whole."""

ALL = "*"

_STEP = re.compile(r"\[(?:\*|[0-9]+)\]|[^.\[\]]+")


def read_path(text: str) -> JsonPath:
    """Return the steps of a written path; ``$`` or nothing is the whole document.

    Raises
    ------
    EndpointError
        Other text.
    """
    rest = text.removeprefix("$").removeprefix(".")
    steps = _STEP.findall(rest)
    if re.sub(r"\.(?=\[)", "", rest) != _written(steps) or not text.isprintable():
        raise EndpointError(f"{text!r} is no place in JSON, such as result.scores or predictions[*].score")
    return tuple(step.strip("[]") for step in steps)


def _written(steps: list[str]) -> str:
    return "".join(step if step.startswith("[") else f".{step}" for step in steps).removeprefix(".")


def part_at(document: Any, path: JsonPath) -> Any:
    """Return the part of a document at a path; raise `LookupError` if there is none."""
    for place, step in enumerate(path):
        if isinstance(document, list) and step == ALL:
            return [part_at(each, path[place + 1 :]) for each in document]
        if isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            raise LookupError(".".join(path[: place + 1]))
    return document


def placed_at(path: JsonPath, part: Any) -> Any:
    """Return the document that has a part at a path of keys, and nothing else."""
    for step in reversed(path):
        part = {step: part}
    return part
