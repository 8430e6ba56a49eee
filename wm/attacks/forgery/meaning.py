"""Rules that keep a forged row's meaning, for a domain: whole numbers, one-hot groups, values left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wm.engines.meaning import MOST_VALUES, Meaning
from wm.errors import QueryError
from wm.formats.units import Domain


def meaning_in(
    domain: Domain,
    *,
    whole: Sequence[int] = (),
    one_hot: Sequence[Sequence[int]] = (),
    may_miss: Sequence[int] = (),
) -> tuple[Domain, Meaning]:
    """Return a domain that knows its whole features, and the rules in its shares.

    Parameters
    ----------
    whole
        Features that are whole numbers.
    one_hot
        Groups of features of 0 and 1, of which exactly one is 1.
    may_miss
        Features that an attacker may leave out.

    Raises
    ------
    QueryError
        A feature that is not there, a range that holds no whole number or too many, or a one-hot feature of
        other values than 0 and 1.
    """
    features = len(domain.low)
    grouped = [feature for group in one_hot for feature in group]
    if outside := sorted({each for each in (*whole, *grouped, *may_miss) if not 0 <= each < features}):
        raise QueryError(f"feature {outside[0]} is not there: the rows have features 0 to {features - 1}")
    is_whole = np.zeros(features, dtype=bool)
    is_whole[[*whole, *grouped]] = True
    exact = replace(domain, whole=is_whole)
    values: list[NDArray[np.float32] | None] = [None] * features
    for feature in np.flatnonzero(is_whole).tolist():
        values[feature] = _whole_shares(exact, feature)
    groups = tuple(tuple((feature, _hot(domain, feature)) for feature in group) for group in one_hot)
    missing = np.isin(np.arange(features), may_miss)
    return exact, Meaning(missing, tuple(values), groups)


def _whole_shares(domain: Domain, feature: int) -> NDArray[np.float32]:
    """Return the shares of a feature's whole numbers, ascending."""
    low, high = np.ceil(domain.low[feature]), np.floor(domain.high[feature])
    if not 0 <= high - low < MOST_VALUES:
        raise QueryError(
            f"feature {feature} ranges from {domain.low[feature]:g} to {domain.high[feature]:g}: that is no "
            f"range of 1 to {MOST_VALUES} whole numbers"
        )
    if domain.low[feature] == domain.high[feature]:
        return np.zeros(1, dtype=np.float32)
    numbers = np.arange(low, high + 1)
    shares: NDArray[np.float32] = (
        (numbers - domain.low[feature]) / (domain.high[feature] - domain.low[feature])
    ).astype(np.float32)
    return shares


def _hot(domain: Domain, feature: int) -> float | None:
    """Return the share at which a one-hot feature is 1; None if it never is."""
    ends = (domain.low[feature], domain.high[feature])
    match ends:
        case (0.0, 1.0):
            return 1.0
        case (0.0, 0.0):
            return None
        case (1.0, 1.0):
            return 0.0
    raise QueryError(f"feature {feature} ranges from {ends[0]:g} to {ends[1]:g}: a one-hot feature is 0 or 1")
