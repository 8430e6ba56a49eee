"""Embedding: making a watermarked forest. One module for each scheme, one line for each in `SCHEMES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wm.embedding.common import Embedded, EmbeddingTask, OnRound
from wm.embedding.options import PaperOptions
from wm.embedding.paper import embed_paper


@dataclass(frozen=True)
class Scheme:
    """A way to watermark forests: what an owner may choose, and the function that embeds."""

    options: type[PaperOptions]
    embed: Callable[[EmbeddingTask, OnRound | None], Embedded]


SCHEMES = {
    "paper": Scheme(PaperOptions, embed_paper),
}
"""Schemes by name."""

__all__ = ["SCHEMES", "Embedded", "EmbeddingTask", "Scheme"]
