"""Ask a suspect at a network address, as the options say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from orchestrator.cli.urls import read_secret
from wm.verification.endpoint.endpoint import Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.verification.answers import Answers
    from wm.verification.endpoint.endpoint import Endpoint
    from wm.verification.endpoint.formats import Wire

TOKEN_VARIABLE = "WM_ENDPOINT_TOKEN"  # noqa: S105 - the name of the variable that holds it
"""Environment variable with the token of an endpoint."""

AUTO = "auto"
PROBES = 3
"""Controls that are shown to find out the format of questions."""

LIMITS = {
    "batch_size": ("batch_size", click.IntRange(1, 100_000), "Maximum rows in one request to --url."),
    "request_limit_s": (
        "request_s",
        click.FloatRange(0, 86_400, min_open=True),
        "Maximum seconds for one request.",
    ),
    "total_limit_s": (
        "total_s",
        click.FloatRange(0, 604_800, min_open=True),
        "Maximum seconds for all requests, with pauses.",
    ),
    "attempts": ("attempts", click.IntRange(1, 1000), "Maximum tries of one request."),
}
"""Options of an endpoint: field of `Limits`, type and help."""


TEXT_TO_URL = (
    "--url is asked for numbers, but the raw rows have text: write them by wm queries --units raw, "
    "and give the answers in a file"
)


class Named(Protocol):
    """The part of a claim's header that says what rows and answers mean."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes 0, 1, ...."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""


def ask_endpoint(
    X: NDArray[np.float32], spare: NDArray[np.float32], header: Named, options: dict[str, Any]
) -> tuple[Answers, Endpoint, Wire]:
    """Return the answers of the endpoint that the options name, and how it was asked.

    Parameters
    ----------
    X : (q, d), spare : (s, d)
        The questions, and other rows to find out the format with.
    """
    from wm.http import read_headers
    from wm.verification.endpoint.client import ask
    from wm.verification.endpoint.endpoint import Endpoint

    endpoint = Endpoint(
        options["url"],
        token=_token(options["token_file"]),
        headers=read_headers(options["headers"]),
        limits=Limits(**{field: options[name] for name, (field, _, _) in LIMITS.items()}),
    )
    wire = _wire(endpoint, spare, header, options)
    return ask(endpoint, X, class_names=header.class_names, wire=wire), endpoint, wire


def _wire(endpoint: Endpoint, spare: NDArray[np.float32], header: Named, options: dict[str, Any]) -> Wire:
    from wm.verification.endpoint.client import find_wire
    from wm.verification.endpoint.formats import wire_of
    from wm.verification.endpoint.json_path import read_path

    answers_at = options["json_path"]
    places: Any = {
        "rows_at": read_path(options["json_rows"] or ""),
        "answers_at": None if answers_at is None else read_path(answers_at),
    }
    names, classes = header.feature_names, header.class_names
    if options["format"] != AUTO:
        return wire_of(options["format"], endpoint, names, **places)
    if not len(spare):
        raise click.UsageError("the claim shows no control to spare: give the --format of questions")
    return find_wire(endpoint, spare, names=names, class_names=classes, **places)


def _token(file: Path | None) -> str | None:
    if file is not None:
        return read_secret(file, "--token-file")
    return os.environ.get(TOKEN_VARIABLE) or None
