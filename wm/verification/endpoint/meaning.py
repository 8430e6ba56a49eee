"""What the arrays in an endpoint's replies are: votes, probabilities or labels.

Arrays of these names are that. Others are recognised by their values over all rows: whole numbers and names
of the classes are labels; numbers in [0, 1], one for each class that add up to 1, or of two classes one, are
probabilities; other rows of numbers or names of classes are votes. The most informative array counts. Two
arrays that could both be it, and differ, are refused. Beside an array of names or integers that are labels of
two classes, numbers with a point are probabilities, even if all happen to be 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import EndpointError
from wm.verification.answers import (
    KINDS,
    AnswerKind,
    Answers,
    checked_answers,
    codes_of,
    most_rounded,
    name_of,
)
from wm.verification.endpoint.reply import Columns


class AmbiguousError(EndpointError):
    """Several arrays could be the answers; more rows may tell which."""


def read_meaning(columns: Columns, *, class_names: tuple[str, ...], what: str) -> Answers:
    """Return the most informative answers in a reply's arrays.

    Parameters
    ----------
    class_names
        Names of classes 0, 1, ....
    what
        Name of the endpoint in errors.

    Raises
    ------
    AmbiguousError
        Several arrays could be the answers.
    EndpointError
        None of the arrays are answers.
    """
    named = next((kind for kind in KINDS if kind in columns), None)
    if named is not None:
        return _checked(named, columns[named], class_names, what)
    kinds = {name: _kind_of(array, class_names) for name, array in columns.items()}
    has_labels = any(kind == "labels" and columns[name].dtype.kind != "f" for name, kind in kinds.items())
    found: dict[str, Answers] = {}
    for name, array in columns.items():
        kind = kinds[name]
        if has_labels and kind == "labels" and array.dtype.kind == "f" and _are_shares(array):
            kind = "probabilities" if len(class_names) == 2 else None
        if kind is not None:
            values = _coded(array, class_names) if kind == "votes" else array
            found[name] = _checked(kind, values, class_names, what)
    _turn_scores(found, columns)
    for kind in KINDS:
        names = [name for name in found if found[name].kind == kind]
        if names:
            first = found[names[0]]
            if any(not np.array_equal(found[name].values, first.values) for name in names[1:]):
                raise AmbiguousError(
                    f"{what}: answered with several arrays of {kind}, {_listed(names)}: choose one by "
                    "--json-path"
                )
            return first
    raise EndpointError(
        f"{what}: its {_listed(list(columns))} are no votes, probabilities or labels of "
        f"{' and '.join(map(repr, class_names))}"
    )


def _kind_of(array: NDArray[Any], class_names: tuple[str, ...]) -> AnswerKind | None:
    if not array.size or array.dtype.kind not in "iufbU":
        return None
    if array.ndim == 1 or array.shape[1:] == (1,):
        if _names_classes(array, class_names):
            return "labels"
        return "probabilities" if len(class_names) == 2 and _are_shares(array) else None
    if array.ndim != 2:
        return None
    classes = len(class_names)
    adds_up = _are_shares(array) and (abs(array.sum(axis=1) - 1.0) <= most_rounded(classes)).all()
    if array.shape[1] == classes and adds_up:
        return "probabilities"
    return "votes" if array.shape[1] > 1 and _names_classes(array, class_names) else None


def _are_shares(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "iuf" and bool(((array >= 0) & (array <= 1)).all())


def _names_classes(array: NDArray[Any], class_names: tuple[str, ...]) -> bool:
    if array.dtype.kind == "f" and not (array == np.round(array)).all():
        return False
    return codes_of([name_of(value) for value in np.unique(array).tolist()], class_names) is not None


def _coded(array: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return labels of any shape as 0, 1, ...."""
    values, place = np.unique(array, return_inverse=True)
    codes = codes_of([name_of(value) for value in values.tolist()], class_names)
    assert codes is not None  # noqa: S101 - `_names_classes` has said so
    return codes[place].reshape(array.shape)


def _turn_scores(found: dict[str, Answers], columns: Columns) -> None:
    """Make probabilities of class 1 of a label's score, the form {"label": ..., "score": ...}.

    A score that is never below one half is the label's. One that is above it just for class 1 is that of
    class 1 already. Others are no probabilities of these labels, and are left out.
    """
    labels = [each.values for each in found.values() if each.kind == "labels"]
    scores = [
        name
        for name in found
        if found[name].kind == "probabilities" and columns[name].shape[1:] in ((), (1,))
    ]
    if len(labels) != 1 or len(scores) != 1:
        return
    score, label = found[scores[0]].values, labels[0]
    if ((score - 0.5) * (label - 0.5) >= 0).all():
        return
    if (score >= 0.5).all():
        found[scores[0]] = Answers("probabilities", np.where(label == 1, score, 1.0 - score))
    else:
        del found[scores[0]]


def _checked(kind: AnswerKind, array: NDArray[Any], class_names: tuple[str, ...], what: str) -> Answers:
    return checked_answers(kind, array, class_names=class_names, error=EndpointError, what=what)


def _listed(names: list[str]) -> str:
    return (", ".join(map(repr, names[:5])) or "answers")[:100]
