"""The order of trees in boosted models: rounds, with a tree for each output in each of them.

A model of two classes has one output, the margin of class 1; of more classes each has an output of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def outputs(classes: int) -> int:
    """Return the number of outputs, and so of trees a round, of a model of so many classes."""
    return 1 if classes == 2 else classes


def tree_classes(trees: int, classes: int) -> NDArray[np.int64]:
    """Return the class that each tree is for: (m,); its margin raises that class above the others."""
    return np.ones(trees, dtype=np.int64) if classes == 2 else np.arange(trees) % classes
