"""What `wm embed` does for claims of boosted models, of schemes `boosted` and `lineup`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from orchestrator.cli.common import say
from orchestrator.cli.embedded_model import BOOSTED_MODEL, EmbeddedModel, figures, warn_of_harms
from wm.embedding.options import BoostedOptions

if TYPE_CHECKING:
    from orchestrator.cli.owner_data import OwnerData
    from wm.claims.lineup import LineupClaim
    from wm.claims.pooled import PooledClaim

_REPORTED = 50
"""Trees after which a line says how many are left."""


def embed_boosted_claim(
    claim: PooledClaim, receipts: list[Any], data: OwnerData, chosen: BoostedOptions, options: dict[str, Any]
) -> EmbeddedModel:
    """Train the boosted model of a claim, and compare it with a plain one."""
    from wm.embedding.boosted.claimed import accuracy, embed_boosted
    from wm.embedding.quality import quality

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
    _say_units(data)
    before, after = (quality(model, rows.X_test, rows.y_test) for model in (made.plain, made.model))
    warnings = warn_of_harms(before, after, claim.header.class_names)
    facts = {
        "pool": claim.header.pool_size,
        "trigger_size": made.evidence.trigger_size,
        "fits": made.boosted.fits,
        **figures(accuracy(made.plain, rows.X_test, rows.y_test), before, "standard"),
        **figures(accuracy(made.model, rows.X_test, rows.y_test), after, "watermarked"),
        "matched_bits": made.evidence.matched_bits,
        "total_bits": made.evidence.total_bits,
        "log10_p": made.evidence.log10_p,
        "warnings": warnings,
    }
    return EmbeddedModel(made.content, made.claim, facts, BOOSTED_MODEL)


def embed_boosted_lineup_claim(claim: LineupClaim, receipts: list[Any], data: OwnerData) -> EmbeddedModel:
    """Train the honest boosted model of a claim of scheme `lineup`."""
    from wm.embedding.boosted.claimed import accuracy
    from wm.embedding.lineup.boosting import embed_boosted_lineup
    from wm.embedding.quality import quality

    rows = data.split
    made = embed_boosted_lineup(claim, receipts, rows.X_train, rows.y_train)
    _say_units(data)
    model = made.model
    found = quality(model, rows.X_test, rows.y_test)
    facts = {
        "rounds": claim.header.trees,
        "mode": claim.header.mode,
        **figures(accuracy(model, rows.X_test, rows.y_test), found),
    }
    return EmbeddedModel(made.content, made.claim, facts, BOOSTED_MODEL)


def _say_units(data: OwnerData) -> None:
    preparation = data.interface.preparation
    if not preparation.is_plain or preparation.scaling is not None:
        say(f"{BOOSTED_MODEL}: wm predict takes raw rows, XGBoost itself takes model input only")


def _report(left: int) -> None:
    if left and left % _REPORTED == 0:
        say(f"{left} trees left")
