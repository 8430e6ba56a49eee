"""Sizes of forged trigger sets over all distances at once, from the least distance of each instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from orchestrator.report.grid import Configuration, by_configuration, repeats_of
from orchestrator.report.summaries.spread import Spread

FORGED = "forged"
_MOST_STEPS = 400
"""Steps of a drawn curve: more cannot be told apart, and weigh."""


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Forged set size over eps for one configuration and engine; rows of the arrays are signatures.

    Attributes
    ----------
    trigger_size
        Rows of the true trigger set; None while nothing is embedded.
    signatures, repeats
        Of those that have any answer; together they are the s rows.
    eps : (n,)
        From 0 to the largest distance sought; where sizes step, at most `_MOST_STEPS` places.
    known : (s, n)
        Instances that can be forged within eps: a solver has shown it.
    possible : (s, n)
        The same, had every instance without a decision its witness at once: an upper limit.
    instances, forged, impossible, censored, pending
        Instances of all signatures: planned; with an exact least distance; with none up to the largest
        distance; stopped by a limit; and without any answer so far.
    seconds
        Solving time of all of them.
    """

    configuration: Configuration
    engine: str
    trigger_size: int | None
    signatures: int
    repeats: int
    eps: NDArray[np.float64]
    known: NDArray[np.int64]
    possible: NDArray[np.int64]
    instances: int
    forged: int
    impossible: int
    censored: int
    pending: int
    seconds: float

    @property
    def undecided(self) -> int:
        """Instances of which a limit, or the lack of an answer, leaves the least distance open."""
        return self.censored + self.pending

    def at(self, eps: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each signature's known and possible sizes (s,) at one of the places of `eps`, or between."""
        place = int(np.searchsorted(self.eps, eps, side="right")) - 1
        return self.known[:, place], self.possible[:, place]

    def spreads(self) -> list[Spread]:
        """Return the spread of known sizes over signatures at each place."""
        return [Spread.of(column) for column in self.known.T]

    def parity(self) -> float | None:
        """Return the least eps at which a signature has as many forged instances as the trigger set rows."""
        if self.trigger_size is None:
            return None
        reached = (self.known >= self.trigger_size).any(axis=0)
        return float(self.eps[int(reached.argmax())]) if reached.any() else None


def size_curves(
    distances: pd.DataFrame, planned: pd.DataFrame, cap: float, places: tuple[float, ...] = ()
) -> list[SizeCurve]:
    """Return a curve for each configuration and engine that has any answer.

    Parameters
    ----------
    distances
        Of `orchestrator.results.distances`.
    planned
        Rows of `orchestrator.results.forgery` without eps: what was asked for.
    cap
        Largest distance that was sought.
    places
        Values of eps where sizes are wanted besides those where they step.
    """
    answers = {
        (configuration, str(engine)): part
        for configuration, whole in by_configuration(distances)
        for engine, part in whole.groupby("engine", sort=True)
    }
    return [
        _curve(configuration, str(engine), asked, answers[configuration, str(engine)], cap, places)
        for configuration, whole in by_configuration(planned)
        for engine, asked in whole.groupby("engine", sort=True)
        if (configuration, str(engine)) in answers
    ]


def _curve(
    configuration: Configuration,
    engine: str,
    asked: pd.DataFrame,
    answers: pd.DataFrame,
    cap: float,
    places: tuple[float, ...],
) -> SizeCurve:
    eps = _steps(answers["distance"].dropna().to_numpy(dtype=np.float64), cap, places)
    wanted: dict[tuple[Any, Any], int] = {
        (row["repeat"], row["signature"]): int(row["instances"]) for row in asked.to_dict("records")
    }
    known, possible = [], []
    for (repeat, signature), one in answers.groupby(["repeat", "signature"], sort=True):
        pending = wanted[repeat, signature] - len(one)
        least = one["distance"].to_numpy(dtype=np.float64)
        exact = (one["status"] == FORGED).to_numpy()
        open_ended = int((~one["status"].isin([FORGED, "impossible"])).sum()) + pending
        # A comparison with a missing distance is false.
        within = least[:, None] <= eps
        known.append(within.sum(axis=0))
        possible.append(within[exact].sum(axis=0) + open_ended)
    counts = answers["status"].value_counts()
    forged, impossible = int(counts.get(FORGED, 0)), int(counts.get("impossible", 0))
    sizes = asked["trigger_size"].dropna()
    instances = int(asked["instances"].sum())
    return SizeCurve(
        configuration=configuration,
        engine=engine,
        trigger_size=None if sizes.empty else int(sizes.iloc[0]),
        signatures=int(answers["signature"].nunique()),
        repeats=repeats_of(answers),
        eps=eps,
        known=np.array(known, dtype=np.int64),
        possible=np.array(possible, dtype=np.int64),
        instances=instances,
        forged=forged,
        impossible=impossible,
        censored=len(answers) - forged - impossible,
        pending=instances - len(answers),
        seconds=float(answers["seconds"].sum()),
    )


def _steps(distances: NDArray[np.float64], cap: float, places: tuple[float, ...]) -> NDArray[np.float64]:
    """Return where sizes step, thinned if there are many, with both ends and the places asked for."""
    steps = np.unique(distances)
    if len(steps) > _MOST_STEPS:
        steps = np.quantile(steps, np.linspace(0, 1, _MOST_STEPS), method="nearest")
    return np.unique(np.concatenate([[0.0, cap], places, steps]))
