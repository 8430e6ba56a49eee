"""Reader of decoys: labelled rows in a file, as `wm embed` reads training data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wm.claims.claim import Claim
from wm.claims.opening import Opening
from wm.errors import ClaimError
from wm.verification.answers import codes_of
from wm.verification.questions import Decoys


def read_decoys(path: Path, claim: Claim | Opening, *, label: str | int | None = None) -> Decoys:
    """Read decoys for a claim's rows.

    Parameters
    ----------
    path
        A csv, npz (``X`` and ``y``) or svmlight file with rows scaled as the model takes them.
    label
        csv: the label's column, by name or by index from 0. npz: the array's name, if not ``y``.

    Raises
    ------
    DataError
        The file holds no labelled rows of numbers.
    ClaimError
        Labels other than 0 and 1 or the claim's class names, or numbers that are not finite.
    """
    from wm.datasets.cache import default_data_dir
    from wm.datasets.files import read_file

    table = read_file(path, default_data_dir(), label=label, header=None)
    names = [table.labels.classes[code] for code in table.labels.codes]
    y = codes_of(names, claim.class_names)
    if y is None:
        raise ClaimError(
            f"{path}: has labels {', '.join(sorted(set(names))[:5])}; 0 and 1, or "
            f"{' and '.join(map(repr, claim.class_names))} are needed"
        )
    with np.errstate(over="ignore"):
        X = table.X.astype(np.float32)
    if not np.isfinite(X).all():
        raise ClaimError(f"{path}: holds a number that is missing or not finite in float32")
    return Decoys(X, y)
