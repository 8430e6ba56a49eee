"""Embedding: making a watermarked forest. One module or package for each scheme, one line in `SCHEMES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wm.embedding.common import Embedded, EmbeddingTask, OnRound
from wm.embedding.lineup.scheme import PROOF, embed_task
from wm.embedding.options import PaperOptions
from wm.embedding.paper import embed_paper
from wm.embedding.proof import ProofKind
from wm.errors import EmbeddingError


@dataclass(frozen=True)
class Scheme:
    """A way to watermark forests: what an owner may choose, and the function that embeds."""

    options: type[PaperOptions]
    embed: Callable[[EmbeddingTask, OnRound | None], Embedded]
    marks_rows: bool = True
    """Whether trees err on trigger rows as the signature says, under limits that hide it. If not, the forest
    is an honest one, and a campaign's trigger rows and signature only show what chance gives."""
    proof: ProofKind | None = None
    """How a campaign's suspects are judged, for schemes whose evidence is not errors on trigger rows."""


SCHEMES = {
    "paper": Scheme(PaperOptions, embed_paper),
    "lineup": Scheme(PaperOptions, embed_task, marks_rows=False, proof=PROOF),
}
"""Schemes by name."""


def scheme_of(name: str) -> Scheme:
    """Return a scheme; raise `EmbeddingError` for an unknown one."""
    if name not in SCHEMES:
        raise EmbeddingError(f"unknown scheme {name!r}; known are: {', '.join(sorted(SCHEMES))}")
    return SCHEMES[name]


__all__ = ["SCHEMES", "Embedded", "EmbeddingTask", "Scheme", "scheme_of"]
