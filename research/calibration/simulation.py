"""p-values of honest suspects over draws of a beacon.

An honest suspect is independent of the beacon's value, so each draw is a fresh test. The forests are trained
once; the distribution of each statistic over all draws is computed once for a suspect and a pool, and looked
up for every draw. `judge` takes the long way, with real claims, openings and verdicts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from research.calibration.pools import TREES, Labels, Pool
from wm.claims.keys import new_key, public_hex
from wm.claims.opened import challenged_rows, open_claim
from wm.embedding.claimed import commit_pool, own_receipt
from wm.forest import Forest
from wm.owner_rows import OwnerRows
from wm.verification.answers import Answers
from wm.verification.judgement import Response, VerdictKind, judge_sample
from wm.verification.samples import sample_of
from wm.verification.tails import sums

K, ONES = 8, TREES // 2
SIGNATURES = 4
"""Signatures for each draw of rows that the test of bits takes."""

P = NDArray[np.float64]
Votes = NDArray[np.int64]


def scores(votes: Votes, labels: Labels) -> dict[str, NDArray[np.int64]]:
    """Return the score of each row, (N,), in every test over rows; votes are (N, m)."""
    wrong = (votes != labels[:, None]).mean(axis=1)
    closeness = 2 * rankdata(-np.round(np.abs(wrong - ONES / TREES), 9))
    by_label = np.zeros(len(labels))
    for label in np.unique(labels):
        rows = labels == label
        by_label[rows] = 2 * rankdata(wrong[rows]) - 2 * rows.sum()
    found = {
        "rows by probabilities": closeness,
        "rows by rank": by_label,
        "rows by labels": (votes.mean(axis=1) > 0.5) != labels,
    }
    return {name: np.asarray(each, dtype=np.int64) for name, each in found.items()}


def row_p_values(votes: Votes, labels: Labels, subsets: NDArray[np.int64]) -> dict[str, P]:
    """Return the p-value of each drawn subset, (draws, size), in every test over rows.

    The probabilities are the shares of votes: the test of rows by votes is the better of two others, doubled.
    """
    found = {name: p_values(values, subsets) for name, values in scores(votes, labels).items()}
    best = np.minimum(found["rows by probabilities"], found["rows by rank"])
    return {"rows by votes": np.minimum(1.0, 2 * best), **found}


def p_values(values: NDArray[np.int64], subsets: NDArray[np.int64]) -> P:
    """Return the p-value of each drawn subset, (draws, size), by the sum of its scores."""
    short = values.max() - values
    totals = short[subsets].sum(axis=1)
    shares: P = np.cumsum(sums(short, subsets.shape[1], int(totals.max())))[totals]
    return np.minimum(1.0, shares)


def draw_subsets(rng: np.random.Generator, draws: int, count: int, size: int) -> NDArray[np.int64]:
    """Return random subsets: (draws, size)."""
    return np.argpartition(rng.random((draws, count)), size - 1, axis=1)[:, :size]


def simulate(pool: Pool, suspects: Sequence[Forest], *, draws: int, seed: int) -> dict[str, P]:
    """Return the p-values of every test over draws of trigger rows and signatures.

    Parameters
    ----------
    draws
        Of trigger rows for each suspect; the test of bits takes every tenth, with `SIGNATURES` each.
    """
    X, labels = pool
    rng = np.random.default_rng(seed)
    found: dict[str, list[P]] = defaultdict(list)
    for suspect in suspects:
        votes = suspect.votes(X).astype(np.int64)
        rows = draw_subsets(rng, draws, len(labels), K)
        for name, values in row_p_values(votes, labels, rows).items():
            found[name].append(values)
        wrong = (votes != labels[:, None]).astype(np.int64)
        for chosen in rows[::10]:
            found["bits"].append(
                p_values(wrong[chosen].sum(axis=0), draw_subsets(rng, SIGNATURES, TREES, ONES))
            )
    return {name: np.concatenate(parts) for name, parts in found.items()}


def judge(pool: Pool, suspects: Sequence[Forest]) -> tuple[dict[str, P], int]:
    """Judge suspects by real claims of a pool, each with a draw of its own, whole and opened in part.

    Returns
    -------
    For each kind of answers the smallest p-value after Holm's correction, of each verdict; and the number of
    verdicts that were "verified", or "indication" where only a witness of the draw is missing.
    """
    X, labels = pool
    key, found, positive = new_key(), defaultdict[str, list[float]](list), 0
    for number, suspect in enumerate(suspects):
        names = tuple(str(index) for index in range(X.shape[1]))
        claim = commit_pool(
            OwnerRows(X, labels, ("0", "1"), names),
            trees=TREES,
            ones_share=ONES / TREES,
            trigger_size=K,
            owner=public_hex(key),
            model_id="false",
        ).model_copy(update={"receipts": (own_receipt(None),)})
        whole = sample_of(claim)
        rows = challenged_rows(
            claim.commitment, str(number), whole.draw.triggers, len(X), shown=4, controls=150
        )
        opened = sample_of(open_claim(claim, key, str(number), rows))
        for sample, part in ((whole, ""), (opened, ", 4 of 8 opened")):
            votes = suspect.votes(sample.X).astype(np.int64)
            shares = votes.mean(axis=1)
            for answers in (
                Answers("votes", votes),
                Answers("probabilities", shares),
                Answers("labels", (shares > 0.5).astype(np.int64)),
            ):
                judgement = judge_sample(sample, Response({answers.kind: answers}, np.arange(len(votes))))
                found[answers.kind + part].append(10 ** min(t.log10_adjusted for t in judgement.tests))
                positive += judgement.verdict in (VerdictKind.VERIFIED, VerdictKind.INDICATION)
    return {name: np.array(values) for name, values in found.items()}, positive
