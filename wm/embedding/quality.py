"""What a watermark costs: the figures of a model on held-out rows, and where it hurts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest
from wm.models import TreeModel

_HARM = 0.03
"""Loss in a figure from which an owner is warned."""


@dataclass(frozen=True)
class Quality:
    """Figures of a model of c classes on n rows, all in [0, 1].

    Attributes
    ----------
    accuracy, balanced_accuracy
        Of the majority of a forest's votes, or of the most probable class of a boosted model.
    recalls
        Recall of each class, c numbers.
    auc
        Area under the ROC curve of the share of votes for a class, or of its probability, mean over the
        classes; for two classes equal for both.
    brier
        Squared error of these shares or probabilities, summed over the classes and halved, mean over the
        rows: for two classes the usual score; smaller is better.
    """

    accuracy: float
    balanced_accuracy: float
    recalls: tuple[float, ...]
    auc: float
    brier: float

    def figures(self) -> dict[str, float]:
        """Return the figures by name; recalls as ``recall_0``, ``recall_1``, ...."""
        each = {f"recall_{label}": value for label, value in enumerate(self.recalls)}
        ends = {"auc": self.auc, "brier": self.brier}
        return {"accuracy": self.accuracy, "balanced_accuracy": self.balanced_accuracy, **each, **ends}


def quality(model: Forest | TreeModel, X: NDArray[np.float32], y: NDArray[np.int64]) -> Quality | None:
    """Return a model's figures on rows, (n, d), with labels 0, 1, ...; None unless each label occurs."""
    from sklearn.metrics import recall_score, roc_auc_score

    shares = model.vote_shares(X) if isinstance(model, Forest) else model.predict_proba(X)
    classes = np.arange(shares.shape[1])
    if not np.isin(classes, y).all():
        return None
    predicted, is_class = np.argmax(shares, axis=1), y[:, None] == classes
    recalls = tuple(map(float, recall_score(y, predicted, labels=classes, average=None)))
    return Quality(
        accuracy=float((predicted == y).mean()),
        balanced_accuracy=float(np.mean(recalls)),
        recalls=recalls,
        auc=float(np.mean([roc_auc_score(is_class[:, code], shares[:, code]) for code in classes])),
        brier=float(((shares - is_class) ** 2).sum(axis=1).mean() / 2),
    )


def harms(standard: Quality, watermarked: Quality, class_names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each figure that the watermark makes clearly worse; recalls by class name."""
    after = watermarked.figures()
    recalls = {f"recall_{label}": f"recall of class {name!r}" for label, name in enumerate(class_names)}
    for name, before in standard.figures().items():
        loss = after[name] - before if name == "brier" else before - after[name]
        if loss > _HARM:
            words = recalls.get(name, name.replace("_", " "))
            yield f"{words} {before:.3f} of an honest model becomes {after[name]:.3f}"
