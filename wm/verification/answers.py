"""A suspect's answers from a file or the network, checked: votes of each tree, probabilities, or labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ClaimError, WmError
from wm.forest import Forest

AnswerKind = Literal["votes", "probabilities", "labels"]
"""Kinds of answers, in decreasing order of information."""

KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

_ROUNDING = 0.02
"""Largest deviation from 1 of the sum of two probabilities: a suspect may round to two decimals."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to n instances.

    Attributes
    ----------
    kind
        Kind of the answers.
    values
        votes: (n, m) int64, 0 and 1; probabilities: (n,) float64, of class 1; labels: (n,) int64, 0 and 1.
    ids
        (n,) int64: the numbers of the questions that are answered, from 1; None: they come in order.
    """

    kind: AnswerKind
    values: NDArray[Any]
    ids: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, places: ArrayLike) -> Answers:
        """Return the answers at some places, in their order."""
        return Answers(self.kind, self.values[np.asarray(places, dtype=np.int64)])


def checked_answers(
    kind: AnswerKind,
    values: Any,
    *,
    class_names: tuple[str, str],
    error: type[WmError],
    what: str,
) -> Answers:
    """Check a suspect's answers and bring them into one form.

    Parameters
    ----------
    values
        votes: (n, m) of 0 and 1. probabilities: (n,) of class 1, or (n, 2) of both classes. labels: (n,) of 0
        and 1, or of class names. n and m are at least 1.
    class_names
        Names of classes 0 and 1.
    error
        Type of the exception, with one line of text, for anything else.
    what
        Source of the answers, named in the error.
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as reason:  # rows of different lengths, numbers beyond any type
        raise error(f"{what}: {kind} are not an array: one row for each instance is needed") from reason
    if not array.size:
        raise error(f"{what}: holds no {kind}")
    try:
        match kind:
            case "votes":
                return Answers(kind, _votes(array))
            case "probabilities":
                return Answers(kind, _probabilities(array))
            case "labels":
                return Answers(kind, _labels(array, class_names))
    except ValueError as reason:
        raise error(f"{what}: {reason}") from reason


def model_votes(
    forest: Forest, X: NDArray[np.float32], class_names: tuple[str, str], *, what: str = "the suspect"
) -> NDArray[np.int64]:
    """Return a model's votes as 0 and 1, (n, m), for a model with classes 0 and 1 or the claim's classes.

    Parameters
    ----------
    X : (n, d)
    class_names
        Names of classes 0 and 1 in the claim.
    what
        Name of the model in errors.

    Raises
    ------
    ClaimError
        The model has other classes.
    ModelError
        X does not fit the model.
    """
    classes = forest.classes.tolist()
    names = [name_of(each) for each in classes]
    if classes == [0, 1]:
        codes = [0, 1]
    elif sorted(names) == sorted(class_names):
        codes = [class_names.index(name) for name in names]
    else:
        raise ClaimError(
            f"{what}: has classes {classes}, not 0 and 1, nor {' and '.join(map(repr, class_names))} as the "
            "claim"
        )
    # `vote_codes` are indexes into the forest's classes.
    votes: NDArray[np.int64] = np.array(codes)[forest.vote_codes(X)]
    return votes


def _votes(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.ndim != 2 or array.dtype.kind not in "iufb" or not np.isin(array, (0, 1)).all():
        raise ValueError("votes must be an (instances, trees) array of 0 and 1")
    return array.astype(np.int64)


def _probabilities(array: NDArray[Any]) -> NDArray[np.float64]:
    if not array.ndim or array.shape[1:] not in ((), (1,), (2,)) or array.dtype.kind not in "iuf":
        raise ValueError("probabilities must be one number (of class 1) or two for each instance")
    exact = array.astype(np.float64).reshape(len(array), -1)
    if not ((exact >= 0) & (exact <= 1)).all():
        raise ValueError("probabilities hold a number outside [0, 1]")
    if exact.shape[1] == 2 and (np.abs(exact.sum(axis=1) - 1.0) > _ROUNDING).any():
        raise ValueError("the probabilities of the two classes do not add up to 1")
    found: NDArray[np.float64] = exact[:, -1]
    return found


def _labels(array: NDArray[Any], class_names: tuple[str, str]) -> NDArray[np.int64]:
    flat = array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array
    if flat.ndim == 1 and flat.dtype.kind in "iufbU":
        found = codes_of([name_of(value) for value in flat.tolist()], class_names)
        if found is not None:
            return found
    names = " and ".join(map(repr, class_names))
    raise ValueError(f"labels must be 0 and 1, or {names}, one for each instance")


def codes_of(names: list[str], class_names: tuple[str, str]) -> NDArray[np.int64] | None:
    """Return 0 and 1 for class names, or for the texts 0 and 1: (n,); None if there are other names.

    If a class is itself named 0 or 1, the name counts. In a claim on one class against all others, every
    other name is class 0, if the one class occurs at all: else these may be answers of another task.
    """
    negative, positive = class_names
    coded = set(names) <= {"0", "1"}
    one_against_all = (
        negative == f"not {positive}" and positive in names and (not coded or positive in ("0", "1"))
    )
    if set(names) <= {negative, positive} or one_against_all:
        return np.array([int(name == positive) for name in names], dtype=np.int64)
    return np.array([int(name) for name in names], dtype=np.int64) if coded else None


def name_of(value: Any) -> str:
    """Return a label as text; a whole number is written without a point, as in `wm.datasets`."""
    if isinstance(value, bool):
        return str(int(value))
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()
