"""Rows prepared as a scikit-learn pipeline prepares them before its trees see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.fields import shown

if TYPE_CHECKING:
    import pandas as pd


def prepared(preparation: Any, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the trees' input, (n, k), of a frame of n raw rows.

    Columns go by name if the pipeline was fitted on a frame, else by place.

    Parameters
    ----------
    preparation
        All steps of a fitted pipeline but the last.

    Raises
    ------
    ModelError
        Columns that the pipeline lacks, or rows that it cannot prepare; one line.
    """
    names = getattr(preparation, "feature_names_in_", None)
    try:
        if names is None:
            found = preparation.transform(frame.to_numpy(dtype=np.float64))
        else:
            found = preparation.transform(frame[[str(name) for name in names]])
        dense = found.toarray() if hasattr(found, "toarray") else found
        return np.asarray(dense, dtype=np.float64)
    except Exception as reason:  # whatever a step raises for rows that it does not know
        text = shown(f"{type(reason).__name__}: {reason}".splitlines()[0])
        raise ModelError(f"the pipeline cannot prepare these rows ({text})") from reason
