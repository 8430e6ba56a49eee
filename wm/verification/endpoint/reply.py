"""Reader of an endpoint's reply: the arrays in it that have an entry for each instance, by name.

Where they are, unless a path says: under ``votes``, ``probabilities`` or ``labels``; under ``predictions``;
under ``outputs`` (KServe v2: tensors); under ``data.ndarray`` (Seldon v1); or the whole reply. An entry is a
number or a name, a list of such, or an object of them, of which each key is an array.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import EndpointError
from wm.verification.answers import KINDS
from wm.verification.endpoint.json_path import JsonPath, part_at

Columns = dict[str, NDArray[Any]]
"""Arrays with an entry for each instance, (n, ...), by their names in the reply."""

_SHOWN = 80
"""Characters of a reply that an error quotes."""

_PLACES: tuple[JsonPath, ...] = (("predictions",), ("outputs",), ("data", "ndarray"))

_MOST_KEYS = 2**12
"""Most keys of an object that answers one instance."""

_ARRAYS_FOR_EACH, _ARRAYS_AROUND = 16, 2**12
"""Most lists and objects of a reply for each instance, and others: one takes 50 times its text."""


def strict_json(body: bytes) -> Any:
    """Return the one document of a text; raise `ValueError` for other text and for keys given twice."""
    try:
        return json.loads(body, parse_constant=_refuse, object_pairs_hook=_distinct)
    except RecursionError as reason:
        raise ValueError("nested too deeply") from reason


def read_reply(
    body: bytes,
    count: int,
    *,
    class_names: tuple[str, ...],
    what: str,
    path: JsonPath | None = None,
    asked: str | None = None,
) -> Columns:
    """Return the arrays with answers to `count` instances.

    Parameters
    ----------
    class_names
        Names of classes 0, 1, ...: objects with these keys are the classes' probabilities.
    what
        Name of the endpoint in errors.
    path
        Place of the answers; None: one of the usual ones.
    asked
        What was asked, for errors; by default the number of instances.

    Raises
    ------
    EndpointError
        The reply holds no such arrays.
    """
    if body.count(b"[") + body.count(b"{") > _ARRAYS_AROUND + _ARRAYS_FOR_EACH * count:
        raise EndpointError(f"{what}: answered with more arrays than {count} instances need")
    try:
        document = strict_json(body)
    except ValueError as reason:  # no JSON, no UTF-8, a number of 10^4 digits, deep nesting
        start = repr(body[:_SHOWN])[1:]
        raise EndpointError(f"{what}: did not answer with JSON, but {start}") from reason
    name, value = _answers_in(document, what, path)
    try:
        found = dict(_columns(name, value, count, class_names))
    except ValueError as reason:
        raise EndpointError(f"{what}: {reason}") from reason
    for each, array in found.items():
        if len(array) != count:
            asked = asked or f"{count} instances"
            raise EndpointError(f"{what}: answered {asked} with {len(array)} {each[:_SHOWN]}")
    return found


def _answers_in(document: Any, what: str, path: JsonPath | None) -> tuple[str, Any]:
    """Return name and value of the part of a reply that holds the answers."""
    if path is not None:
        try:
            return ".".join(path), part_at(document, path)
        except LookupError as reason:
            raise EndpointError(
                f"{what}: answered with {_keys(document)}, which has no {str(reason.args[0])!r}"
            ) from reason
    if isinstance(document, list):
        return "answers", document
    if not isinstance(document, dict):
        raise EndpointError(f"{what}: answered with JSON that is neither an object nor a list")
    kind = next((kind for kind in KINDS if kind in document), None)
    if kind is not None:
        return kind, document[kind]
    for place in _PLACES:
        try:
            return place[0], part_at(document, place)
        except LookupError:
            continue
    usual = ", ".join([*KINDS, *(".".join(place) for place in _PLACES)])
    raise EndpointError(
        f"{what}: answered with {_keys(document)}, not with any of {usual}: say where its answers are by "
        "--json-path"
    )


def _keys(document: Any) -> str:
    if not isinstance(document, dict):
        return "a list" if isinstance(document, list) else "a single value"
    return (", ".join(map(repr, list(document)[:5])) or "nothing")[:_SHOWN]


def _columns(
    name: str, value: Any, count: int, class_names: tuple[str, ...]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays in a part of a reply; raise `ValueError` if it is none."""
    if isinstance(value, list) and value and all(_is_tensor(each) for each in value):
        for each in value:
            yield str(each["name"]), _of_tensor(each)
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        yield from _of_objects(name, value, class_names)
    elif isinstance(value, list):
        yield name, _array(name, value)
    elif isinstance(value, dict) and value and all(isinstance(each, list) for each in value.values()):
        for key, each in value.items():
            yield key, _array(key, each)
    else:
        raise ValueError(f"answered {count} instances with {name[:_SHOWN]} that are not a list")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and {"name", "shape", "data"} <= set(value)


def _of_tensor(tensor: dict[str, Any]) -> NDArray[Any]:
    """Return the array of a KServe v2 output; its data may be flat or nested."""
    name, shape = str(tensor["name"]), tensor["shape"]
    array = _array(name, tensor["data"] if isinstance(tensor["data"], list) else [tensor["data"]])
    sizes = isinstance(shape, list) and shape and all(isinstance(size, int) and size >= 0 for size in shape)
    if not sizes or math.prod(shape) != array.size:
        raise ValueError(
            f"answered with a tensor {name[:_SHOWN]!r} of {array.size} numbers and another shape"
        )
    return array.reshape(shape)


def _of_objects(
    name: str, rows: list[dict[str, Any]], class_names: tuple[str, ...]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield an array for each key; one for all if keys are the classes' names, or numbers of columns."""
    keys = list(rows[0])
    if len(keys) > _MOST_KEYS or any(row.keys() != rows[0].keys() for row in rows):
        raise ValueError(f"answered with {name[:_SHOWN]} whose objects have different or too many keys")
    for whole in (class_names, tuple(map(str, range(len(keys))))):
        if set(keys) == set(whole):
            yield name, _array(name, [[row[key] for key in whole] for row in rows])
            return
    for key in keys:
        yield key, _array(key, [row[key] for row in rows])


def _array(name: str, values: list[Any]) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as reason:  # rows of different lengths, numbers beyond any type
        raise ValueError(f"{name[:_SHOWN]} are not an array: one row for each instance is needed") from reason


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: readers differ in which one they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
