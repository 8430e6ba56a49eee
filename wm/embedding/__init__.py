"""Embedding: making a watermarked forest. One module or package for each scheme, one line in `SCHEMES`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wm.codebook import Marks, random_codebook
from wm.embedding.boosted.scheme import refuse_task
from wm.embedding.codebook import embed_codebook
from wm.embedding.common import Embedded, EmbeddingTask, OnRound
from wm.embedding.lineup.scheme import PROOF, embed_task
from wm.embedding.options import BoostedOptions, CodebookOptions, PaperOptions
from wm.embedding.paper import embed_paper
from wm.embedding.proof import ProofKind
from wm.errors import EmbeddingError
from wm.signature import random_signature


def _draw_signature(rows: int, trees: int, ones_share: float, rng: np.random.Generator) -> Marks:
    return random_signature(trees, ones_share, rng)


@dataclass(frozen=True)
class Scheme:
    """A way to watermark forests."""

    options: type[PaperOptions] | type[BoostedOptions]
    """What an owner may choose."""
    embed: Callable[[EmbeddingTask, OnRound | None], Embedded]
    """Embeds what was drawn."""
    draw: Callable[[int, int, float, np.random.Generator], Marks] = _draw_signature
    """Draws what the trees will be marked with: trigger rows, trees, share of ones, random numbers. For
    campaigns and shadow models: of a real claim a beacon makes the draw, see `wm.claims.draw`."""
    marks_rows: bool = True
    """Whether trees err on trigger rows as the marks say, under limits that hide it. If not, the forest is an
    honest one, and a campaign's trigger rows and signature only show what chance gives."""
    proof: ProofKind | None = None
    """How a campaign's suspects are judged, for schemes whose evidence is not errors on trigger rows."""
    trees_vote: bool = True
    """Whether it makes a forest; if not, a boosted model, and `embed` refuses by name."""
    most_classes: float = math.inf
    """How many classes the data may have."""

    @property
    def ones_share(self) -> float:
        """The share of ones where an owner does not choose."""
        return float(self.options.model_fields["ones_share"].default)


SCHEMES = {
    "paper": Scheme(PaperOptions, embed_paper),
    "codebook": Scheme(CodebookOptions, embed_codebook, random_codebook),
    "boosted": Scheme(BoostedOptions, refuse_task, random_codebook, trees_vote=False),
    "lineup": Scheme(PaperOptions, embed_task, marks_rows=False, proof=PROOF, most_classes=2),
}
"""Schemes by name."""


def scheme_of(name: str) -> Scheme:
    """Return a scheme; raise `EmbeddingError` for an unknown one."""
    if name not in SCHEMES:
        raise EmbeddingError(f"unknown scheme {name!r}; known are: {', '.join(sorted(SCHEMES))}")
    return SCHEMES[name]


__all__ = ["SCHEMES", "Embedded", "EmbeddingTask", "Scheme", "scheme_of"]
