"""A boosted model that follows a codebook on its trigger rows, as it is released: XGBoost's json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.codebook import Codebook
from wm.embedding.boosted.rounds import Boosted, BoostingTask, boost, wanted_votes
from wm.embedding.options import DEFAULT_DEPTH, GradientOptions
from wm.exporting.xgboost_model import write_margins
from wm.formats import xgboost_file
from wm.interface import Interface
from wm.models import TreeModel
from wm.verification.boosted import wrong_signs
from wm.verification.evidence import Evidence, verify


@dataclass(frozen=True, eq=False)
class MarkedModel:
    """A boosted model with a watermark.

    Attributes
    ----------
    task, boosted
        What was trained, and as it was trained: secret.
    content
        XGBoost's json of the model: to be released.
    codebook
        Its bits on the trigger rows: secret.
    """

    task: BoostingTask
    boosted: Boosted
    content: bytes
    codebook: Codebook

    @cached_property
    def model(self) -> TreeModel:
        """The released file, read again."""
        return xgboost_file.read(self.content)

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence of the signs of the trees' margins on the trigger rows."""
        rows = self.task.trigger_rows
        wrong = wrong_signs(self.model, self.task.X[rows], self.task.y[rows])
        return verify(wrong.astype(np.int64), np.zeros(len(rows), dtype=np.int64), self.codebook)

    @cached_property
    def plain(self) -> TreeModel:
        """The model of the same settings without a watermark, trained on first use."""
        return plain_model(self.task)


def mark(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    trigger_rows: Sequence[int] | NDArray[np.int64],
    codebook: Codebook,
    *,
    options: GradientOptions,
    max_depth: int | None = None,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    feature_names: Sequence[str] = (),
    interface: Interface | None = None,
    on_tree: Callable[[int], None] | None = None,
) -> MarkedModel:
    """Train a boosted model whose trees show the bits of a codebook on the trigger rows.

    Parameters
    ----------
    X : (n, d), y : (n,), trigger_rows : (k,), sample_weight : (n,)
        As in `BoostingTask`.
    max_depth
        Of each tree; None: `DEFAULT_DEPTH`.
    feature_names, interface
        Written into the file.
    on_tree
        Called after each tree with the number of trees that are left.

    Raises
    ------
    EmbeddingError
        As in `boost`.
    """
    rows = np.asarray(trigger_rows, dtype=np.int64)
    task = BoostingTask(
        X=X,
        y=y,
        trigger_rows=rows,
        wanted=wanted_votes(codebook, y[rows], int(y.max(initial=0)) + 1),
        max_depth=DEFAULT_DEPTH if max_depth is None else max_depth,
        options=options,
        seed=seed,
        sample_weight=sample_weight,
    )
    boosted = boost(task, on_tree)
    return MarkedModel(task, boosted, write_margins(boosted.model, feature_names, interface), codebook)


def plain_model(task: BoostingTask) -> TreeModel:
    """Return the model of a task without its trigger rows."""
    none = np.zeros(0, dtype=np.int64)
    return boost(replace(task, trigger_rows=none, wanted=task.wanted[:0])).model
