"""Formats of questions: how rows become the JSON body of a request. One line for each in `FORMATS`.

No body names this program. Where a format has a place for them, the features' names are sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wm.errors import EndpointError
from wm.verification.endpoint.described import named_field, tensors
from wm.verification.endpoint.endpoint import Endpoint
from wm.verification.endpoint.json_path import ALL, JsonPath, placed_at

Rows = list[list[float]]
Names = tuple[str, ...]
Encode = Callable[[Rows], Any]
"""Rows to a JSON document."""


@dataclass(frozen=True)
class Format:
    """One way to ask.

    Attributes
    ----------
    about
        The body, and servers that take it.
    prepare
        Endpoint and features' names to what makes a body of rows; None if the endpoint does not describe what
        the format needs.
    usual
        What the paths of such addresses usually hold.
    """

    about: str
    prepare: Callable[[Endpoint, Names], Encode | None]
    usual: str = ""


def _always(body: Callable[[Rows, Names], Any]) -> Callable[[Endpoint, Names], Encode]:
    """Return the preparation of a format that needs no description of the endpoint."""
    return lambda _, names: lambda rows: body(rows, names)


def _objects(rows: Rows, names: Names) -> list[dict[str, float]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


FORMATS: dict[str, Format] = {
    "v1": Format(
        '{"instances": [[...]]}: KServe v1, TensorFlow Serving, Vertex AI',
        _always(lambda rows, _: {"instances": rows}),
        usual=":predict",
    ),
    "mlflow": Format(
        '{"dataframe_split": {"columns": [...], "data": [[...]]}}: MLflow',
        _always(lambda rows, names: {"dataframe_split": {"columns": list(names), "data": rows}}),
        usual="/invocations",
    ),
    "v2-probabilities": Format(
        'as v2, and asks for the output "predict_proba": mlserver, Seldon',
        lambda endpoint, names: tensors(endpoint, names, output="predict_proba"),
        usual="/infer",
    ),
    "v2": Format(
        "input tensors as the model's metadata describes them: KServe v2, Triton, Seldon",
        tensors,
        usual="/infer",
    ),
    "inputs": Format(
        '{"inputs": [[...]]}: MLflow (tensors), TensorFlow Serving (columns)',
        _always(lambda rows, _: {"inputs": rows}),
        usual="/invocations",
    ),
    "seldon": Format(
        '{"data": {"names": [...], "ndarray": [[...]]}}: Seldon v1',
        _always(lambda rows, names: {"data": {"names": list(names), "ndarray": rows}}),
        usual="/predictions",
    ),
    "azureml": Format(
        '{"input_data": {"columns": [...], "index": [...], "data": [[...]]}}: Azure ML',
        _always(
            lambda rows, names: {
                "input_data": {"columns": list(names), "index": list(range(len(rows))), "data": rows}
            }
        ),
        usual="/score",
    ),
    "field": Format(
        "rows in the one field that the service's OpenAPI description names: BentoML, FastAPI",
        lambda endpoint, names: named_field(endpoint, names, _objects),
    ),
    "list": Format("[[...]]: BentoML, FastAPI", _always(lambda rows, _: rows)),
    "records": Format('[{"name": value, ...}, ...]: FastAPI', _always(_objects)),
}
"""Formats by name, in the order in which they are tried."""

PLACED = ("list", "records")
"""Formats whose rows `--json-rows` may put at another place of the body."""


@dataclass(frozen=True, eq=False)
class Wire:
    """How an endpoint is asked, and where its answers are.

    Attributes
    ----------
    name
        Of the format.
    encode
        Makes a body of rows.
    answers
        Place of the answers in a reply; None: where they usually are.
    """

    name: str
    encode: Encode
    answers: JsonPath | None = None


PLAIN = Wire("v1", lambda rows: {"instances": rows})
"""``{"instances": [[...], ...]}``."""


def wire_of(
    name: str, endpoint: Endpoint, names: Names, *, rows_at: JsonPath = (), answers_at: JsonPath | None = None
) -> Wire:
    """Return how to ask in a format.

    Parameters
    ----------
    names
        Of the features.
    rows_at
        Keys under which rows are sent, for the formats `PLACED`.
    answers_at
        As in `Wire`.

    Raises
    ------
    EndpointError
        Places that this format does not have, or an endpoint that does not describe what it needs.
    """
    if rows_at and (name not in PLACED or ALL in rows_at):
        raise EndpointError(f"rows can be put at a place of keys in the formats {' and '.join(PLACED)} only")
    encode = FORMATS[name].prepare(endpoint, names)
    if encode is None:
        raise EndpointError(f"{endpoint.what}: no description of it names a field for rows: give --json-rows")
    return Wire(name, lambda rows: placed_at(rows_at, encode(rows)), answers_at)
