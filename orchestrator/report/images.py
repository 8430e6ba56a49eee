"""Forged images of a campaign, where its rows are images."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator.errors import NotFoundError
from orchestrator.report.figures.instances import image_side
from orchestrator.results.forged_sets import Attempt, largest_attempt
from orchestrator.results.stored_models import StoredModels
from orchestrator.store.database import Store
from wm.datasets import Split
from workers.jobs import SplitResult


@dataclass(frozen=True, eq=False)
class ForgedImages:
    """What the signature that forges most has forged, at the least distances.

    Attributes
    ----------
    attempt
        Its forgeries, one or more.
    split
        The campaign's rows.
    """

    attempt: Attempt
    split: Split


def forged_images(store: Store, campaign_id: int, split: SplitResult | None) -> ForgedImages | None:
    """Return the images of the largest forged set; None if there is none, or rows are no images."""
    if split is None or math.isqrt(split.features) ** 2 != split.features:
        return None  # without a look at the rows themselves, which may be large
    models = StoredModels(store, campaign_id)
    try:
        if image_side(models.split.feature_names) is None:
            return None
        attempt = largest_attempt(store, campaign_id, models)
    except NotFoundError:  # the campaign has not come that far
        return None
    return None if attempt is None else ForgedImages(attempt, models.split)
