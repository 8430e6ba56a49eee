"""Encoding of text, numbers or booleans as classes 0, 1, ...."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.document import MAX_CLASSES
from wm.datasets.columns import is_missing
from wm.datasets.wording import Naming, as_key, shown
from wm.errors import DataError, WmError


@dataclass(frozen=True, eq=False)
class Labels:
    """The class of each row."""

    codes: NDArray[np.int64]
    """(n,), index into `classes`."""
    classes: tuple[str, ...]
    """Names of the classes, in order: numeric order if all are numbers, else alphabetical."""


def is_unlabelled(label: str, positive: str | None) -> bool:
    """Return whether a label is spelt as a missing cell, and is not the class that is asked for as such."""
    return is_missing(label) and (not label or label != positive)


def encode_labels(
    values: NDArray[Any],
    *,
    where: str,
    naming: Naming | None = None,
    positive: str | None = None,
    literal: bool = False,
) -> Labels:
    """Return the classes of labels given as text, numbers or booleans.

    Text is stripped; if every label is a number, "1", "+1" and "1.0" are the same class, named "1".

    Parameters
    ----------
    values
        (n,) array of labels.
    where
        Name of the source in errors.
    naming
        How errors name options; None if there is no option to leave out rows without labels.
    positive
        A label that is a class even if it is spelt as a missing cell.
    literal
        Whether all text but the empty one is a class.

    Raises
    ------
    DataError
        A label is missing, NaN or infinite, or not text, number or boolean.
    """
    kind = values.dtype.kind
    if kind not in "biufUO":
        raise DataError(f"{where}: labels of type {values.dtype} are neither numbers nor text")
    if kind in "UO":
        values = np.array([str(value).strip() for value in values], dtype=np.str_)
        texts, places = np.unique(values, return_inverse=True)
        of_texts = [not text if literal else is_unlabelled(text, positive) for text in texts.tolist()]
        bad = np.array(of_texts, dtype=np.bool_)[places]
    else:
        bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        advice = f" with {naming('missing', 'drop')}" if naming is not None else ""
        if naming is not None and (text := str(values[row])):
            advice += f", or take {text!r} for a class with {naming('positive', text)}"
        raise DataError(
            f"{where}: row {row + 1}: the label is missing or not finite "
            f"({int(bad.sum())} such rows in all): leave those rows out{advice}"
        )
    unique, codes = np.unique(values, return_inverse=True)
    names = tuple(map(str, unique.tolist()))
    numbers = [_number(name) for name in names]
    if kind in "biu" or None in numbers:
        return Labels(codes.astype(np.int64), names)
    distinct, merged = np.unique(np.array(numbers, dtype=np.float64), return_inverse=True)
    return Labels(merged[codes].astype(np.int64), tuple(_number_name(value) for value in distinct.tolist()))


def coded(labels: NDArray[Any], *, error: type[WmError]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes of labels, (n,), as a caller in Python gave them, and the code of each label.

    Raises
    ------
    error
        A label is missing, or the labels are of types without an order among them.
    """
    import pandas as pd

    if lacking := int(pd.isna(labels).sum()):
        raise error(f"{lacking} of {len(labels)} labels are missing: leave these rows out")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as reason:
        types = " and ".join(sorted({type(each).__name__ for each in labels.tolist()}))
        raise error(f"the labels are of types {types}: give all of one type, as y.astype(str)") from reason
    return classes, codes.astype(np.int64)


def chosen_classes(
    labels: Labels, *, positive: str | None, where: str, naming: Naming = as_key
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return y, (n,), and the names of its classes 0, 1, ...: those that occur, or `positive` and all others.

    Raises
    ------
    DataError
        There is one class only, there are more than `MAX_CLASSES` and no `positive`, or `positive` is not
        among them.
    """
    present = np.bincount(labels.codes, minlength=len(labels.classes)) > 0
    classes = [name for name, occurs in zip(labels.classes, present, strict=True) if occurs]
    if len(classes) == 1:
        raise DataError(f"{where}: all rows have the same label {classes[0]!r}: two classes are needed")
    if positive is None:
        if len(classes) > MAX_CLASSES:
            raise DataError(
                f"{where}: {len(classes)} classes, {shown(classes)}: a model has at most {MAX_CLASSES}; say "
                f"which one counts as 1 against all others with {naming('positive', None)}"
            )
        places: NDArray[np.int64] = np.cumsum(present) - 1
        return places[labels.codes], tuple(classes)
    positive_name = _match(positive, classes, where, naming)
    others = [name for name in classes if name != positive_name]
    negative_name = others[0] if len(others) == 1 else f"not {positive_name}"
    y = (labels.codes == labels.classes.index(positive_name)).astype(np.int64)
    return y, (negative_name, positive_name)


def _match(positive: str, classes: Sequence[str], where: str, naming: Naming) -> str:
    stripped = positive.strip()
    if stripped in classes:
        return stripped
    number = _number(stripped)
    if number is not None and (name := _number_name(number)) in classes:
        return name
    raise DataError(f"{where}: {naming('positive', positive)} is not one of the classes {shown(classes)}")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _number_name(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
