"""Imitations of model servers, as strict as the real ones: each takes its own requests and refuses others.

`research/interop` asks the real ones.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests import ending

Matrix = NDArray[np.float32]


class RefusedError(Exception):
    """What a server refuses, with its status and document."""

    def __init__(self, status: int, document: Any) -> None:
        super().__init__(status)
        self.status, self.document = status, document


@dataclass
class Served:
    """A model behind a server.

    Attributes
    ----------
    shares
        Rows to the probability of each class, (n, 2).
    names
        Of the features, in the model's order.
    classes
        Names of the classes, as the server gives them.
    asked
        The rows of each request that was understood.
    """

    shares: Callable[[Matrix], NDArray[np.float64]]
    names: tuple[str, ...]
    classes: tuple[Any, Any] = (0, 1)
    asked: list[Matrix] = field(default_factory=list)

    def proba(self, rows: Any) -> list[list[float]]:
        matrix = self._matrix(rows)
        return self.shares(matrix).tolist()

    def labels(self, rows: Any) -> list[Any]:
        return [self.classes[int(share > 0.5)] for _, share in self.proba(rows)]

    def _matrix(self, rows: Any) -> Matrix:
        matrix = np.array(rows, dtype=np.float64).astype(np.float32)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names):
            raise RefusedError(400, {"error": f"X has shape {matrix.shape}"})
        self.asked.append(matrix)
        return matrix

    def by_name(self, columns: list[str], rows: Any) -> list[list[float]]:
        """Return rows in the model's order of columns, as servers of data frames do."""
        missing = sorted(set(self.names) - set(columns))
        if missing:
            raise RefusedError(
                400, {"error_code": "BAD_REQUEST", "message": f"Model is missing inputs {missing}"}
            )
        order = [columns.index(name) for name in self.names]
        return [[row[place] for place in order] for row in rows]


Answer = Callable[[Served, str, str, Any], Any]
"""Model, method, path and document to the reply's document; raises `RefusedError`."""


def _only(document: Any, *keys: str) -> Any:
    """Return the value under the one of some keys that a document must have."""
    if not isinstance(document, dict) or len(set(document) & set(keys)) != 1:
        raise RefusedError(400, {"error": f"the body needs exactly one of {keys}"})
    ((key, value),) = ((key, value) for key, value in document.items() if key in keys)
    return key, value


def kserve_v1(model: Served, method: str, path: str, document: Any) -> Any:
    _, rows = _only(document, "instances")
    return {"predictions": model.proba(rows)}


def tensorflow_columns(model: Served, method: str, path: str, document: Any) -> Any:
    _, rows = _only(document, "inputs")
    return {"outputs": model.proba(rows)}


def mlflow(model: Served, method: str, path: str, document: Any) -> Any:
    """A model whose signature names its columns: other forms are refused."""
    return {"predictions": model.labels(_data_frame(model, document))}


def _data_frame(model: Served, document: Any) -> list[list[float]]:
    key, value = _only(document, "dataframe_split", "dataframe_records", "instances", "inputs")
    if key != "dataframe_split":
        raise RefusedError(400, {"error_code": "BAD_REQUEST", "message": "Model is missing inputs"})
    return model.by_name(value["columns"], value["data"])


def mlflow_shares(model: Served, method: str, path: str, document: Any) -> Any:
    """One that returns both classes' probabilities."""
    return {"predictions": model.proba(_data_frame(model, document))}


def mlflow_frame(model: Served, method: str, path: str, document: Any) -> Any:
    """One that returns a data frame of both classes' probabilities."""
    shares = mlflow_shares(model, method, path, document)["predictions"]
    return {"predictions": [dict(zip(map(str, model.classes), row, strict=True)) for row in shares]}


def _tensor(name: str, shape: list[int], kind: str, data: list[Any]) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": kind, "data": data}


def _v2(document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict) or not isinstance(document.get("inputs"), list):
        raise RefusedError(400, {"error": "inputs: Field required"})
    inputs = document["inputs"]
    for each in inputs:
        if not isinstance(each, dict) or {"name", "shape", "datatype", "data"} - set(each):
            raise RefusedError(400, {"error": "inputs.0.name: Field required"})
        if np.size(each["data"]) != np.prod(each["shape"]):
            raise RefusedError(400, {"error": "the shape does not fit"})
    return inputs


def mlserver(model: Served, method: str, path: str, document: Any) -> Any:
    """Labels, or probabilities if they are asked for; its metadata describe nothing."""
    if method == "GET":
        return {"name": "m", "versions": [], "platform": "", "inputs": [], "outputs": []}
    (given,) = _v2(document)
    rows = np.reshape(given["data"], given["shape"])
    asked = [each["name"] for each in document.get("outputs", [])] or ["predict"]
    if set(asked) - {"predict", "predict_proba"}:
        raise RefusedError(400, {"error": "only supports 'predict', 'predict_proba'"})
    outputs = []
    for name in asked:
        found = np.array(model.proba(rows) if name == "predict_proba" else model.labels(rows))
        kind = {"f": "FP64", "i": "INT64"}.get(found.dtype.kind, "BYTES")
        shape = list(found.shape) if found.ndim == 2 else [len(found), 1]
        outputs.append(_tensor(name, shape, kind, found.ravel().tolist()))
    return {"model_name": "m", "outputs": outputs}


def triton(model: Served, method: str, path: str, document: Any) -> Any:
    """Names, types and outputs must be those of the metadata; labels and probabilities come together."""
    if method == "GET":
        return {
            "name": "m",
            "inputs": [{"name": "float_input", "datatype": "FP32", "shape": [-1, len(model.names)]}],
            "outputs": [{"name": "label", "datatype": "INT64", "shape": [-1]}],
        }
    (given,) = _v2(document)
    if (given["name"], given["datatype"]) != ("float_input", "FP32"):
        raise RefusedError(400, {"error": f"unexpected inference input {given['name']!r} for model 'm'"})
    if document.get("outputs"):
        raise RefusedError(400, {"error": "unexpected inference output for model 'm'"})
    rows = np.reshape(given["data"], given["shape"])
    shares, labels = model.proba(rows), model.labels(rows)
    return {
        "outputs": [
            _tensor("label", [len(labels)], "INT64", labels),
            _tensor("probabilities", [len(shares), 2], "FP32", np.ravel(shares).tolist()),
        ]
    }


def triton_columns(model: Served, method: str, path: str, document: Any) -> Any:
    """A tensor for each feature, described in another order than the claim's."""
    if method == "GET":
        kinds = [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in sorted(model.names)]
        return {"name": "m", "inputs": kinds, "outputs": []}
    given = {each["name"]: each["data"] for each in _v2(document)}
    if set(given) != set(model.names) or document.get("outputs"):
        raise RefusedError(400, {"error": "unexpected inputs"})
    rows = np.array([given[name] for name in model.names]).T
    return {"outputs": [_tensor("probabilities", [len(rows), 2], "FP64", model.proba(rows))]}


def seldon_v1(model: Served, method: str, path: str, document: Any) -> Any:
    _, data = _only(document, "data")
    if not isinstance(data, dict):
        raise RefusedError(400, {"status": {"info": "Unknown data"}})
    rows = model.by_name(data["names"], data["ndarray"])
    return {"data": {"names": ["t:0", "t:1"], "ndarray": model.proba(rows)}, "meta": {}}


def azure_ml(model: Served, method: str, path: str, document: Any) -> Any:
    _, data = _only(document, "input_data")
    return model.labels(model.by_name(data["columns"], data["data"]))


def bentoml(model: Served, method: str, path: str, document: Any) -> Any:
    """An argument of any name, told by the description at /docs.json."""
    if method == "GET" and path == "/docs.json":
        tensor = {"type": "tensor", "format": "numpy-array", "title": "Frame", "dtype": "float32"}
        body = {"schema": {"$ref": "#/components/schemas/predict__Input"}}
        return {
            "paths": {"/predict": {"post": {"requestBody": {"content": {"application/json": body}}}}},
            "components": {"schemas": {"predict__Input": {"properties": {"frame": tensor}}}},
        }
    if method == "GET":
        raise RefusedError(404, {})
    _, rows = _only(document, "frame")
    return model.proba(rows)


def bentoml_root(model: Served, method: str, path: str, document: Any) -> Any:
    if not isinstance(document, list):
        raise RefusedError(400, {"error": "1 validation error for Input"})
    return model.proba(document)


def fastapi_scores(model: Served, method: str, path: str, document: Any) -> Any:
    """{"label", "score"} of each row, the score being that of the label."""
    if method == "GET":
        raise RefusedError(404, {"detail": "Not Found"})
    if not isinstance(document, list) or not all(isinstance(row, list) for row in document):
        raise RefusedError(422, {"detail": [{"loc": ["body"], "msg": "Input should be a valid list"}]})
    shares = model.proba(document)
    return [
        {"label": label, "score": max(share)}
        for label, share in zip(model.labels(document), shares, strict=True)
    ]


def fastapi_records(model: Served, method: str, path: str, document: Any) -> Any:
    """A field of objects, as pydantic describes it."""
    if method == "GET" and path == "/openapi.json":
        row = {"type": "object", "properties": {name: {"type": "number"} for name in model.names}}
        body = {"properties": {"rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}}}
        media = {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}
        return {
            "paths": {"/score": {"post": {"requestBody": {"content": media}}}},
            "components": {"schemas": {"Row": row, "Body": body}},
        }
    if method == "GET":
        raise RefusedError(404, {"detail": "Not Found"})
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        raise RefusedError(422, {"detail": [{"loc": ["body", "rows"], "msg": "Field required"}]})
    rows = [[row[name] for name in model.names] for row in document["rows"]]
    return {"predictions": [share for _, share in model.proba(rows)]}


def crashing(model: Served, method: str, path: str, document: Any) -> Any:
    """A script that fails on whatever it does not expect, and answers at a place of its own."""
    rows = document["payload"]["rows"]
    return {"result": [{"scores": row, "id": place} for place, row in enumerate(model.proba(rows))]}


class Imitation:
    """A server for the time of a test.

    Attributes
    ----------
    url
        Of the given path.
    requests
        Method, path and document of each request.
    """

    def __init__(self, model: Served, answer: Answer, path: str) -> None:
        requests: list[tuple[str, str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._do(None)

            def do_POST(self) -> None:
                self._do(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _do(self, document: Any) -> None:
                requests.append((self.command, self.path, document))
                try:
                    status, reply = 200, answer(model, self.command, self.path, document)
                except RefusedError as refused:
                    status, reply = refused.status, refused.document
                except (KeyError, TypeError, IndexError, ValueError) as fault:
                    status, reply = 500, {"error": repr(fault)}
                content = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.requests = requests
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{path}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Imitation:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        ending.join(self._thread)
        self._server.server_close()


SERVERS: dict[str, tuple[Answer, str, str, str]] = {
    "kserve v1": (kserve_v1, "/v1/models/m:predict", "v1", "probabilities"),
    "tensorflow, columns": (tensorflow_columns, "/v1/models/m:predict", "inputs", "probabilities"),
    "mlflow": (mlflow, "/invocations", "mlflow", "labels"),
    "mlflow, data frame": (mlflow_frame, "/invocations", "mlflow", "probabilities"),
    "mlserver": (mlserver, "/v2/models/m/infer", "v2-probabilities", "probabilities"),
    "triton": (triton, "/v2/models/m/versions/1/infer", "v2", "probabilities"),
    "triton, a tensor a column": (triton_columns, "/v2/models/m/infer", "v2", "probabilities"),
    "seldon v1": (seldon_v1, "/seldon/ns/m/api/v1.0/predictions", "seldon", "probabilities"),
    "azure ml": (azure_ml, "/score", "azureml", "labels"),
    "bentoml": (bentoml, "/predict", "field", "probabilities"),
    "bentoml, root input": (bentoml_root, "/predict", "list", "probabilities"),
    "fastapi, scores": (fastapi_scores, "/predict", "list", "probabilities"),
    "fastapi, records": (fastapi_records, "/score", "field", "probabilities"),
}
"""Server, path, the format that is found, and the kind of answers that it gives."""
