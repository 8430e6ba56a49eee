"""What `wm embed` does for claims of scheme `boosted`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from orchestrator.cli.common import say
from orchestrator.cli.embedded_model import EmbeddedModel
from wm.embedding.options import BoostedOptions

if TYPE_CHECKING:
    from orchestrator.cli.owner_data import OwnerData
    from wm.claims.pooled import PooledClaim

_REPORTED = 50
"""Trees after which a line says how many are left."""


def embed_boosted_claim(
    claim: PooledClaim, receipts: list[Any], data: OwnerData, chosen: BoostedOptions, options: dict[str, Any]
) -> EmbeddedModel:
    """Train the boosted model of a claim, and compare it with a plain one."""
    from wm.embedding.boosted.claimed import accuracy, embed_boosted

    rows, seed = data.split, options["seed"]
    made = embed_boosted(
        claim,
        receipts,
        rows.X_train,
        rows.y_train,
        options=chosen,
        max_depth=options["max_depth"],
        seed=secrets.randbits(62) if seed is None else seed,
        on_tree=_report,
    )
    preparation = data.interface.preparation
    if not preparation.is_plain or preparation.scaling is not None:
        say("model.json takes model input, not raw rows: XGBoost's json has no place for their preparation")
    before, after = (accuracy(model, rows.X_test, rows.y_test) for model in (made.plain, made.model))
    facts = {
        "pool": claim.header.pool_size,
        "trigger_size": made.evidence.trigger_size,
        "fits": made.boosted.fits,
        "accuracy_standard": before,
        "accuracy_watermarked": after,
        "matched_bits": made.evidence.matched_bits,
        "total_bits": made.evidence.total_bits,
        "log10_p": made.evidence.log10_p,
    }
    return EmbeddedModel(made.content, made.claim, facts)


def _report(left: int) -> None:
    if left and left % _REPORTED == 0:
        say(f"{left} trees left")
