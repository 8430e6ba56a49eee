"""The filter: on a spotted query every tree reports the majority, which removes the signature."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.attacks.base import AttackRow
from wm.attacks.divisions import majority
from wm.codebook import Marks
from wm.verification.evidence import verify


class Filtered(AttackRow):
    """Effect of the filter on a claim and on ordinary users."""

    triggers_spotted: float
    """Share of trigger queries that the filter catches, at a threshold set on the attacker's own rows."""
    ordinary_touched: float
    """Share of ordinary queries that it catches."""
    ordinary_votes_changed: float
    """Share of all votes on ordinary queries that it changes."""
    log10_p_before: float
    """Evidence of the claim without the filter, as log10 p."""
    log10_p_after: float
    """Evidence on the filtered answers."""


def filtered_codes(codes: NDArray[np.int64], spotted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return votes (n, m) with the majority in every tree on spotted queries (n,)."""
    return np.where(spotted[:, None], majority(codes)[:, None], codes)


def filter_and_verify(
    codes: NDArray[np.int64],
    is_trigger: NDArray[np.bool_],
    spotted: NDArray[np.bool_],
    trigger_codes: ArrayLike,
    signature: Marks,
) -> Filtered:
    """Filter a stream and verify the claim on the filtered answers.

    Parameters
    ----------
    codes : (n, m)
        Votes on the stream as class columns.
    is_trigger, spotted : (n,)
        Truth, with at least one query of each kind, and the attacker's judgement.
    trigger_codes : (k,)
        True classes of the trigger rows, in the stream's order, as class columns.
    signature
        m bits, or a codebook whose rows are in the stream's order.
    """
    after = filtered_codes(codes, spotted)
    before_p, after_p = (
        verify(votes[is_trigger], trigger_codes, signature).log10_p for votes in (codes, after)
    )
    return Filtered(
        triggers_spotted=float(spotted[is_trigger].mean()),
        ordinary_touched=float(spotted[~is_trigger].mean()),
        ordinary_votes_changed=float((after != codes)[~is_trigger].mean()),
        log10_p_before=before_p,
        log10_p_after=after_p,
    )
