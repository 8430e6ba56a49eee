"""The bits from spotted queries: the division of the trees on a trigger row is the signature itself.

Of a codebook it is that row's bits, and tells nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.attacks.detection.guesses import score_guess
from wm.attacks.detection.spectrum import vote_spectrum
from wm.attacks.divisions import majority
from wm.codebook import Codebook, Marks
from wm.errors import SignatureError
from wm.signature import Signature

Spot = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Takes the indexes of the queries seen so far, in order; returns which are suspected: (q,) -> (q,)."""


class BudgetPoint(AttackRow):
    """Knowledge of the signature after a number of trigger queries."""

    trigger_queries: int
    """Number of trigger queries that the model has answered, among ordinary ones in random order."""
    bits: float
    """Mean share of bits known, of a signature up to complement; 0.5 while nothing is spotted."""
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


@dataclass(frozen=True)
class Known:
    """How much of the signature or codebook an attacker has read."""

    bits: float
    """Share of the bits that are right; of a signature up to complement."""
    null_bits: float
    """Its mean for a guess of as many ones that has nothing to do with them."""


def read_bits(
    codes: NDArray[np.int64], is_trigger: NDArray[np.bool_], spotted: NDArray[np.int64], marks: Marks
) -> Known | None:
    """Score what the spotted queries of a stream tell, None if they tell nothing.

    Of a codebook the outvoted trees of a spotted query are taken for the ones of its row; rows that are not
    spotted, for zeros. Ordinary queries that are spotted belong to no row of it.

    Parameters
    ----------
    codes : (n, m), is_trigger : (n,)
        Votes on the stream, and its trigger rows, which a codebook's rows follow.
    spotted : (q,)
        Indexes of the spotted queries.
    """
    if not isinstance(marks, Codebook):
        guess = recover_signature(codes[spotted])
        return None if guess is None else Known(**_scored(guess, marks))
    if not len(spotted):
        return None
    rows = np.cumsum(is_trigger) - 1
    known = spotted[is_trigger[spotted]]
    guessed = np.zeros(marks.array.shape, dtype=bool)
    guessed[rows[known]] = codes[known] != majority(codes[known])[:, None]
    ones, others = float(guessed.mean()), float(marks.array.mean())
    return Known(float((guessed == (marks.array == 1)).mean()), ones * others + (1 - ones) * (1 - others))


def _scored(guess: NDArray[np.int64], signature: Signature) -> dict[str, float]:
    found = score_guess(guess, signature)
    return {"bits": found.bits, "null_bits": found.null_bits}


def budget_curve(
    codes: NDArray[np.int64],
    is_trigger: NDArray[np.bool_],
    spot: Spot,
    signature: Marks,
    rng: np.random.Generator,
    *,
    orders: int,
    max_triggers: int | None = None,
) -> tuple[BudgetPoint, ...]:
    """Return the bits known after 1, 2, 3, ... trigger queries, over random orders of the stream.

    Of a codebook, whose rows are in the stream's order, all its bits are asked for.

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
    if codes.shape[1] != signature.trees:
        raise SignatureError(f"votes of {codes.shape[1]} trees do not fit {signature.trees} bits")
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
            known = read_bits(codes, is_trigger, suspected, signature)
            if known is not None:
                bits[order, number], null[order, number] = known.bits, known.null_bits
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
