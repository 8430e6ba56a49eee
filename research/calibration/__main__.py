"""Simulate verdicts on honest suspects and write docs/calibration-of-verdicts.md; some minutes on one core.

python -m research.calibration [--suspects 200] [--draws 600] [-o docs/calibration-of-verdicts.md]
python -m research.calibration --part boosted    # that section alone, in the document that is there; 4 minutes
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from pathlib import Path

import numpy as np

from orchestrator.report.markdown import table
from research.calibration import boosted
from research.calibration.pools import POOL, TREES, pools, suspects
from research.calibration.simulation import ONES, SIGNATURES, K, P, judge, simulate
from wm.statistics import clopper_pearson
from wm.verification.evidence import DEFAULT_LEVEL

LEVELS = (0.05, 0.01, 0.001)
TITLES = ("pool", "test", "n", *(f"share of p <= {level:g}" for level in LEVELS), "excess", "KS bound")

TEXT = """# Calibration of verdicts

Written by `python -m research.calibration`; every number is of its run.

Suspects are {suspects} honest forests of {trees} trees on breast-cancer. A quarter each was trained on the published
split, on it with 30% label noise, and on rows of others; the last quarter repeats five trees fourteen times. A claimant who
wants them to look stolen commits to {pool} rows of six kinds. Draws have {k} trigger rows and {ones} ones in {trees} bits,
{draws} draws of rows for each suspect and pool, and for the bits {signatures} signatures for every tenth of these.

A valid p-value is at most x with probability at most x under the null hypothesis. The table gives the share of p-values up
to three levels (the false-positive rate of each test at that level), with the exact interval (Clopper and
Pearson, 95%); the largest excess of their distribution function over the diagonal; and the Kolmogorov-Smirnov
bound, exp(-2 n excess^2), of the probability of at least this excess if the p-values are valid. Shares
below a level are expected: p-values are discrete. The forests' probabilities are their shares of votes, so the test of
rows by votes is here the better of rows by probabilities and by rank, doubled. The smallest of the {bounds} bounds of
this table is {smallest:.2g}; if all tests are valid, it is {expected:.2g} or less in one of 20 such tables.

{simulated}

## Real claims
{verdicts} verdicts on {claims} real claims and as many openings, by `judge_sample`: the smallest p-value of each
verdict after Holm's correction, over all pools. {positive} verdicts were positive at the level {level:g}: the
false-positive rate is at most {bound:.2g} (95%).

{judged}
"""

BOOSTED = """## Boosted models
Written by `python -m research.calibration --part boosted`; in the whole document it is the last section.

Suspects are {models} honest boosted models of {trees} trees on each data set: a third trained on the owner's rows, a third
on these with 30% label noise, a third on rows of others. {draws} draws for each model take {k} trigger rows of the owner's
rows and toss a coin for each of their bits; all tests of scheme `boosted` are then run as in a verdict. Of the smallest of
them, after Holm's correction, {positive} of {verdicts} are at most {level:g}: the false-positive rate is at most {bound:.2g} (95%).
The smallest of the {bounds} Kolmogorov-Smirnov bounds is {smallest:.2g}; if all tests are valid, it is
{expected:.2g} or less in one of 20 such tables. The aligned test is a bound by Markov's inequality and hardly ever small by chance.

{table}
"""


def line(pool: str, test: str, p: P) -> tuple[str, ...]:
    """Return a row of a table."""
    shares = []
    for level in LEVELS:
        hits = int((p <= level).sum())
        low, high = clopper_pearson(hits, len(p))
        shares.append(f"{hits / len(p):.5f} [{low:.5f}, {high:.5f}]")
    return pool, test, f"{len(p):,}", *shares, f"{excess(p):.4f}", f"{ks_bound(p):.2g}"


def excess(p: P) -> float:
    """Return the largest amount by which the distribution function of p-values is above the diagonal."""
    ordered = np.sort(p)
    return max(0.0, float((np.arange(1, len(p) + 1) / len(p) - ordered).max()))


def ks_bound(p: P) -> float:
    """Return an upper bound of the probability of such an excess for honest p-values (Massart 1990)."""
    return min(1.0, math.exp(-2 * len(p) * excess(p) ** 2))


def document(count: int, draws: int) -> str:
    """Run everything and return the document."""
    honest = suspects(count)
    simulated: dict[tuple[str, str], P] = {}
    smallest: dict[str, list[P]] = defaultdict(list)
    positive = 0
    for seed, (name, pool) in enumerate(pools()):
        for test, p in simulate(pool, honest, draws=draws, seed=seed).items():
            simulated[name, test] = p
        judged, hits = judge(pool, honest)
        positive += hits
        for kind, p in judged.items():
            smallest[kind].append(p)
    joined = {kind: np.concatenate(parts) for kind, parts in smallest.items()}
    total = sum(map(len, joined.values()))
    bounds = [ks_bound(p) for p in simulated.values()]
    return TEXT.format(
        suspects=count,
        trees=TREES,
        pool=POOL,
        k=K,
        ones=ONES,
        draws=draws,
        signatures=SIGNATURES,
        bounds=len(bounds),
        smallest=min(bounds),
        expected=1 - 0.95 ** (1 / len(bounds)),
        simulated=table(TITLES, (line(*key, p) for key, p in simulated.items())),
        verdicts=f"{total:,}",
        claims=f"{len(joined['votes']):,}",
        positive=positive,
        level=DEFAULT_LEVEL,
        bound=clopper_pearson(positive, total).high,
        judged=table(TITLES[1:], (line("", kind, p)[1:] for kind, p in joined.items())),
    )


def boosted_section(models: int, draws: int) -> str:
    """Run the study of boosted models and return its section."""
    found = boosted.p_values(models, draws)
    bounds = [ks_bound(p) for p in found.values()]
    smallest = np.concatenate([p for (_, test), p in found.items() if test == boosted.SMALLEST])
    positive = int((smallest <= DEFAULT_LEVEL).sum())
    return BOOSTED.format(
        models=models,
        trees=boosted.TREES,
        draws=draws,
        k=boosted.K,
        positive=positive,
        verdicts=f"{len(smallest):,}",
        level=DEFAULT_LEVEL,
        bound=clopper_pearson(positive, len(smallest)).high,
        bounds=len(bounds),
        smallest=min(bounds),
        expected=1 - 0.95 ** (1 / len(bounds)),
        table=table(("data", *TITLES[1:]), (line(*key, p) for key, p in found.items())),
    )


def before_boosted(text: str) -> str:
    """Return a document without its last section, of boosted models, if it has it."""
    return text.split(BOOSTED.splitlines()[0])[0].rstrip() + "\n\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suspects", type=int, default=200)
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--models", type=int, default=300, help="honest boosted models on each data set")
    parser.add_argument("--boosted-draws", type=int, default=6, help="draws for each of these")
    parser.add_argument("--part", choices=("all", "boosted"), default="all")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/calibration-of-verdicts.md"))
    given = parser.parse_args()
    whole = given.part == "all"
    forests = document(given.suspects, given.draws) if whole else given.output.read_text()
    given.output.write_text(before_boosted(forests) + boosted_section(given.models, given.boosted_draws))
