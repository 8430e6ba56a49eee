"""The context of a line-up: training rows, settings and library versions, in one canonical form and hash.

    context = SHA-256("treeproof/context/v1" || 0x00 || u64(n) || u64(d) || rows || labels || settings)

Rows are little-endian float32, -0.0 as 0.0, sorted by their values and then by label, so that the order in
which they were stored does not matter; labels a byte each; settings canonical JSON of training options,
trees, library versions and model identifier. Trees are trained on the rows in this order.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.commitment import whole
from wm.claims.lineup import Drawn, LineupHeader, drawn_value
from wm.claims.lineup_keys import tree_seed
from wm.claims.lineup_settings import Settings
from wm.embedding.merging import row_order
from wm.errors import ClaimError, EmbeddingError

_VERSION = re.compile(r"[0-9A-Za-z.+_-]{1,40}")

LIBRARIES = ("scikit-learn", "numpy")
"""They grow trees and draw their random numbers: another version may grow another tree of the same seed."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows in the order in which trees are trained on them: that of `canonical_rows`.

    Attributes
    ----------
    X : (n, d) float32
        In C order.
    y : (n,)
        0 or 1.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]


def canonical_rows(X: NDArray[np.float32], y: NDArray[np.int64]) -> TrainingRows:
    """Sort rows by their values, the first feature first, then by label.

    Raises
    ------
    EmbeddingError
        Values that are not finite, or labels other than 0 and 1, both present.
    """
    if y.max(initial=0) > 1:
        raise EmbeddingError(
            f"scheme lineup compares models of two classes, these rows have {y.max() + 1}: set one against "
            "all others, or use another scheme"
        )
    if not np.isfinite(X).all() or set(np.unique(y).tolist()) != {0, 1}:
        raise EmbeddingError("training rows must be finite, with labels 0 and 1, both of them present")
    plain = X.astype(np.float32, copy=False)
    order, _ = row_order(plain, y)
    rows = np.ascontiguousarray(plain[order])
    rows += np.float32(0.0)
    return TrainingRows(rows, y[order].astype(np.int64))


def context_hash(
    rows: TrainingRows, training: Settings, *, trees: int, model_id: str, environment: dict[str, str]
) -> bytes:
    """Return the context's hash, 32 bytes."""
    settings: dict[str, Any] = {
        "training": training.model_dump(mode="json"),
        "trees": trees,
        "model_id": model_id,
        "environment": environment,
    }
    digest = hashlib.sha256(b"treeproof/context/v1\x00" + whole(rows.X.shape[0]) + whole(rows.X.shape[1]))
    digest.update(np.ascontiguousarray(rows.X, dtype="<f4").data)
    digest.update(rows.y.astype(np.uint8).data)
    digest.update(json.dumps(settings, sort_keys=True, separators=(",", ":")).encode())
    return digest.digest()


def environment() -> dict[str, str]:
    """Return the versions of `LIBRARIES` in this process."""
    return {name: version(name) for name in LIBRARIES}


def owner_seeds(claim: Drawn, rows: TrainingRows) -> dict[int, int]:
    """Return the seeds of the owner's trees or rounds by position, ascending; of an opening those it shows.

    Raises
    ------
    ClaimError
        A claim without draw, or what `check_context` refuses.
    """
    check_context(claim.header, rows)
    value, _ = drawn_value(claim)
    context = bytes.fromhex(claim.header.context)
    return {position: tree_seed(key, context, position) for position, key in claim.keys(value).items()}


def check_context(header: LineupHeader, rows: TrainingRows) -> None:
    """Refuse to retrain a claim's trees in another environment, or on other rows.

    Raises
    ------
    ClaimError
        Other library versions, where the text says how to get the right ones, or other training rows.
    """
    _check_environment(header)
    found = context_hash(
        rows, header.training, trees=header.trees, model_id=header.model_id, environment=header.environment
    )
    if found.hex() != header.context:
        raise ClaimError(
            f"these {len(rows.y)} rows of {rows.X.shape[1]} features are not those that the claim's forest "
            "was trained on: give the same file, with its rows and columns in the same order"
        )


def _check_environment(header: LineupHeader) -> None:
    here = environment()
    if here == header.environment:
        return
    # The claim's text goes into a command that the judge is told to run.
    for name, number in header.environment.items():
        if name not in here or not _VERSION.fullmatch(number):
            raise ClaimError(f"the claim's environment names {name[:40]!r} {number[:40]!r}: no such library")
    wanted = " ".join(f"{name}=={number}" for name, number in sorted(header.environment.items()))
    found = ", ".join(f"{name} {number}" for name, number in sorted(here.items()))
    raise ClaimError(
        f"the claim's trees were trained with {wanted}, here are {found}: equal seeds may give other trees. "
        f"Judge it where these are installed: python -m venv judge; judge/bin/pip install treeproof "
        f"{wanted}; judge/bin/wm verify ..."
    )
