"""The signature from spotted queries: the division of the trees on a trigger row is the signature itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.attacks.detection.guesses import score_guess
from wm.attacks.detection.spectrum import vote_spectrum
from wm.errors import SignatureError
from wm.signature import Signature

Spot = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Takes the indexes of the queries seen so far, in order; returns which are suspected: (q,) -> (q,)."""


class BudgetPoint(AttackRow):
    """Knowledge of the signature after a number of trigger queries."""

    trigger_queries: int
    """Number of trigger queries that the model has answered, among ordinary ones in random order."""
    bits: float
    """Mean share of bits known, up to complement; 0.5 while nothing is spotted."""
    low: float
    """Smallest share over the orders."""
    high: float
    """Largest share over the orders."""
    null_bits: float
    """Mean share that a guess unrelated to the signature would have."""
    spotted: float
    """Mean number of queries suspected so far, ordinary ones among them."""


def recover_signature(codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the bits that divide the trees on most of the spotted queries, up to complement.

    On a trigger row the votes, centred, have one sign on trees with bit 0 and the other on those with bit 1,
    for any share of ones; in the leading direction of all spotted rows these outweigh ordinary ones among
    them.

    Parameters
    ----------
    codes : (q, m)
        Votes on the spotted queries, as class columns.

    Returns
    -------
    (m,) of 0 and 1; None if there is no query, or all are unanimous.
    """
    if not len(codes):
        return None
    spectrum = vote_spectrum(codes)
    if spectrum.strength == 0:
        return None
    return (spectrum.scores > 0).astype(np.int64)


def budget_curve(
    codes: NDArray[np.int64],
    is_trigger: NDArray[np.bool_],
    spot: Spot,
    signature: Signature,
    rng: np.random.Generator,
    *,
    orders: int,
    max_triggers: int | None = None,
) -> tuple[BudgetPoint, ...]:
    """Return the bits known after 1, 2, 3, ... trigger queries, over random orders of the stream.

    Parameters
    ----------
    codes : (n, m)
        Votes on the stream.
    is_trigger : (n,)
        At least one.
    spot
        The attacker's judgement of the queries seen so far.
    signature
        The true one, to score by.
    orders
        Number of random orders; at least 1.
    max_triggers
        Last number of trigger queries; None: all.
    """
    if codes.shape[1] != len(signature):
        raise SignatureError(f"votes of {codes.shape[1]} trees do not fit {len(signature)} bits")
    triggers = int(is_trigger.sum())
    last = triggers if max_triggers is None else min(max_triggers, triggers)
    bits, null, spotted = (np.full((orders, last), 0.5) for _ in range(3))
    spotted[:] = 0
    for order in range(orders):
        stream = rng.permutation(len(codes))
        arrivals = np.flatnonzero(is_trigger[stream])[:last]
        for number, arrival in enumerate(arrivals):
            seen = stream[: arrival + 1]
            suspected = seen[spot(seen)]
            spotted[order, number] = len(suspected)
            guess = recover_signature(codes[suspected])
            if guess is not None:
                scored = score_guess(guess, signature)
                bits[order, number], null[order, number] = scored.bits, scored.null_bits
    return tuple(
        BudgetPoint(
            trigger_queries=number + 1,
            bits=float(bits[:, number].mean()),
            low=float(bits[:, number].min()),
            high=float(bits[:, number].max()),
            null_bits=float(null[:, number].mean()),
            spotted=float(spotted[:, number].mean()),
        )
        for number in range(last)
    )
