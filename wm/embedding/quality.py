"""What a watermark costs: the figures of a forest on held-out rows, and where it hurts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest

_HARM = 0.03
"""Loss in a figure from which an owner is warned."""


@dataclass(frozen=True)
class Quality:
    """Figures of a forest of two classes on n rows, all in [0, 1].

    Attributes
    ----------
    accuracy, balanced_accuracy
        Of the majority of votes.
    recall_0, recall_1
        Recall of either class.
    auc
        Area under the ROC curve of the share of votes for class 1.
    brier
        Mean squared error of that share; smaller is better.
    """

    accuracy: float
    balanced_accuracy: float
    recall_0: float
    recall_1: float
    auc: float
    brier: float


def quality(forest: Forest, X: NDArray[np.float32], y: NDArray[np.int64]) -> Quality | None:
    """Return a forest's figures on rows, (n, d), with labels 0 and 1; None if only one label occurs."""
    from sklearn.metrics import brier_score_loss, recall_score, roc_auc_score

    if len(np.unique(y)) < 2:
        return None
    shares = forest.vote_shares(X)[:, 1]
    predicted = forest.predict(X)
    recalls = [float(recall_score(y, predicted, pos_label=label)) for label in (0, 1)]
    return Quality(
        accuracy=float((predicted == y).mean()),
        balanced_accuracy=float(np.mean(recalls)),
        recall_0=recalls[0],
        recall_1=recalls[1],
        auc=float(roc_auc_score(y, shares)),
        brier=float(brier_score_loss(y, shares)),
    )


def harms(standard: Quality, watermarked: Quality) -> Iterator[str]:
    """Yield a sentence for each figure that the watermark makes clearly worse."""
    after = asdict(watermarked)
    for name, before in asdict(standard).items():
        loss = after[name] - before if name == "brier" else before - after[name]
        if loss > _HARM:
            words = name.replace("_", " ")
            yield f"{words} {before:.3f} of an honest forest becomes {after[name]:.3f}"
