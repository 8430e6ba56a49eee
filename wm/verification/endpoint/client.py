"""Client of an endpoint: rows in batches, one kind of answers, and the search for the format of questions."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import EndpointError, EndpointUnavailableError
from wm.http import EndpointRefusedError
from wm.verification.answers import Answers
from wm.verification.endpoint.endpoint import Endpoint, is_perhaps_refused
from wm.verification.endpoint.formats import FORMATS, PLACED, PLAIN, Wire, wire_of
from wm.verification.endpoint.json_path import JsonPath
from wm.verification.endpoint.meaning import AmbiguousError, read_meaning
from wm.verification.endpoint.reply import Columns, read_reply

_FINAL = (401, 403, 404, 405)
"""Status codes of refusals that no other body would change."""


def ask(
    endpoint: Endpoint,
    X: NDArray[np.float32],
    *,
    class_names: tuple[str, ...] = ("0", "1"),
    wire: Wire = PLAIN,
) -> Answers:
    """Return an endpoint's answers to instances.

    Parameters
    ----------
    X : (n, d)
        At least one instance.
    class_names
        Names of classes 0, 1, ....
    wire
        How it is asked.

    Raises
    ------
    EndpointUnavailableError
        The endpoint is not reachable, overloaded or too slow, also after retries.
    EndpointError
        A refusal, or a reply that holds no answers.
    """
    parts: list[Columns] = []
    size = endpoint.limits.batch_size
    for start in range(0, len(X), size):
        rows = X[start : start + size]
        asked = f"instances {start + 1} to {start + len(rows)} of {len(X)}" if len(X) > size else None
        part = _replied(endpoint, rows, class_names, wire, understood=True, asked=asked)
        if not parts:
            _check(part, class_names, endpoint.what)
        elif _shapes(part) != _shapes(parts[0]):
            raise EndpointError(
                f"{endpoint.what}: answered {_described(part)} for instances from {start} on, "
                f"{_described(parts[0])} before"
            )
        parts.append(part)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return read_meaning(whole, class_names=class_names, what=endpoint.what)


def find_wire(
    endpoint: Endpoint,
    X: NDArray[np.float32],
    *,
    names: tuple[str, ...],
    class_names: tuple[str, ...] = ("0", "1"),
    rows_at: JsonPath = (),
    answers_at: JsonPath | None = None,
) -> Wire:
    """Return the first format in which an endpoint answers a few rows.

    The formats that are usual for such an address are tried first.

    Parameters
    ----------
    X : (n, d)
        Rows that may be shown for this: each format may send them once more.
    names
        Of the features.
    rows_at, answers_at
        As in `wire_of`; with `rows_at` only the formats `PLACED` are tried.

    Raises
    ------
    EndpointUnavailableError
        As in `ask`.
    EndpointError
        No format is answered; the text says why for each.
    """
    formats = sorted(
        PLACED if rows_at else FORMATS,
        key=lambda name: not (FORMATS[name].usual and FORMATS[name].usual in endpoint.url),
    )
    failures: dict[str, EndpointError] = {}
    for again in (False, True):
        for name in formats:
            if again and not is_perhaps_refused(failures[name]):  # the others had no passing fault
                continue
            try:
                wire = wire_of(name, endpoint, names, rows_at=rows_at, answers_at=answers_at)
                found = _replied(endpoint, X, class_names, wire, understood=False)
                _check(found, class_names, endpoint.what)
            except EndpointError as reason:
                if _is_final(reason):
                    raise
                failures[name] = reason
            else:
                return wire
    raise EndpointError(f"{endpoint.what}: understood no format: {_reasons(failures, endpoint.what)}")


def _check(columns: Columns, class_names: tuple[str, ...], what: str) -> None:
    """Raise `EndpointError` if the first answers are none; what they are, all of them together decide."""
    with contextlib.suppress(AmbiguousError):
        read_meaning(columns, class_names=class_names, what=what)


def _is_final(reason: EndpointError) -> bool:
    if isinstance(reason, EndpointRefusedError):
        return reason.status in _FINAL or 300 <= reason.status < 400
    return isinstance(reason, EndpointUnavailableError) and not is_perhaps_refused(reason)


def _reasons(failures: dict[str, EndpointError], what: str) -> str:
    """Return why each format failed, formats with the same reason together."""
    formats: dict[str, list[str]] = {}
    for name, reason in failures.items():
        formats.setdefault(str(reason).removeprefix(f"{what}: "), []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in formats.items())


def _replied(
    endpoint: Endpoint,
    rows: NDArray[np.float32],
    class_names: tuple[str, ...],
    wire: Wire,
    *,
    understood: bool,
    asked: str | None = None,
) -> Columns:
    if not np.isfinite(rows).all():
        raise EndpointError(f"{endpoint.what}: a row holds NaN or infinity, which JSON has no numbers for")
    document: Any = wire.encode(rows.astype(np.float64).tolist())
    reply = endpoint.post(document, rows=len(rows), understood=understood)
    return read_reply(
        reply, len(rows), class_names=class_names, what=endpoint.what, path=wire.answers, asked=asked
    )


def _shapes(columns: Columns) -> dict[str, tuple[int, ...]]:
    return {name: array.shape[1:] for name, array in columns.items()}


def _described(columns: Columns) -> str:
    """Return the names and widths of some arrays, for errors."""
    return " and ".join(
        f"{name[:40]} of {array.shape[1]} {'trees' if name == 'votes' else 'columns'}"
        if array.ndim == 2
        else name[:40]
        for name, array in columns.items()
    )
