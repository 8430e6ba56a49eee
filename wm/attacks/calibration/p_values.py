"""Count how often each p-value is small by chance, over forests that do not carry the claimed watermark.

Under its null hypothesis a p-value is at most a level with at most that probability. This is checked by
counting: over honest forests, and over forests that other owners have watermarked, each with a false claim.
An exact interval (Clopper-Pearson) bounds each rate; a p-value is called anti-conservative where even the
lower end, corrected for the number of rates, is above the level.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.attacks.base import AttackRow
from wm.attacks.detection.presence import presence_test
from wm.attacks.detection.rows import SPLIT, ranked
from wm.attacks.detection.shapes import detect_by_shape
from wm.attacks.detection.spectrum import vote_spectrum
from wm.attacks.detection.strategies import detect
from wm.attacks.populations import Case
from wm.codebook import Codebook, random_codebook
from wm.embedding import SCHEMES
from wm.statistics import clopper_pearson
from wm.streams import Role
from wm.verification.alignment import align_in_order
from wm.verification.codebook import log10_in_order, match_columns
from wm.verification.evidence import verify
from wm.verification.weak_evidence import log10_by_labels, log10_by_probabilities

LEVELS = (0.05, 0.01, 0.001)
"""Levels at which false positives are counted."""

CONFIDENCE = 0.95
"""Of each interval that is shown; alarms use the same for all rates together."""

_interval = functools.cache(clopper_pearson)
"""Few pairs of hits and trials occur, many times each."""

_DROPPED_SHARE = 0.1
"""Trees left out before the p-value of an alignment is taken."""


class Rate(AttackRow):
    """How often one p-value was at most one level."""

    population: str
    """Which forests: ``honest``, ``other owners``, or ``presence``."""
    p_value: str
    """Name of the p-value."""
    level: float
    """In (0, 1)."""
    hits: int
    """Forests whose p-value was at most the level."""
    trials: int
    """All forests."""
    rate: float
    """hits / trials."""
    low: float
    """Lower end of the exact 95% interval (Clopper-Pearson)."""
    high: float
    """Upper end."""
    anti_conservative: bool
    """Whether the rate is above the level beyond what chance explains, all rates taken together."""


PValue = Callable[[Case, np.random.Generator], float]


def by_votes(case: Case, rng: np.random.Generator) -> float:
    """Return the exact p-value of a shared signature."""
    return verify(case.forest.votes(case.X_trigger), case.y_trigger, case.signature).p_value


def by_alignment(case: Case, rng: np.random.Generator) -> float:
    """Return the p-value of an alignment after a tenth of the trees is dropped."""
    trees = case.forest.n_trees
    kept = np.sort(rng.choice(trees, size=trees - max(1, round(_DROPPED_SHARE * trees)), replace=False))
    wrong = case.forest.votes(case.X_trigger)[:, kept] != case.y_trigger[:, None]
    return float(10.0 ** align_in_order(wrong, case.signature, rng, draws=1999).log10_p)


def by_probabilities(case: Case, rng: np.random.Generator) -> float:
    """Return the p-value from class probabilities alone."""
    triggers, decoys = (case.forest.vote_shares(X)[np.arange(len(X)), y] for X, y in case.rows)
    return float(10.0 ** log10_by_probabilities(triggers, decoys, case.signature))


def by_labels(case: Case, rng: np.random.Generator) -> float:
    """Return the p-value from labels alone."""
    triggers, decoys = (case.forest.predict(X) != y for X, y in case.rows)
    return float(10.0 ** log10_by_labels(triggers, decoys))


def by_codebook(case: Case, rng: np.random.Generator) -> float:
    """Return the p-value of the votes of all trees, in order, on a codebook drawn for them."""
    wrong, book, errors = _against_codebook(case, rng)
    return float(10.0 ** log10_in_order(wrong, book.array == 1, book.share, float(errors.mean())))


def by_matching(case: Case, rng: np.random.Generator) -> float:
    """Return the p-value of the best matching of the trees, shuffled, with a codebook's columns."""
    wrong, book, errors = _against_codebook(case, rng)
    order = rng.permutation(case.forest.n_trees)
    return float(10.0 ** match_columns(wrong[:, order], book.array == 1, book.share, errors[order]).log10_p)


def _against_codebook(
    case: Case, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Codebook, NDArray[np.float64]]:
    """Return the wrong votes on trigger rows, a codebook, and each tree's share of errors on decoys."""
    (X, y), (others, labels) = case.rows
    book = random_codebook(len(y), case.forest.n_trees, SCHEMES["codebook"].ones_share, rng)
    errors = (case.forest.votes(others) != labels[:, None]).mean(axis=0)
    return case.forest.votes(X) != y[:, None], book, errors


VERIFICATION: dict[str, PValue] = {
    "votes": by_votes,
    "aligned": by_alignment,
    "probabilities": by_probabilities,
    "labels": by_labels,
    "codebook": by_codebook,
    "codebook, matched": by_matching,
}
"""The p-values of verification, by name."""


def detection_p_values(case: Case) -> dict[str, float]:
    """Return every p-value that a detection attack states of this forest and signature, by name.

    The spectrum is that of the votes on the decoys.
    """
    found: dict[str, float] = {}
    for row in detect(case.forest, case.signature):
        name = f"{row.measure} {row.strategy}"
        found[f"{name} exact"] = row.p_value_exact
        if row.p_value is not None:
            found[name] = row.p_value
    spectrum = vote_spectrum(case.forest.vote_codes(case.X_decoy))
    rankings = [
        *detect_by_shape(case.forest, case.signature),
        *ranked("spectrum", spectrum.scores, case.signature),
    ]
    return found | {row.measure + " split" * (row.strategy == SPLIT): row.p_value_exact for row in rankings}


def presence_p_values(
    reference: Sequence[Mapping[str, float]], tested: Sequence[Mapping[str, float]]
) -> dict[str, list[float]]:
    """Return the presence p-values of honest forests compared with other honest ones, by name.

    All are compared with the same reference, so they are not quite independent of one another: an interval
    for their rate is a little too narrow unless the reference is large.
    """
    results = [presence_test(one, reference) for one in tested]
    return {
        "presence: maximum": [result.p_value for result in results],
        "presence: Holm": [min(result.holm) for result in results],
    }


def all_p_values(case: Case, rng: np.random.Generator) -> dict[str, float]:
    """Return every p-value of verification and detection for one false claim."""
    verified = {f"verify: {name}": p_value(case, rng) for name, p_value in VERIFICATION.items()}
    return verified | {f"detect: {name}": found for name, found in detection_p_values(case).items()}


def gather(cases: Iterable[Case], seed: int, *, first: int = 0) -> dict[str, list[float]]:
    """Return all p-values of many false claims, by name; one number for each claim.

    Parameters
    ----------
    cases
        The claims, numbered from `first`.
    seed
        Of the streams that permutation nulls are drawn from, one for each claim.
    """
    found: dict[str, list[float]] = {}
    for number, case in enumerate(cases, first):
        rng = streams.generator(seed, Role.NULL, number)
        for name, p_value in all_p_values(case, rng).items():
            found.setdefault(name, []).append(p_value)
    return found


def calibrate(
    populations: Mapping[str, Mapping[str, Sequence[float]]], levels: Sequence[float] = LEVELS
) -> tuple[Rate, ...]:
    """Count false positives.

    Parameters
    ----------
    populations
        P-values of false claims, by population and then by name.
    levels
        Each in (0, 1).

    Returns
    -------
    One row for each population, p-value and level. The chance that any alarm is false is below
    1 - `CONFIDENCE`, for any number of rows.
    """
    tables = [
        (population, name, level, np.asarray(values, dtype=np.float64))
        for population, named in populations.items()
        for name, values in named.items()
        for level in levels
    ]
    # Half of an interval's error lies below it, and only that half can raise an alarm.
    corrected = 1 - 2 * (1 - CONFIDENCE) / max(2, len(tables))
    rows = []
    for population, name, level, values in tables:
        # Rounding may put a p-value that equals the level just above it.
        hits = int(np.count_nonzero(values <= level * (1 + 1e-9)))
        shown = _interval(hits, len(values), CONFIDENCE)
        rows.append(
            Rate(
                p_value=name,
                population=population,
                level=level,
                hits=hits,
                trials=len(values),
                rate=hits / len(values) if len(values) else float("nan"),
                low=shown.low,
                high=shown.high,
                anti_conservative=_interval(hits, len(values), corrected).low > level,
            )
        )
    return tuple(rows)
