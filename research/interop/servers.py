"""The table of servers: what to install, what to run, where to ask, and what is to be found there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

PORT = "{port}"
"""Stands for the server's port in commands and files."""

_MLSERVER = '{"http_port": {port}, "host": "127.0.0.1", "parallel_workers": 0, "grpc_port": {port2}, "metrics_port": {port3}}'
_SKLEARN = '{"name": "plain", "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": "../../model.joblib"}}'
_COLUMNS = (
    '{"name": "columns", "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": '
    '"../../model.joblib", "content_type": "pd"}, "inputs": [{tensors}]}'
)
"""A model that describes a tensor for each feature, as a data frame."""


@dataclass(frozen=True)
class Question:
    """One address of a server.

    Attributes
    ----------
    path
        Where rows are posted.
    format, answers
        The format that is to be found, and the kind of answers.
    options
        Further words of `wm verify`.
    """

    path: str
    format: str
    answers: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Server:
    """One server.

    Attributes
    ----------
    requirements
        What is installed beside the scikit-learn that made the model.
    package
        Whose version is shown.
    command
        What runs it, a program of its environment first.
    ready
        Path that answers 200 once it is ready.
    questions
        What is asked.
    prepare
        What is run before, in the same folder.
    files
        Names and contents of files that it needs.
    """

    requirements: tuple[str, ...]
    package: str
    command: tuple[str, ...]
    ready: str
    questions: tuple[Question, ...]
    prepare: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)


def _mlflow(method: str, *words: str, questions: tuple[Question, ...]) -> Server:
    return Server(
        requirements=("mlflow==3.17.2",),
        package="mlflow",
        command=("mlflow", "models", "serve", "-m", f"served-{method}", "-p", PORT, "--env-manager", "local"),
        ready="/ping",
        questions=questions,
        prepare=("python", "served/mlflow_model.py", method, f"served-{method}", *words),
    )


SERVERS: dict[str, Server] = {
    "mlflow": _mlflow("predict_proba", questions=(Question("/invocations", "mlflow", "probabilities"),)),
    "mlflow-tensor": _mlflow(
        "predict",
        "unnamed",
        questions=(
            Question("/invocations", "inputs", "labels", ("--format", "inputs")),
            Question("/invocations", "v1", "labels", ("--format", "v1")),
            Question("/invocations", "mlflow", "labels"),
        ),
    ),
    "mlserver": Server(
        requirements=("mlserver==1.7.1", "mlserver-sklearn==1.7.1"),
        package="mlserver",
        command=("mlserver", "start", "."),
        ready="/v2/health/ready",
        questions=(
            Question("/v2/models/plain/infer", "v2-probabilities", "probabilities"),
            Question("/v2/models/plain/infer", "v2", "labels", ("--format", "v2")),
            Question("/v2/models/columns/infer", "v2-probabilities", "probabilities"),
        ),
        files={
            "settings.json": _MLSERVER,
            "plain/model-settings.json": _SKLEARN,
            "columns/model-settings.json": _COLUMNS,
        },
    ),
    "bentoml": Server(
        requirements=("bentoml==1.4.40",),
        package="bentoml",
        command=("bentoml", "serve", "served.bento_service:Service", "-p", PORT, "--host", "127.0.0.1"),
        ready="/readyz",
        questions=(
            Question("/shares", "field", "probabilities"),
            Question("/root", "list", "labels"),
            Question("/votes", "field", "votes"),
        ),
    ),
    "fastapi": Server(
        requirements=("fastapi==0.119.0", "uvicorn"),
        package="fastapi",
        command=("uvicorn", "served.fast_app:app", "--port", PORT),
        ready="/openapi.json",
        questions=(
            Question("/records", "field", "probabilities"),
            Question("/scores", "list", "probabilities"),
        ),
    ),
    "kserve": Server(
        requirements=("kserve==0.21.0",),
        package="kserve",
        command=("python", "served/kserve_model.py", PORT),
        ready="/v2/health/ready",
        questions=(
            Question("/v1/models/m:predict", "v1", "probabilities"),
            Question("/v2/models/m/infer", "v2", "probabilities", ("--format", "v2")),
        ),
    ),
    "triton": Server(
        requirements=("nvidia-pytriton==0.7.0",),
        package="nvidia-pytriton",
        command=("python", "served/triton_model.py", PORT, "{port2}", "{port3}"),
        ready="/v2/health/ready",
        questions=(Question("/v2/models/m/infer", "v2", "probabilities"),),
    ),
}
"""Servers by name."""

USUAL = tuple(name for name in SERVERS if name != "triton")
"""Those that are asked unless others are named: Triton's wheel needs a Python of few patch versions."""


def filled(text: str, ports: Sequence[int], names: Sequence[str]) -> str:
    """Return a text of the table with ports and the description of features' tensors."""
    tensors = ", ".join(f'{{"name": "{name}", "datatype": "FP64", "shape": [-1, 1]}}' for name in names)
    found = text.replace("{tensors}", tensors)
    for place, port in zip(("{port}", "{port2}", "{port3}"), ports, strict=True):
        found = found.replace(place, str(port))
    return found
