"""Published beside ours: what a comparison is, and how samples are held against single published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from research.reproduction.runs import Run
from research.reproduction.spread import Spread

LEAST_SAMPLE = 3
"""Repeats below which a spread says nothing: its interval would hold everything."""

_LEVEL = 0.95


class Verdict(StrEnum):
    """What a comparison says."""

    SAME = "same"
    """Equal, or the statement holds for ours."""
    WITHIN = "same within spread"
    """The published number is among those that one more run of ours would give, 19 times in 20."""
    DIFFERS = "differs"
    """It is not, or the statement does not hold."""
    OPEN = "open"
    """Too few repeats, or too much undecided, to say."""


@dataclass(frozen=True)
class Comparison:
    """A published number or statement beside ours."""

    dataset: str  # as the paper calls it
    what: str  # the number, in a few words
    place: str  # where the paper or its artifact has it
    published: str
    ours: str  # spreads are sample standard deviations
    n: str  # size of our sample, with what it counts
    verdict: Verdict
    reason: str  # why not the same, or what the number does not show; may be empty
    campaign: str  # whose numbers are ours


def compared(
    run: Run, what: str, place: str, there: str, ours: str, n: str, verdict: Verdict, reason: str = ""
) -> Comparison:
    """Return a comparison of what the paper says with what a run found."""
    return Comparison(run.setting.title, what, place, there, ours, n, verdict, reason, run.name)


@dataclass(frozen=True)
class Form:
    """How a number is written: decimals, and what it is multiplied by and followed by."""

    digits: int
    factor: float = 1.0
    unit: str = ""

    def write(self, value: float) -> str:
        """Return a number as text."""
        return f"{value * self.factor:.{self.digits}f}{self.unit}"

    def spread(self, sample: ArrayLike) -> str:
        """Return mean and standard deviation of a sample; of one value that value."""
        return self.of(Spread.of(sample))

    def of(self, found: Spread) -> str:
        """Return mean and standard deviation."""
        bare = Form(self.digits, self.factor)
        mean = bare.write(found.mean)
        return f"{mean}{self.unit}" if found.sd is None else f"{mean} ± {bare.write(found.sd)}{self.unit}"

    @property
    def rounding(self) -> float:
        """How far a number that is written so may be from the true one."""
        return 0.5 * 10.0**-self.digits / self.factor


SHARE = Form(4)
TWO = Form(2)
COUNT = Form(1)
PERCENT = Form(1, 100.0, "%")
POINTS = Form(2, unit=" points")


def _half_width(sample: ArrayLike, variance: Callable[[int], float]) -> float | None:
    """Return a half-width of Student's t, as many deviations as the root of `variance(n)`; None if n is small."""
    values: NDArray[np.float64] = np.asarray(sample, dtype=np.float64)
    n = len(values)
    if n < LEAST_SAMPLE:
        return None
    return float(stats.t.ppf((1 + _LEVEL) / 2, n - 1) * values.std(ddof=1) * math.sqrt(variance(n)))


def reach(sample: ArrayLike) -> float | None:
    """Return how far from the sample's mean one more value lies, at most, 19 times in 20.

    The half-width of the normal prediction interval; None below `LEAST_SAMPLE` values.
    """
    return _half_width(sample, lambda n: 1 + 1 / n)


def mean_interval(sample: ArrayLike) -> tuple[float, float] | None:
    """Return the 95% confidence interval of the mean; None below `LEAST_SAMPLE` values."""
    half, mean = _half_width(sample, lambda n: 1 / n), float(np.mean(np.asarray(sample, dtype=np.float64)))
    return None if half is None else (mean - half, mean + half)


def verdict_of_sample(published: float, sample: ArrayLike, rounding: float) -> Verdict:
    """Compare a published number, exact to `rounding`, with a sample of ours."""
    far = reach(sample)
    if far is None:
        return Verdict.OPEN
    apart = abs(published - float(np.mean(np.asarray(sample, dtype=np.float64))))
    return Verdict.WITHIN if apart <= far + rounding * (1 + 1e-9) else Verdict.DIFFERS


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the verdict on several numbers that stand together."""
    for verdict in (Verdict.DIFFERS, Verdict.OPEN, Verdict.WITHIN):
        if verdict in verdicts:
            return verdict
    return Verdict.SAME


def same_if(holds: bool) -> Verdict:
    """Return the verdict on a statement that holds for ours, or does not."""
    return Verdict.SAME if holds else Verdict.DIFFERS


def why(verdict: Verdict, differs: str | Callable[[], str], otherwise: str = "") -> str:
    """Return the reason to print for a verdict."""
    if verdict is Verdict.DIFFERS:
        return differs if isinstance(differs, str) else differs()
    if verdict is Verdict.OPEN:
        return f"fewer than {LEAST_SAMPLE} repeats: no spread to judge by"
    return otherwise
