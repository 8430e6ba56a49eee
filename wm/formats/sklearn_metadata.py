"""All attributes of scikit-learn's trees, as `wm.attacks.leakage.inspect` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats import npz, sklearn_trees

REQUIRED = ("offset", "left", "right", "feature", "threshold", "value")
"""Names of the arrays that every forest has."""


@dataclass(frozen=True, eq=False)
class TreeMetadata:
    """The arguments of `inspect`, with its shapes; None for an array that a model does not have.

    Attributes
    ----------
    offset, left, right, feature, threshold, value
        As in `wm.forest.Forest`.
    impurity, n_node_samples, weighted_n_node_samples : (nodes,) or None
    random_state : (m,) or None
    """

    offset: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    impurity: NDArray[np.float64] | None = None
    n_node_samples: NDArray[np.int64] | None = None
    weighted_n_node_samples: NDArray[np.float64] | None = None
    random_state: NDArray[np.int64] | None = None

    def to_bytes(self) -> bytes:
        """Return the arrays as npz, which `wm.formats.npz_arrays` reads."""
        return npz.pack({name: array for name, array in self.arguments().items() if array is not None})

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `inspect`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def from_model(model: Any) -> TreeMetadata:
    """Read a fitted scikit-learn model that is already in memory.

    Parameters
    ----------
    model
        As in `wm.forest.Forest.from_sklearn`.

    Raises
    ------
    ModelError
        A path or bytes, which may hold a pickle, or a model that `Forest.from_sklearn` refuses.
    """
    if isinstance(model, str | bytes | bytearray | PathLike):
        raise ModelError(
            "a file is not read here: pickled and joblib files run code when loaded; load one that you "
            "trust yourself and give the model"
        )
    arrays = sklearn_trees.arrays(model)
    estimators, _ = sklearn_trees.trees_and_classes(model)
    parts = [estimator.tree_ for estimator in estimators]
    seeds = [estimator.random_state for estimator in estimators]
    numbers = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) for seed in seeds)
    return TreeMetadata(
        **{name: arrays[name] for name in REQUIRED},
        impurity=np.concatenate([part.impurity for part in parts]),
        n_node_samples=np.concatenate([part.n_node_samples for part in parts]),
        weighted_n_node_samples=np.concatenate([part.weighted_n_node_samples for part in parts]),
        random_state=np.array(seeds, dtype=np.int64) if numbers else None,
    )
