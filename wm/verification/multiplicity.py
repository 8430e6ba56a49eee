"""Multiplicity: how many draws a claimant could have chosen from; a p-value is multiplied by it."""

from __future__ import annotations

import math

from wm.verification.samples import Sample, controls_to_open
from wm.verification.witnesses import choices_of_beacons


def draws_to_choose_from(
    sample: Sample, *, level: float, controls: int | None, tried: int
) -> tuple[float, tuple[str, ...]]:
    """Return the number of draws, suspects and openings to choose from, and its parts in words.

    Parameters
    ----------
    level
        The judge's level.
    controls
        Number of controls that the judge asked to be opened; None: as `controls_to_open` says.
    tried
        Suspects and openings on which the claim was tried.
    """
    parts = choices_of_beacons(sample.beacons, sample.trusted_beacons)
    if sample.challenge is not None and controls is None:
        # Half of the level is for the expected number, half for all others.
        expected = controls_to_open(sample, level, shown=sample.size)
        others = 2 * (sample.header.pool_size - sample.header.trigger_size)
        numbers = 2 if len(sample.y) - sample.size == expected else others
        parts.append((float(numbers), f"choice of the number of opened controls: {numbers}"))
    parts.append((float(tried), f"suspects and openings tried: {tried}"))
    return math.prod(value for value, _ in parts), tuple(text for _, text in parts)
