"""What `wm embed` writes and prints, whatever the scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm.claims.lineup import LineupClaim
    from wm.claims.pooled import PooledClaim


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
