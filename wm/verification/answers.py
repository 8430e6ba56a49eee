"""A suspect's answers from a file or the network, checked: votes of each tree, probabilities, or labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


MAX_VOTES = 2**28
"""Largest number of votes that answers may hold: a packed file of some kilobytes can unpack to any number."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to n instances.

    Attributes
    ----------
    kind
        Kind of the answers.
    values
        votes: (n, m) int64, classes 0, 1, ...; probabilities: (n,) float64, of class 1 of two, or (n, c), of
        each class of more; labels: (n,) int64.
    ids
        (n,) int64: the numbers of the questions that are answered, from 1; None: they come in order.
    tree_classes
        (m,) int64, of votes of a boosted model of several classes: the class that each tree votes for (1) or
        against (0); None: votes are classes.
    header
        The first line of their file, if it is a header only because of the number of lines.
    """

    kind: AnswerKind
    values: NDArray[Any]
    ids: NDArray[np.int64] | None = None
    tree_classes: NDArray[np.int64] | None = None
    header: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def take(self, places: ArrayLike) -> Answers:
        """Return the answers at some places, in their order."""
        return replace(self, values=self.values[np.asarray(places, dtype=np.int64)], ids=None)

    def shares(self, classes: int) -> NDArray[np.float64]:
        """Return for each row and class the share of votes, the probability, or 1 for its label: (n, c)."""
        if self.kind == "probabilities":
            exact = self.values.astype(np.float64)
            return exact if exact.ndim == 2 else np.stack([1.0 - exact, exact], axis=1)
        if self.tree_classes is not None:
            own = (self.tree_classes == code for code in range(classes))
            return np.stack([self.values[:, trees].mean(axis=1) for trees in own], axis=1)
        each = self.values.reshape(len(self.values), -1)
        return np.stack([(each == code).mean(axis=1) for code in range(classes)], axis=1)

    def wrong(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each row the share of wrong votes, the probability of wrong classes, or 0 or 1: (n,)."""
        if self.kind != "probabilities":
            off: NDArray[np.float64] = self.wrong_votes(labels).mean(axis=1).astype(np.float64)
            return off
        if self.values.ndim == 1:
            return np.where(labels == 1, 1.0 - self.values, self.values)
        of_label: NDArray[np.float64] = 1.0 - self.values[np.arange(len(labels)), labels]
        return of_label

    def wrong_votes(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which votes, or labels, are wrong: (n, m) or (n, 1).

        A tree that votes for or against a class is wrong where it votes against the row's own or for another.
        """
        values = self.values.reshape(len(labels), -1)
        if self.tree_classes is None:
            wrong: NDArray[np.bool_] = values != labels[:, None]
        else:
            wrong = (values == 1) != (labels[:, None] == self.tree_classes)
        return wrong


def checked_answers(
    kind: AnswerKind, values: Any, *, class_names: tuple[str, ...], error: type[WmError], what: str
) -> Answers:
    """Check a suspect's answers and bring them into one form.

    Parameters
    ----------
    values
        votes: (n, m) of 0, 1, .... probabilities: (n, c) of each class; of two classes also (n,) of class 1.
        labels: (n,) of 0, 1, ..., or of class names. n and m are at least 1.
    class_names
        Names of classes 0, 1, ....
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
                return Answers(kind, _votes(array, len(class_names)))
            case "probabilities":
                return Answers(kind, _probabilities(array, len(class_names)))
            case "labels":
                return Answers(kind, _labels(array, class_names))
    except ValueError as reason:
        raise error(f"{what}: {reason}") from reason


def model_votes(
    forest: Forest, X: NDArray[np.float32], class_names: tuple[str, ...], *, what: str = "the suspect"
) -> NDArray[np.int64]:
    """Return a model's votes as 0, 1, ..., (n, m), for a model with these classes or the claim's by name.

    Parameters
    ----------
    X : (n, d)
    class_names
        Names of classes 0, 1, ... in the claim.
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
    if classes == list(range(len(class_names))):
        codes = classes
    elif sorted(names) == sorted(class_names):
        codes = [class_names.index(name) for name in names]
    else:
        raise ClaimError(
            f"{what}: has classes {classes}, not {numbers_of(len(class_names))}, nor "
            f"{' and '.join(map(repr, class_names))} as the claim"
        )
    # `vote_codes` are indexes into the forest's classes.
    votes: NDArray[np.int64] = np.array(codes)[forest.vote_codes(X)]
    return votes


def numbers_of(classes: int) -> str:
    """Return the codes of classes in words: "0 and 1", or "0 to 9"."""
    return "0 and 1" if classes == 2 else f"0 to {classes - 1}"


def _votes(array: NDArray[Any], classes: int) -> NDArray[np.int64]:
    if array.size > MAX_VOTES:
        raise ValueError(f"{array.size} votes are more than the {MAX_VOTES} that are judged")
    if array.ndim != 2 or array.dtype.kind not in "iufb" or not np.isin(array, np.arange(classes)).all():
        raise ValueError(f"votes must be an (instances, trees) array of {numbers_of(classes)}")
    return array.astype(np.int64)


def _probabilities(array: NDArray[Any], classes: int) -> NDArray[np.float64]:
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (2,)) if classes == 2 else ((classes,),)
    if not array.ndim or array.shape[1:] not in shapes or array.dtype.kind not in "iuf":
        wanted = "one number (of class 1) or two" if classes == 2 else f"{classes} numbers"
        raise ValueError(f"probabilities must be {wanted} for each instance")
    exact = array.astype(np.float64).reshape(len(array), -1)
    if not ((exact >= 0) & (exact <= 1)).all():
        raise ValueError("probabilities hold a number outside [0, 1]")
    if exact.shape[1] > 1 and (np.abs(exact.sum(axis=1) - 1.0) > most_rounded(classes)).any():
        raise ValueError(
            f"the probabilities of the {'two' if classes == 2 else classes} classes do not add up to 1"
        )
    found: NDArray[np.float64] = exact[:, -1] if classes == 2 else exact
    return found


def most_rounded(classes: int) -> float:
    """Return the largest deviation from 1 of a sum of probabilities, each rounded."""
    return _ROUNDING * classes / 2


def _labels(array: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[np.int64]:
    flat = array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array
    if flat.ndim == 1 and flat.dtype.kind in "iufbU":
        found = codes_of([name_of(value) for value in flat.tolist()], class_names)
        if found is not None:
            return found
    names = " and ".join(map(repr, class_names))
    raise ValueError(f"labels must be {numbers_of(len(class_names))}, or {names}, one for each instance")


def codes_of(names: list[str], class_names: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return 0, 1, ... for class names, or for these numbers as text: (n,); None if there are other names.

    If classes are themselves named by numbers, the names count. In a claim on one class against all others,
    every other name is class 0, if the one class occurs at all: else these may be answers of another task.
    """
    places = {name: place for place, name in enumerate(class_names)}
    codes = [str(place) for place in range(len(class_names))]
    coded = set(names) <= set(codes)
    positive = class_names[1]
    one_against_all = (
        class_names == (f"not {positive}", positive)
        and positive in names
        and (not coded or positive in codes)
    )
    if set(names) <= set(places) or one_against_all:
        return np.array([places.get(name, 0) for name in names], dtype=np.int64)
    return np.array([int(name) for name in names], dtype=np.int64) if coded else None


def name_of(value: Any) -> str:
    """Return a label as text; a whole number is written without a point, as in `wm.datasets`."""
    if isinstance(value, bool):
        return str(int(value))
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()
