"""All that scikit-learn's trees hold, as `wm.attacks.leakage.inspect` takes it: in memory and as npz."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats import npz, sklearn_trees
from wm.formats.bounded import read_bounded

REQUIRED = ("offset", "left", "right", "feature", "threshold", "value")
"""Names of the arrays that every forest has."""


@dataclass(frozen=True, eq=False)
class TreeMetadata:
    """The arguments of `inspect`, with its shapes; None for an array that a model does not have."""

    offset: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    """All six as in `wm.forest.Forest`."""
    impurity: NDArray[np.float64] | None = None
    n_node_samples: NDArray[np.int64] | None = None
    weighted_n_node_samples: NDArray[np.float64] | None = None
    """(nodes,) or None."""
    random_state: NDArray[np.int64] | None = None
    """(m,) or None."""

    def to_bytes(self) -> bytes:
        """Return the arrays as npz, which `parse_arrays` reads."""
        return npz.pack({name: array for name, array in self.arguments().items() if array is not None})

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `inspect`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def read_arrays(path: str | Path, *, prefix: str | None = None) -> TreeMetadata:
    """Read one forest's arrays; nothing in the file is ever unpickled.

    Parameters
    ----------
    path
        An npz file with arrays ``<prefix>offset``, ``<prefix>left``, ... (see `TreeMetadata`); a forest
        saved by `Forest.save` is such a file, with an empty prefix and no counts.
    prefix
        Chooses a forest if the file holds several.

    Raises
    ------
    ModelError
        No such file, damaged or hostile bytes, no forest of that prefix, or several and none chosen.
    """
    data = read_bounded(path, error=ModelError, max_bytes=npz.MAX_BYTES, kind="a model file")
    return parse_arrays(data, what=str(path), prefix=prefix)


def parse_arrays(data: bytes, *, what: str, prefix: str | None = None) -> TreeMetadata:
    """Read one forest's arrays from the bytes of an npz file named `what`; errors as in `read_arrays`."""
    arrays = npz.unpack(data, error=ModelError, what=what)
    starts = {name.removesuffix("offset") for name in arrays if name.endswith("offset")}
    found = sorted(start for start in starts if all(start + name in arrays for name in REQUIRED))
    known = ", ".join(map(repr, found))
    if not found:
        raise ModelError(f"{what}: holds no forest: the arrays {', '.join(REQUIRED)} are needed")
    if prefix is None and len(found) > 1:
        raise ModelError(f"{what}: holds several forests: choose a prefix among {known}")
    chosen = found[0] if prefix is None else prefix
    if chosen not in found:
        raise ModelError(f"{what}: holds no forest with prefix {chosen!r}, only {known}")
    names = TreeMetadata.__dataclass_fields__
    return TreeMetadata(**{name: arrays[chosen + name] for name in names if chosen + name in arrays})


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
