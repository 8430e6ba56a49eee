"""The owner's procedure for scheme `boosted`: a claim's draw trained into a model, as XGBoost's json."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm import streams
from wm.claims.beacons.base import Receipt
from wm.claims.pooled import PooledClaim
from wm.codebook import BOOSTED, Codebook
from wm.embedding.boosted.rounds import Boosted, BoostingTask, boost
from wm.embedding.claimed import pool_places
from wm.embedding.options import DEFAULT_DEPTH, BoostedOptions
from wm.errors import EmbeddingError, ModelError
from wm.exporting.xgboost_model import write_margins
from wm.formats import xgboost_file
from wm.models import TreeModel
from wm.streams import Role
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, verify
from wm.verification.samples import drawn, ordered_receipts


@dataclass(frozen=True, eq=False)
class OwnedBoosted:
    """A watermarked boosted model and what its owner keeps.

    Attributes
    ----------
    content
        XGBoost's json of the model: to be released.
    model
        The same, read again.
    claim
        With the beacons' receipts: secret.
    boosted
        As trained: secret.
    codebook
        As drawn: secret.
    evidence
        Of the signs of the trees' margins on the drawn rows.
    plain
        The model of the same settings without a watermark.
    """

    content: bytes
    model: TreeModel
    claim: PooledClaim
    boosted: Boosted
    codebook: Codebook
    evidence: Evidence
    plain: TreeModel

    def save(self, path: str | Path) -> None:
        """Write what is to be released; raise `ModelError` for an ending other than .json, or a bad path."""
        if Path(path).suffix != ".json":
            raise ModelError(f"{path}: a boosted model is written as XGBoost's json: it must end in .json")
        try:
            Path(path).write_bytes(self.content)
        except OSError as reason:
            raise ModelError(f"{path}: cannot be written ({reason.strerror})") from reason


def embed_boosted(
    claim: PooledClaim,
    receipts: Sequence[Receipt],
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    options: BoostedOptions,
    max_depth: int | None = None,
    seed: int,
    on_tree: Callable[[int], None] | None = None,
) -> OwnedBoosted:
    """Train the boosted model that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows; the claim's pool must be among them.
    options
        How the trees are made to fit; the share of rows is the claim's.
    max_depth
        Of each tree; None: `DEFAULT_DEPTH`.
    seed
        Of the training.
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
    complete = claim.model_copy(update={"receipts": ordered_receipts(claim, receipts)})
    found, _ = drawn(complete)
    codebook = found.signature
    if not isinstance(codebook, Codebook):
        raise EmbeddingError("scheme boosted needs a row of bits for each trigger row")
    places = pool_places(claim, X, y)
    rows = np.array([places[index] for index in found.triggers], dtype=np.int64)
    task = BoostingTask(
        X=X,
        y=y,
        trigger_rows=rows,
        wanted=(y[rows] == 1)[:, None] != codebook.wanted(len(rows)),
        max_depth=DEFAULT_DEPTH if max_depth is None else max_depth,
        options=options,
        seed=streams.integer_seed(seed, Role.OWNER_TREES_WRONG, 0),
    )
    boosted = boost(task, on_tree)
    content = write_margins(boosted.model, claim.header.feature_names)
    model = xgboost_file.read(content)
    evidence = verify(model.forest.vote_codes(X[rows]), y[rows], codebook)
    if evidence.log10_p > math.log10(DEFAULT_LEVEL):
        raise EmbeddingError(
            f"the watermark does not show: the trees have {evidence.matched_bits} of {evidence.total_bits} "
            f"bits, p = 10^{evidence.log10_p:.1f}: raise max_weight, the depth or the number of trees"
        )
    return OwnedBoosted(content, model, complete, boosted, codebook, evidence, plain_model(task))


def plain_model(task: BoostingTask) -> TreeModel:
    """Return the model of a task without its trigger rows."""
    none = np.zeros(0, dtype=np.int64)
    wanted = np.zeros((0, task.wanted.shape[1]), dtype=bool)
    plain = BoostingTask(task.X, task.y, none, wanted, task.max_depth, task.options, task.seed)
    return boost(plain).model


def accuracy(model: TreeModel, X: ArrayLike, y: ArrayLike) -> float:
    """Return the share of instances whose most probable class is right."""
    return float((model.predict(X) == np.asarray(y)).mean())
