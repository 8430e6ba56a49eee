"""The filter: on a spotted query every tree reports the majority, and the signature is gone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.attacks.divisions import majority
from wm.signature import Signature
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, verify


@dataclass(frozen=True)
class FilterResult:
    """What the filter does to a claim and to ordinary users.

    Attributes
    ----------
    method
        Name of the score that spots.
    triggers_spotted
        Share of trigger queries that were filtered.
    ordinary_touched
        Share of ordinary queries that were filtered: their majority stays, their votes become unanimous.
    ordinary_votes_changed
        Share of all votes on ordinary queries that this changed.
    evidence
        Verification on the filtered answers.
    evidence_before
        Verification without the filter.
    """

    method: str
    triggers_spotted: float
    ordinary_touched: float
    ordinary_votes_changed: float
    evidence: Evidence
    evidence_before: Evidence


def filtered_codes(codes: NDArray[np.int64], spotted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return votes (n, m) with the majority in every tree on spotted queries (n,)."""
    return np.where(spotted[:, None], majority(codes)[:, None], codes)


def filter_and_verify(
    method: str,
    codes: NDArray[np.int64],
    is_trigger: NDArray[np.bool_],
    spotted: NDArray[np.bool_],
    trigger_codes: ArrayLike,
    signature: Signature,
    *,
    level: float = DEFAULT_LEVEL,
) -> FilterResult:
    """Filter a stream and verify the claim on what comes out.

    Parameters
    ----------
    method
        Written into the result.
    codes : (n, m)
        Votes on the stream as class columns.
    is_trigger, spotted : (n,)
        Truth, with at least one query of each kind, and the attacker's judgement.
    trigger_codes : (k,)
        True classes of the trigger rows, in the stream's order, as class columns.
    signature
        m bits.
    """
    after = filtered_codes(codes, spotted)
    return FilterResult(
        method=method,
        triggers_spotted=float(spotted[is_trigger].mean()),
        ordinary_touched=float(spotted[~is_trigger].mean()),
        ordinary_votes_changed=float((after != codes)[~is_trigger].mean()),
        evidence=verify(after[is_trigger], trigger_codes, signature, level=level),
        evidence_before=verify(codes[is_trigger], trigger_codes, signature, level=level),
    )
