"""The owner's procedure for scheme `boosted`: a claim's draw trained into a model, as XGBoost's json."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm import streams
from wm.boosting import outputs
from wm.claims.beacons.base import Receipt
from wm.claims.pooled import PooledClaim
from wm.codebook import BOOSTED, Codebook
from wm.embedding.boosted.marked import MarkedModel, mark
from wm.embedding.drawn_claims import drawn_rows
from wm.embedding.options import GradientOptions
from wm.errors import EmbeddingError, ModelError
from wm.interface import Owned, claimed_interface
from wm.models import TreeModel
from wm.streams import Role
from wm.verification.evidence import DEFAULT_LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class OwnedBoosted(Owned, MarkedModel):
    """A watermarked boosted model and what its owner keeps.

    Attributes
    ----------
    claim
        With the beacons' receipts: secret.
    """

    claim: PooledClaim

    @property
    def importances(self) -> NDArray[np.float64]:
        """Mean impurity decrease of the trees as trained, by feature: (d,)."""
        return self.boosted.importances

    def save(self, path: str | Path) -> None:
        """Write what is to be released; errors as in `write_released`."""
        write_released(path, self.content)


def write_released(path: str | Path, content: bytes) -> None:
    """Write the json of a model; raise `ModelError` for an ending other than .json, or a bad path."""
    if Path(path).suffix != ".json":
        raise ModelError(f"{path}: a boosted model is written as XGBoost's json: it must end in .json")
    try:
        Path(path).write_bytes(content)
    except OSError as reason:
        raise ModelError(f"{path}: cannot be written ({reason.strerror})") from reason


def trees_of_rounds(scheme: str, rounds: int, classes: int) -> int:
    """Return m for an owner's number of trees: in scheme boosted these are rounds, of a tree an output."""
    return rounds * outputs(classes) if scheme == BOOSTED else rounds


def embed_boosted(
    claim: PooledClaim,
    receipts: Sequence[Receipt],
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    options: GradientOptions,
    max_depth: int | None = None,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    level: float = DEFAULT_LEVEL,
    on_tree: Callable[[int], None] | None = None,
) -> OwnedBoosted:
    """Train the boosted model that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,), sample_weight : (n,)
        The training rows, and perhaps their weights; the claim's pool must be among them.
    options
        How the trees are made to fit; the share of rows is the claim's.
    max_depth
        Of each tree; None: `wm.embedding.options.DEFAULT_DEPTH`.
    seed
        Of the training.
    level
        Largest p-value with which the watermark counts as shown.
    on_tree
        Called after each tree with the number of trees that are left.

    Raises
    ------
    ClaimError
        Receipts of another claim, or none.
    EmbeddingError
        A claim of another scheme, other training rows than the claim's, or a watermark that does not show.
    """
    if claim.header.scheme != BOOSTED:
        raise EmbeddingError(f"the claim is of scheme {claim.header.scheme}, not boosted")
    found = drawn_rows(claim, receipts, X, y)
    if not isinstance(found.signature, Codebook):
        raise EmbeddingError("scheme boosted needs a row of bits for each trigger row")
    marked = mark(
        X,
        y,
        found.trigger_rows,
        found.signature,
        options=options,
        max_depth=max_depth,
        seed=streams.integer_seed(seed, Role.OWNER_TREES_WRONG, 0),
        sample_weight=sample_weight,
        feature_names=(header := claim.header).feature_names,
        interface=claimed_interface(header.class_names, header.feature_names, header.preparation),
        on_tree=on_tree,
    )
    made = OwnedBoosted(marked.task, marked.boosted, marked.content, marked.codebook, found.claim)
    evidence = made.evidence
    if evidence.log10_p > math.log10(level):
        raise EmbeddingError(
            f"the watermark does not show: the trees have {evidence.matched_bits} of {evidence.total_bits} "
            f"bits, p = 10^{evidence.log10_p:.1f}: raise max_weight, the depth or the number of trees"
        )
    return made


def accuracy(model: TreeModel, X: ArrayLike, y: ArrayLike) -> float:
    """Return the share of instances whose most probable class is right."""
    return float((model.predict(X) == np.asarray(y)).mean())
