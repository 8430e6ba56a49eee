"""A line-up for an honest forest whose data, settings and seed were kept, but to which nobody committed.

The owner says: my forest is scikit-learn's `RandomForestClassifier` of this seed on these rows. A judge
trains it again, among trees of seeds of the judge's own. Nothing shows that the seed was not chosen
afterwards, so

- the verdict is never better than *indication*;
- p is multiplied by the number of seeds that the library takes, 2^32, as if all had been tried (looking
  through G of them lowers the smallest p by a factor of G at most), and by the settings tried;
- seeds that many people use are refused: another's innocent forest on the same public rows would be equal.

The null hypothesis is that the suspect is independent of the trees of the seed; that these are as good as
drawn is an assumption about the library's generator, which a commitment makes unnecessary.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.lineup.entropy import check_entropy
from wm.embedding.lineup.trees import votes_of_seeds
from wm.errors import ClaimError
from wm.verification.evidence import DEFAULT_LEVEL
from wm.verification.judgement import Judgement, Response, Significance, VerdictKind, best_response
from wm.verification.lineup.candidates import Lineup, lined_up
from wm.verification.lineup.evidence import lineup_tests
from wm.verification.lineup.judge import Judge

SEEDS = 2**32
"""Values of scikit-learn's `random_state`."""

SMALLEST = 10_000
"""Smaller seeds are common."""

_DATE = "(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"

_RUN = "12345678901234567890"


def is_common(seed: int) -> bool:
    """Return whether many people may use a seed: small, a date, digits in a row or repeated, near 2^n."""
    text = str(seed)
    return (
        seed < SMALLEST
        or re.fullmatch(_DATE, text) is not None
        or text in _RUN
        or text in _RUN[::-1]
        or re.fullmatch(r"(.+?)\1+", text) is not None
        or any((seed + offset).bit_count() == 1 for offset in (-1, 0, 1))
    )


def check_seed(seed: int) -> None:
    """Raise `ClaimError` for a seed that scikit-learn does not take, or that many people use."""
    if not 0 <= seed < SEEDS:
        raise ClaimError(f"{seed} is no random_state of scikit-learn: 0 to {SEEDS - 1}")
    if is_common(seed):
        raise ClaimError(
            f"{seed} is a seed that many people use: an innocent forest on the same rows may have it too"
        )


def seeds_of_forest(seed: int, trees: int) -> list[int]:
    """Return the `random_state` of each tree of a `RandomForestClassifier`, as scikit-learn draws it."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(trees, max_depth=1, bootstrap=False, random_state=seed)
    model.fit(np.array([[0.0], [1.0]]), [0, 1])
    return [int(tree.random_state) for tree in model.estimators_]


def retroactive_lineup(
    rows: TrainingRows,
    settings: TreeSettings,
    seed: int,
    trees: int,
    X: NDArray[np.float32],
    *,
    candidates: int,
    judge: Judge,
    n_jobs: int = 1,
) -> Lineup:
    """Train the trees of a forest's seed and the judge's decoys, and return their votes on queries.

    Parameters
    ----------
    rows
        In the order in which the forest was trained on them: it decides ties between splits.
    seed
        The forest's `random_state`.
    X : (q, d)
    candidates
        N, at least 2.

    Raises
    ------
    ClaimError
        A common seed, or one that scikit-learn does not take.
    """
    check_seed(seed)
    check_entropy(settings, rows, trees)
    places, every = lined_up(seeds_of_forest(seed, trees), candidates, judge)
    votes = votes_of_seeds(rows, settings, every, X, n_jobs=n_jobs)
    return Lineup(votes.reshape(trees, candidates, len(X)), places)


def judge_retroactive(
    lineup: Lineup,
    given: Response,
    *,
    settings_tried: int = 1,
    tried: int = 1,
    level: float = DEFAULT_LEVEL,
) -> Judgement:
    """Judge a suspect by a retroactive line-up: an indication, or not verified.

    Parameters
    ----------
    given
        The suspect's answers to all queries of the line-up.
    settings_tried
        Numbers of trees, depths, other settings and versions of the rows that the claimant could have tried.
    tried
        Suspects tried.
    """
    if settings_tried < 1 or tried < 1:
        raise ClaimError("settings and suspects tried must be at least 1")
    given, tests, ways = best_response(given, lambda each: lineup_tests(lineup, each.answers))
    multiplicity = float(SEEDS) * settings_tried * tried * math.prod(factor for factor, _ in ways)
    found = Significance.of(tests, multiplicity, level)
    kind = VerdictKind.NOT_VERIFIED if found.is_reachable else VerdictKind.UNJUDGED
    return Judgement(
        verdict=VerdictKind.INDICATION if found.is_reached else kind,
        reason=found.reason,
        tests=tests,
        log10_p=found.log10_p,
        level=level,
        multiplicity=multiplicity,
        factors=(
            f"seeds to choose from: {SEEDS}",
            f"settings tried: {settings_tried}",
            f"suspects tried: {tried}",
            *(text for _, text in ways),
        ),
        open_questions=("nobody committed to the seed before the suspect appeared",),
        notes=(
            *given.notes,
            f"{lineup.votes.shape[1]} candidates for each of {lineup.votes.shape[0]} positions",
        ),
        needed="" if found.is_reached else "perhaps more candidates or queries",
    )
