"""What a service says of itself: a model's input tensors (KServe v2), the body it takes (OpenAPI)."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from wm.errors import EndpointError
from wm.verification.endpoint.endpoint import Endpoint
from wm.verification.endpoint.json_path import part_at
from wm.verification.endpoint.reply import strict_json

_DESCRIPTIONS = ("openapi.json", "docs.json")
"""Names of OpenAPI descriptions: FastAPI's and BentoML's."""

_INFER = "/infer"
_NAMED = "input-0"
"""Name of the tensor for models that do not describe theirs: servers of one input ignore it."""

_FLOATS = ("FP16", "BF16", "FP32", "FP64")

Encode = Callable[[list[list[float]]], Any]


def tensors(endpoint: Endpoint, names: tuple[str, ...], *, output: str | None = None) -> Encode:
    """Return the format of input tensors: one for all features, or one for each if the model has so many.

    Parameters
    ----------
    names
        Of the features; used where the model names its tensors so.
    output
        Name of the output to ask for; None: those that the model gives by itself.
    """
    asked = {} if output is None else {"outputs": [{"name": output}]}
    found = _inputs(endpoint)
    if len(found) == len(names) > 1:
        own = [name for name, _ in found]
        order = [names.index(name) for name in own] if set(own) == set(names) else range(len(own))
        columns = list(zip(own, (kind for _, kind in found), order, strict=True))
        return lambda rows: {
            "inputs": [
                _tensor(name, kind, [len(rows), 1], [row[place] for row in rows])
                for name, kind, place in columns
            ],
            **asked,
        }
    name, kind = found[0] if found else (_NAMED, "FP32")
    return lambda rows: {
        "inputs": [_tensor(name, kind, [len(rows), len(rows[0])], [value for row in rows for value in row])],
        **asked,
    }


def _tensor(name: str, kind: str, shape: list[int], data: list[float]) -> dict[str, Any]:
    values: list[Any] = data
    if kind not in _FLOATS:
        values = [int(value) for value in data]
        if values != data or not kind.lstrip("U").startswith("INT"):
            raise EndpointError(f"its tensor {name[:40]!r} takes {kind[:10]}, which the rows are not")
    return {"name": name, "shape": shape, "datatype": kind, "data": values}


def _inputs(endpoint: Endpoint) -> list[tuple[str, str]]:
    """Return name and data type of each input tensor that the model's metadata describe."""
    parts = urllib.parse.urlsplit(endpoint.url)
    if not parts.path.endswith(_INFER):
        return []
    described = _read(endpoint, parts._replace(path=parts.path.removesuffix(_INFER)).geturl())
    inputs = described.get("inputs") if isinstance(described, dict) else None
    if not isinstance(inputs, list):
        return []
    found = [
        (each.get("name"), each.get("datatype", "FP32")) if isinstance(each, dict) else (None, None)
        for each in inputs
    ]
    return [(name, kind) for name, kind in found if isinstance(name, str) and isinstance(kind, str)]


def named_field(
    endpoint: Endpoint,
    names: tuple[str, ...],
    objects: Callable[[list[list[float]], tuple[str, ...]], list[dict[str, float]]],
) -> Encode | None:
    """Return the format that a service's OpenAPI description asks for; None if it describes none.

    Parameters
    ----------
    names
        Of the features.
    objects
        Rows and names to an object for each row.
    """
    parts = urllib.parse.urlsplit(endpoint.url)
    for address in _addresses(parts):
        described = _read(endpoint, address)
        for path in described.get("paths", {}) if isinstance(described, dict) else ():
            if parts.path.endswith(path):
                field = _field(described, path)
                if field is not None:
                    name, of_objects = field
                    return lambda rows: {name: objects(rows, names) if of_objects else rows}
    return None


def _addresses(parts: urllib.parse.SplitResult) -> Iterator[str]:
    """Yield where a description may be: beside the address or above it."""
    folders = parts.path.split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        for name in _DESCRIPTIONS:
            yield parts._replace(path="/".join([*folders[:depth], name]), query="").geturl()


def _field(described: dict[str, Any], path: str) -> tuple[str, bool] | None:
    """Return the one field of a body that is a list, and whether of objects."""
    try:
        body = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        properties = _resolved(described, body)["properties"]
        lists = {
            name: schema
            for name, each in properties.items()
            if "items" in (schema := _resolved(described, each)) or schema.get("type") in ("array", "tensor")
        }
        ((name, schema),) = lists.items()
        of_objects = "properties" in _resolved(described, schema.get("items", {}))
    except (LookupError, TypeError, AttributeError, ValueError):  # described otherwise, perhaps with malice
        return None
    return name, of_objects


def _resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: dict[str, Any] = part_at(described, tuple(reference.removeprefix("#/").split("/")))
    return found


def _read(endpoint: Endpoint, url: str) -> Any:
    content = endpoint.get(url)
    if content is None:
        return None
    try:
        return strict_json(content)
    except ValueError:  # a page for people
        return None
