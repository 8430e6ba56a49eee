"""Embedding: making a watermarked forest. One module for each scheme, one line for each in `SCHEMES`."""

from __future__ import annotations

from wm.embedding.common import Embedded, EmbeddingTask
from wm.embedding.paper import embed_paper

SCHEMES = {
    "paper": embed_paper,
}
"""Scheme name -> function (EmbeddingTask, on_round) -> Embedded."""

__all__ = ["SCHEMES", "Embedded", "EmbeddingTask"]
