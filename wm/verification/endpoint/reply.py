"""Reader of an endpoint's reply: JSON with votes, probabilities or labels for each instance."""

from __future__ import annotations

import json
from typing import Any

from wm.errors import EndpointError
from wm.verification.answers import KINDS, Answers, checked_answers

_SHOWN = 80
"""Characters of a reply that an error quotes."""


def parse_reply(body: bytes, count: int, *, class_names: tuple[str, str], what: str) -> Answers:
    """Read the answers to `count` instances, the most informative kind if there are several.

    Parameters
    ----------
    class_names
        Names of classes 0 and 1.
    what
        Name of the endpoint in errors.

    Raises
    ------
    EndpointError
        The reply holds no such answers.
    """
    document = _document(body, what)
    kind = next((kind for kind in KINDS if kind in document), None)
    if kind is None:
        keys = ", ".join(map(repr, list(document)[:5])) or "nothing"
        raise EndpointError(f"{what}: answered with {keys[:_SHOWN]}, not with any of {', '.join(KINDS)}")
    values = document[kind]
    if not isinstance(values, list) or len(values) != count:
        given = f"{len(values)} {kind}" if isinstance(values, list) else f"{kind} that are not a list"
        raise EndpointError(f"{what}: answered {count} instances with {given}")
    return checked_answers(kind, values, class_names=class_names, error=EndpointError, what=what)


def _document(body: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(body, parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as reason:  # no JSON, no UTF-8, a number of 10^4 digits, deep nesting
        start = repr(body[:_SHOWN])[1:]
        raise EndpointError(f"{what}: did not answer with JSON, but {start}") from reason
    if not isinstance(document, dict):
        raise EndpointError(f"{what}: answered with JSON that is not an object")
    return document


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: readers differ in which one they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
