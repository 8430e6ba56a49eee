"""False claims of scheme lineup: whatever is committed, an independent suspect is not verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests import lineups, witness
from tests.pools import owners
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.boosted.newton import model_of_steps
from wm.embedding.lineup.boosting import first_margins, train_rounds
from wm.embedding.lineup.claimed import commit_lineup, embed_lineup, trained_forest
from wm.embedding.lineup.context import canonical_rows
from wm.errors import ClaimError, EmbeddingError
from wm.verification.judgement import Requirements, VerdictKind
from wm.verification.lineup.candidates import Lineup, retrained_lineup
from wm.verification.lineup.judgement import UNKNOWN_ROWS, judge_lineup, lineup_answers, model_lineup_answers
from wm.verification.lineup.queries import Queries
from wm.verification.lineup.rounds import round_lineup

ASKED = Requirements(suspect_since=witness.SINCE)


def judged(claim, lineup, queries, suspect, requirements=ASKED):
    given = model_lineup_answers(suspect, claim.header, queries)
    return judge_lineup(claim, lineup, queries, given, requirements, trust=witness.TRUST)


@pytest.fixture(scope="module")
def victim():
    """A forest that somebody trained on public rows with seeds that everybody knows."""
    rows = canonical_rows(*lineups.rows_of(0))
    return trained_forest(rows, lineups.SETTINGS, list(range(lineups.TREES)))


def test_public_rows_and_common_seeds_are_not_the_claimants(victim):
    """The false claimant has the victim's rows, settings and model, and commits with all of them in view."""
    for seed in range(4):
        false = lineups.owner(seed=seed)
        X = false.queries.X
        lineup = retrained_lineup(false.claim, false.rows, X, candidates=12, judge=lineups.JUDGE)
        assert judged(false.claim, lineup, false.queries, victim).verdict is VerdictKind.NOT_VERIFIED


def test_the_victims_trees_as_half_of_the_candidates_gain_nothing(victim):
    """Candidates may be chosen as one likes: the draw then takes the victim's with probability 1/2 each."""
    false = lineups.owner(committed=12)
    votes = victim.votes(false.queries.X).T.astype(np.uint8)
    decoys = trained_forest(false.rows, lineups.SETTINGS, list(range(500, 560))).votes(false.queries.X)
    decoys = decoys.T.astype(np.uint8).reshape(lineups.TREES, 6, -1)
    both = np.concatenate([np.repeat(votes[:, None], 6, axis=1), decoys], axis=1)
    rng = np.random.default_rng(1)
    small = sum(
        judged(false.claim, Lineup(both, rng.integers(12, size=10)), false.queries, victim).log10_p <= -1
        for _ in range(40)
    )
    assert small <= 10
    all_right = judged(false.claim, Lineup(both, np.zeros(10, dtype=np.int64)), false.queries, victim)
    assert all_right.log10_p >= 10 * np.log10(0.5) - 0.01
    only = Lineup(np.repeat(votes[:, None], 12, axis=1), np.zeros(10, dtype=np.int64))
    assert judged(false.claim, only, false.queries, victim).log10_p == 0


def test_rows_that_a_claimant_chose_for_a_suspect_are_an_open_question(victim):
    """Among many rows those on which each of his trees votes like the suspect's, in the same rare way."""
    false = lineups.owner(seed=3)
    X, y = lineups.rows_of(17, 20_000)
    own, others = false.forest.votes(X), victim.votes(X)
    alike = ((own - own.mean(1, keepdims=True)) * (others - others.mean(1, keepdims=True))).sum(axis=1)
    chosen = np.argsort(-alike)[:100]
    evidence = {}
    for name, places in (("chosen", chosen), ("any", np.arange(100))):
        queries = Queries(X[places], y[places], false.rows.X)
        lineup = retrained_lineup(false.claim, false.rows, queries.X, candidates=12, judge=lineups.JUDGE)
        given = model_lineup_answers(victim, false.claim.header, queries)
        found = judge_lineup(
            *(false.claim, lineup, queries, given, replace(ASKED, level=1e-4)),
            trust=witness.TRUST,
            open_questions=(UNKNOWN_ROWS,),
        )
        evidence[name] = found.log10_p
        assert found.verdict in (VerdictKind.NOT_VERIFIED, VerdictKind.INDICATION)
    assert evidence["chosen"] < -4 < evidence["any"]


def test_rows_on_which_all_trees_are_alike_prove_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    column = rng.normal(size=(120, 1)).astype(np.float32)
    X, y = np.repeat(column, 3, axis=1), (column[:, 0] > 0).astype(np.int64)
    common = {"trees": 12, "training": TreeSettings(), "owner": "ab" * 32, "model_id": "m", "seed": 1}
    with pytest.raises(EmbeddingError, match="differ by their seeds"):
        commit_lineup(owners(X, y), **common)
    monkeypatch.setattr("wm.embedding.lineup.claimed.check_entropy", lambda *_: None)  # of another program
    made = commit_lineup(owners(X, y), **common)
    owned = embed_lineup(made.claim, [witness.witness(made.claim)], X, y)
    rows = canonical_rows(X, y)
    asked = np.repeat(rng.normal(size=(100, 1)), 3, axis=1).astype(np.float32)
    queries = Queries(asked, (asked[:, 0] > 0).astype(np.int64), asked)
    lineup = retrained_lineup(owned.claim, rows, asked, candidates=5, judge=lineups.JUDGE)
    for suspect in (owned.forest, trained_forest(rows, TreeSettings(), list(range(12)))):
        found = judged(owned.claim, lineup, queries, suspect)
        assert (found.verdict, found.log10_p) == (VerdictKind.UNJUDGED, 0)


def test_a_receipt_of_an_earlier_commitment_is_not_taken():
    owner, earlier = lineups.owner(), lineups.owner(seed=9)
    borrowed = owner.claim.model_copy(update={"receipts": earlier.claim.receipts})
    lineup = retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=6, judge=lineups.JUDGE)
    with pytest.raises(ClaimError, match="of another commitment"):
        judged(borrowed, lineup, owner.queries, owner.forest)


def test_a_draw_after_the_suspect_appeared_is_not_verified():
    owner = lineups.owner()
    lineup = retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=12, judge=lineups.JUDGE)
    early = replace(ASKED, suspect_since=witness.DRAWN)
    found = judged(owner.claim, lineup, owner.queries, owner.forest, early)
    assert found.verdict is VerdictKind.INDICATION
    assert "is not older than the suspect" in found.open_questions[0]


def test_claims_on_a_boosted_model_that_somebody_else_trained_gain_nothing():
    """Twelve claimants have the victim's rows, settings and model: the smallest p is what chance gives."""
    start = lineups.boosted_owner(seed=0)
    steps = train_rounds(start.rows, lineups.BOOSTING, list(range(lineups.TREES)))
    victim = model_of_steps(steps, first_margins(start.rows)[:1], n_features=6, n_classes=2)
    given = lineup_answers(victim, start.claim.header, start.queries, what="the victim's")
    found = []
    for seed in range(12):
        false, X = lineups.boosted_owner(seed=seed), start.queries.X
        lineup = round_lineup(false.claim, false.rows, X, candidates=8, judge=lineups.JUDGE)
        judgement = judge_lineup(false.claim, lineup, start.queries, given, ASKED, trust=witness.TRUST)
        assert judgement.verdict is VerdictKind.NOT_VERIFIED
        found.append(judgement.log10_p)
    assert min(found) > -3
    assert sum(log10_p <= -1 for log10_p in found) <= 4
