"""A forest as npz bytes, with schema version and content hash; nothing in it is unpickled.

Version 1 holds the arrays that every forest has. A forest that says where missing values go, or compares
float64 numbers, is of version 2: readers of version 1 would answer otherwise, so they refuse it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats import npz

if TYPE_CHECKING:
    from wm.forest import Forest

ARRAYS = ("offset", "left", "right", "feature", "threshold", "value", "classes")
"""Names of the arrays that every forest has, as in `wm.forest.Forest`."""

ZIP_OVERHEAD = 2**16
"""Upper bound on the size of the zip's own records in a forest file."""

_VERSIONS = (1, 2)

_LONGEST_NAME = 20
"""Characters of an input type that an error repeats."""


def contents(forest: Forest) -> dict[str, NDArray[Any]]:
    """Return what the content hash covers."""
    arrays = {name: getattr(forest, name) for name in ARRAYS} | {"n_features": np.array(forest.n_features)}
    if forest.missing_left is not None:
        arrays["missing_left"] = forest.missing_left
    if forest.input_dtype != "float32":
        arrays["input_dtype"] = np.array(forest.input_dtype)
    return arrays


def pack(forest: Forest, **others: NDArray[Any]) -> bytes:
    """Return a forest as npz bytes, with other arrays beside its own."""
    arrays = contents(forest)
    header = {
        "schema_version": np.array(1 if arrays.keys() == {*ARRAYS, "n_features"} else 2),
        "content_hash": np.frombuffer(bytes.fromhex(forest.content_hash), dtype=np.uint8),
    }
    return npz.pack(header | arrays | others)


def unpack(data: bytes, *, what: str, max_bytes: int) -> tuple[dict[str, Any], str]:
    """Return the arguments of `Forest.from_arrays` from npz bytes, and the content hash that they state.

    Raises
    ------
    ModelError
        Damaged or hostile bytes, or another schema version; `what` names the file.
    """
    arrays = npz.unpack(data, error=ModelError, what=what, max_bytes=max_bytes)
    wanted = {"schema_version", "content_hash", "n_features", *ARRAYS}
    if missing := sorted(wanted - arrays.keys()):
        raise ModelError(f"{what}: not a forest file: it lacks {', '.join(missing)}")
    version, n_features = (_whole_number(arrays[name]) for name in ("schema_version", "n_features"))
    if version not in _VERSIONS:
        found = "version" if version is None else version
        raise ModelError(f"{what}: forest schema {found} is not 1 or 2, those read here")
    if n_features is None:
        raise ModelError(f"{what}: n_features is not a whole number")
    arguments: dict[str, Any] = {name: arrays[name] for name in ARRAYS} | {"n_features": n_features}
    if version == 2:
        if not arrays.keys() & {"missing_left", "input_dtype"}:
            raise ModelError(f"{what}: not a forest file of version 2: it lacks missing_left and input_dtype")
        arguments["missing_left"] = arrays.get("missing_left")
        arguments["input_dtype"] = str(arrays.get("input_dtype", "float32"))[:_LONGEST_NAME]
    return arguments, arrays["content_hash"].tobytes().hex()


def _whole_number(array: NDArray[Any]) -> int | None:
    return int(array) if array.shape == () and array.dtype.kind in "iu" else None
