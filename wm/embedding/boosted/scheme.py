"""Scheme `boosted` where forests are expected whose trees vote: refused."""

from __future__ import annotations

from typing import NoReturn

from wm.embedding.common import EmbeddingTask, OnRound
from wm.errors import EmbeddingError

REFUSAL = (
    "scheme boosted makes a boosted model, whose trees add margins and do not vote: it is made by wm embed, "
    "wm.embed, WatermarkedBoostingClassifier and campaigns, not where forests are expected"
)


def refuse_task(task: EmbeddingTask, on_round: OnRound | None = None) -> NoReturn:
    """Raise `EmbeddingError`."""
    raise EmbeddingError(REFUSAL)
