"""Fingerprints: a committed line-up released to several customers, and which of them leaked a copy.

Each customer gets other candidates: those at the places that the draw gives to the customer's name (mode C;
`wm.embedding.lineup.claimed.embed_lineup` with `customer`).
The places of a customer who has nothing to do with a suspect are independent of it, whoever else leaked. With
p-values multiplied by the number of customers, the probability that any innocent customer is accused is at
most the level, also if others pool their copies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wm.claims.lineup import LineupClaim
from wm.errors import ClaimError
from wm.verification.answers import AnswerKind, Answers
from wm.verification.lineup.candidates import Lineup, committed_places
from wm.verification.lineup.evidence import lineup_tests


@dataclass(frozen=True)
class Accusation:
    """Evidence against one customer.

    Attributes
    ----------
    customer
        Name.
    log10_p
        Of the smallest p-value after correction for tests and customers, as a power of ten.
    accused
        Whether it is at most the level.
    """

    customer: str
    log10_p: float
    accused: bool


def accuse(
    claim: LineupClaim,
    lineup: Lineup,
    answers: Mapping[AnswerKind, Answers],
    customers: Sequence[str],
    *,
    level: float,
) -> tuple[Accusation, ...]:
    """Say which customers' copies a suspect comes from.

    Parameters
    ----------
    lineup
        Of the committed candidates; its own places are not used.
    answers
        The suspect's, to all queries of the line-up.
    customers
        All who got a copy; distinct names.
    level
        Largest probability that an innocent customer is accused, in (0, 1).

    Raises
    ------
    ClaimError
        No customers, a name given twice, or an impossible level.
    """
    if not customers or len(set(customers)) != len(customers):
        raise ClaimError("name every customer, and each only once")
    if not 0 < level < 1:
        raise ClaimError(f"the level {level} is outside (0, 1)")
    found = []
    for customer in customers:
        tests = lineup_tests(replace(lineup, places=committed_places(claim, customer)), answers)
        smallest = min(each.log10_adjusted for each in tests)
        log10_p = min(0.0, smallest + math.log10(len(customers)))
        found.append(Accusation(customer, log10_p, log10_p <= math.log10(level)))
    return tuple(found)
