"""What `wm embed` writes and prints, whatever the scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wm.claims.lineup import LineupClaim
    from wm.claims.pooled import PooledClaim
    from wm.embedding.quality import Quality


FOREST, BOOSTED_MODEL = "forest.npz", "model.json"
"""Names of the model files."""


@dataclass(frozen=True, eq=False)
class EmbeddedModel:
    """A trained model and what is said of it.

    Attributes
    ----------
    content
        The model file, to be released.
    claim
        Complete.
    facts
        To be printed, by name.
    file
        Name of the model file.
    """

    content: bytes
    claim: PooledClaim | LineupClaim
    facts: dict[str, Any]
    file: str = FOREST


def figures(accuracy: float, found: Quality | None, name: str = "") -> dict[str, float]:
    """Return a model's figures, each with the model's name if it has one; accuracy alone without others."""
    each = {"accuracy": accuracy} if found is None else found.figures()
    return {f"{figure}_{name}" if name else figure: value for figure, value in each.items()}


def warn_of_harms(
    standard: Quality | None, watermarked: Quality | None, class_names: Sequence[str]
) -> list[str]:
    """Print a warning for each figure that the watermark makes clearly worse, and return them."""
    from wm.embedding.quality import harms

    if standard is None or watermarked is None:
        return []
    found = list(harms(standard, watermarked, class_names))
    for each in found:
        click.echo(f"Warning: the watermark hurts: {each}. Fewer trigger rows would help.", err=True)
    return found
