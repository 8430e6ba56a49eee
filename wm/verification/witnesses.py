"""What the beacons of a claim are worth: what they leave open, and how many draws to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from wm.claims.beacons.base import BeaconValue


def beacon_questions(
    beacons: tuple[BeaconValue, ...], trusted_beacons: int, suspect_since: datetime | None
) -> Iterator[str]:
    """Yield what keeps a draw from being proven random, and older than the suspect.

    Parameters
    ----------
    beacons, trusted_beacons
        As in `wm.verification.samples.Sample`.
    suspect_since
        When the suspect appeared, with a time zone; None if unknown.
    """
    trusted = [each for each in beacons if each.trusted]
    if not trusted:
        about = "; ".join(each.about for each in beacons)
        yield f"no beacon that you trust made the draw ({about})"
    elif len(trusted) < len(beacons):
        # Whoever gives the last value chooses the draw.
        about = "; ".join(each.about for each in beacons if not each.trusted)
        yield f"a beacon that you do not trust took part in the draw ({about})"
    elif len(trusted) > trusted_beacons:
        yield f"{len(trusted)} receipts are combined, of the one beacon that you trust"
    times = [each.time for each in trusted if each.time is not None]
    if suspect_since is None:
        yield "when the suspect appeared is not given"
    elif not times:
        yield "no trusted time of the draw"
    elif max(times) >= suspect_since:
        yield f"the draw of {max(times).isoformat()} is not older than the suspect"


def choices_of_beacons(beacons: tuple[BeaconValue, ...], trusted: int) -> list[tuple[float, str]]:
    """Return the numbers of draws that receipts and trusted beacons left to choose from, each with a text.

    Parameters
    ----------
    trusted
        Number of beacons that the judge trusts.
    """
    parts = [(each.choices, f"draws by {each.about}: {each.choices:g}") for each in beacons]
    if trusted > 1:
        # Half of the level is for single receipts, half for pairs of receipts.
        sets = 2 * trusted if len(beacons) == 1 else trusted**2
        parts.append((float(sets), f"choice among the {trusted} beacons that you trust: {sets}"))
    return parts
