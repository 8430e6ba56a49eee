"""Class labels of exported models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest
from wm.interface import Interface


def class_labels(forest: Forest, interface: Interface | None) -> NDArray[Any]:
    """Return the names of the classes, in order, whole numbers as such; else the forest's own values.

    Libraries want ascending labels. Names that are not keep the forest's values: another order of the classes
    would break ties of votes otherwise.
    """
    if interface is None:
        return forest.classes
    names = interface.class_names
    labels = np.array(names)
    if all(name == str(_whole(name)) for name in names):
        labels = np.array([_whole(name) for name in names], dtype=np.int64)
    return labels if bool((labels[:-1] < labels[1:]).all()) else forest.classes


def _whole(name: str) -> int | None:
    try:
        return int(name)
    except ValueError:
        return None
