"""Line-ups from end to end: suspects by all kinds of answers, honest forests, and the verdict's rules."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import wm
from tests import lineups, witness
from tests.pools import owners
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.claimed import own_receipt
from wm.embedding.lineup.claimed import commit_lineup, embed_lineup, trained_forest
from wm.embedding.lineup.context import canonical_rows
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, Response, VerdictKind
from wm.verification.lineup.candidates import Lineup, committed_lineup, committed_places, retrained_lineup
from wm.verification.lineup.evidence import lineup_tests
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.judgement import judge_lineup, model_lineup_answers
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import build_queries

N = 12
LATER = Requirements(suspect_since=datetime(2025, 6, 30, tzinfo=UTC))


@pytest.fixture(scope="module")
def owner():
    return lineups.owner()


@pytest.fixture(scope="module")
def lineup(owner):
    return retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE)


def other(owner, seed=5, trees=lineups.TREES) -> Forest:
    """Return an honest forest of the same rows and settings."""
    seeds = np.random.default_rng(seed).integers(2**31, size=trees).tolist()
    return trained_forest(owner.rows, lineups.SETTINGS, seeds)


def judged(owner, lineup, suspect, requirements=LATER, claim=None, trust=witness.TRUST):
    claim = claim or owner.claim
    given = model_lineup_answers(suspect, claim.header, owner.queries)
    return judge_lineup(claim, lineup, owner.queries, given, requirements, trust=trust)


def smallest(lineup, kind, values):
    return min(each.log10_adjusted for each in lineup_tests(lineup, {kind: Answers(kind, values)}))


def test_a_rare_class_that_is_hardly_ever_answered_is_no_guess(monkeypatch):
    """Balanced accuracy is near one half for either order of the classes: names decide, not chance."""
    monkeypatch.setattr("wm.verification.lineup.queries._MAX_TRIED", 2)
    rng = np.random.default_rng(0)

    def rows_of(count):
        X = rng.normal(size=(count, 6)).astype(np.float32)
        return X, (rng.random(count) < 0.03 * np.exp(X[:, 0])).astype(np.int64)

    X, y = rows_of(600)
    settings = TreeSettings(max_depth=4)
    made = commit_lineup(
        owners(X, y), trees=lineups.TREES, training=settings, owner="ab" * 32, model_id="rare", seed=1
    )
    owned = embed_lineup(made.claim, [witness.witness(made.claim)], X, y)
    rows = canonical_rows(X, y)
    queries = build_queries(Counts(boundary=500, leaning=0), rows, rows_of(400), settings, lineups.JUDGE)
    places = retrained_lineup(owned.claim, rows, queries.X, candidates=N, judge=lineups.JUDGE)
    for suspect, notes in (
        (owned.forest, ()),
        (owned.forest.changed(value=owned.forest.value[:, ::-1]), ("classes exchanged",)),
    ):
        given = model_lineup_answers(suspect, owned.claim.header, queries)
        found = judge_lineup(owned.claim, places, queries, given, LATER, trust=witness.TRUST)
        assert given.notes == notes
        assert found.verdict is VerdictKind.VERIFIED
        assert owned.forest.predict(queries.X[:400]).mean() < 0.02
        assert any("boundary points were found" in note for note in found.notes)


def test_the_owners_trees_stand_in_the_line_up_at_their_places(owner, lineup):
    votes = lineup.votes[np.arange(lineups.TREES), lineup.places]
    assert np.array_equal(votes.T, owner.forest.votes(owner.queries.X))
    assert len(set(lineup.places.tolist())) > 3


def test_a_copy_is_verified_and_an_honest_forest_is_not(owner, lineup):
    found = judged(owner, lineup, owner.forest)
    assert (found.verdict, found.open_questions) == (VerdictKind.VERIFIED, ())
    assert found.log10_p < -9.5
    assert found.tests[0].log10_floor == pytest.approx(math.log10(2) - lineups.TREES * math.log10(N))
    honest = judged(owner, lineup, other(owner))
    assert honest.verdict is VerdictKind.NOT_VERIFIED
    assert honest.log10_p > -2


@pytest.mark.parametrize(
    "change",
    [
        lambda forest: forest.select(np.random.default_rng(1).permutation(forest.n_trees)),
        lambda forest: forest.select([7, 2, 9, 0, 4, 1, 6]),
        lambda forest: forest.select([*range(forest.n_trees), 3, 3]),
        lambda forest: replace(forest, classes=np.array(["no", "yes"])),
        lambda forest: replace(forest, value=forest.value[:, ::-1]),
        lambda forest: replace(forest, threshold=np.where(forest.is_leaf, 0, forest.threshold + 0.01)),
    ],
    ids=["shuffled", "dropped and shuffled", "added", "named", "classes exchanged", "noise"],
)
def test_changed_copies_are_verified(owner, lineup, change):
    found = judged(owner, lineup, change(owner.forest))
    assert found.verdict is VerdictKind.VERIFIED, found


def test_a_third_of_the_trees_can_be_replaced(owner, lineup):
    both = [owner.forest.votes(owner.queries.X), other(owner).votes(owner.queries.X)]
    mixed = np.where(np.arange(lineups.TREES) < 7, *both)
    assert smallest(lineup, "votes", mixed) < -5


def test_shares_and_labels_alone(owner, lineup):
    """A line-up of 10 trees cannot tell much by labels: just that they are not another forest's."""
    votes = owner.forest.votes(owner.queries.X)
    shares, labels = np.round(votes.mean(axis=1), 2), owner.forest.predict(owner.queries.X)
    assert smallest(lineup, "probabilities", shares) < -8
    assert smallest(lineup, "probabilities", shares**2) < -4  # recalibrated
    assert smallest(lineup, "labels", labels) < -1
    assert smallest(lineup, "votes", np.repeat(labels[:, None], 10, axis=1)) < -0.5  # collapsed


def test_p_values_of_honest_forests_are_not_smaller_than_uniform(owner, lineup):
    """Each suspect has a line-up of its own places; three kinds of answers, 40 forests."""
    rng = np.random.default_rng(11)
    found = {"votes": [], "probabilities": [], "labels": []}
    for number in range(40):
        votes = other(owner, seed=100 + number).votes(owner.queries.X)
        moved = replace(lineup, places=rng.integers(N, size=lineups.TREES))
        answers = {"votes": votes, "probabilities": votes.mean(axis=1), "labels": votes.mean(axis=1) > 0.5}
        for kind, values in answers.items():
            found[kind].append(smallest(moved, kind, values))
    for logs in found.values():
        # Of 40 uniform values at most 10 are below 0.1, and at most 25 below 0.4, but for one in 1,000 tries.
        assert sum(value <= -1 for value in logs) <= 10
        assert sum(value <= math.log10(0.4) for value in logs) <= 25


def test_a_draw_that_nobody_witnessed_is_an_indication(owner, lineup):
    found = judged(owner, lineup, owner.forest, trust=None)
    assert found.verdict is VerdictKind.INDICATION
    assert "no beacon that you trust" in found.open_questions[0]
    assert judged(owner, lineup, owner.forest, Requirements()).verdict is VerdictKind.INDICATION


def test_suspects_tried_count(owner, lineup):
    asked = replace(LATER, tried=1000)
    once, often = (judged(owner, lineup, owner.forest, each) for each in (LATER, asked))
    assert often.log10_p == pytest.approx(once.log10_p + 3)
    assert "suspects tried: 1000" in often.factors


def test_committed_candidates_need_a_witness_before_the_suspect():
    owner = lineups.owner(committed=N)
    lineup = committed_lineup(owner.claim, owner.candidates, owner.queries.X)
    assert judged(owner, lineup, owner.forest).verdict is VerdictKind.VERIFIED
    assert judged(owner, lineup, other(owner)).verdict is VerdictKind.NOT_VERIFIED
    for requirements, trust in ((LATER, None), (Requirements(), witness.TRUST)):
        found = judged(owner, lineup, owner.forest, requirements, trust=trust)
        assert found.verdict is VerdictKind.UNJUDGED
        assert "can commit to its trees among others afterwards" in found.reason


def test_who_commits_to_a_stolen_forest_before_the_draw_proves_nothing(owner):
    """The false claimant's candidates are the victim's trees, each among honest ones; a beacon draws."""
    decoys = other(owner, seed=6, trees=lineups.TREES * N)
    arrays = [decoys.select(range(i * N, (i + 1) * N - 1)) for i in range(lineups.TREES)]
    votes = np.stack(
        [
            np.concatenate([one.votes(owner.queries.X).T, owner.forest.select([i]).votes(owner.queries.X).T])
            for i, one in enumerate(arrays)
        ]
    ).astype(np.uint8)
    claim = lineups.owner(committed=N, seed=3).claim
    forged = Lineup(votes, committed_places(claim))
    assert judged(owner, forged, owner.forest, claim=claim).log10_p > -3


def test_a_line_up_that_is_too_small_says_so(owner):
    small = retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=2, judge=lineups.JUDGE)
    found = judged(owner, small, owner.forest)
    assert found.verdict is VerdictKind.UNJUDGED
    assert "cannot give p below 10^-2.2" in found.reason
    assert found.needed.startswith("more candidates for each position")


def test_answers_that_cannot_be_used_are_not_judged(owner, lineup):
    rng = np.random.default_rng(4)
    asked = np.arange(len(owner.queries.y))
    guesses = Response({"labels": Answers("labels", rng.integers(2, size=len(asked)))}, asked)
    found = judge_lineup(owner.claim, lineup, owner.queries, guesses, LATER, trust=witness.TRUST)
    assert found.verdict is VerdictKind.UNJUDGED
    assert "like a guess" in found.reason
    labels = Answers("labels", other(owner).predict(owner.queries.X))
    unsteady = Response({"labels": labels}, asked, asked_twice=10, answered_differently=2)
    found = judge_lineup(owner.claim, lineup, owner.queries, unsteady, LATER, trust=witness.TRUST)
    assert "2 of 10 repeated questions" in found.reason
    first = Response({"labels": labels.take([0])}, asked[:1])
    with pytest.raises(ClaimError, match="an answer to each of the"):
        judge_lineup(owner.claim, lineup, owner.queries, first, LATER)


def test_the_wrong_mode_or_rows_are_refused(owner):
    committed = lineups.owner(committed=3)
    with pytest.raises(ClaimError, match="commits to its candidates"):
        retrained_lineup(committed.claim, owner.rows, owner.queries.X, candidates=5, judge=lineups.JUDGE)
    with pytest.raises(ClaimError, match="commits to no candidates"):
        committed_lineup(owner.claim, committed.candidates, owner.queries.X)
    with pytest.raises(ClaimError, match="at least 2 candidates"):
        retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=1, judge=lineups.JUDGE)
    bare = owner.claim.model_copy(update={"receipts": ()})
    with pytest.raises(ClaimError, match="holds no beacon's receipt"):
        retrained_lineup(bare, owner.rows, owner.queries.X, candidates=5, judge=lineups.JUDGE)


def test_committed_candidates_judge_with_rows_of_any_source(owner):
    committed = lineups.owner(committed=12)
    X, y = lineups.rows_of(7)
    judge = {"rows": (X, np.array(["no", "yes"])[y]), "trust": witness.TRUST, "requirements": LATER}
    found = wm.verify(committed.claim, committed.forest, candidates=committed.candidates, **judge)
    assert (found.verdict, found.log10_p < -6) == (VerdictKind.VERIFIED, True), found
    innocent = wm.verify(committed.claim, owner.forest, candidates=committed.candidates, **judge)
    assert innocent.verdict is VerdictKind.NOT_VERIFIED
    with pytest.raises(ClaimError, match="not those that the claim's forest"):
        wm.verify(committed.claim, committed.forest, **judge)


def test_a_judge_repeats_a_line_up_by_its_seed(owner):
    one, again, another = (
        retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=3, judge=Judge(seed))
        for seed in ("a", "a", "b")
    )
    assert np.array_equal(one.votes, again.votes)
    assert not np.array_equal(one.places, another.places)
    assert Judge.fresh() != Judge.fresh()


def test_a_claim_whose_owner_chose_the_draw_never_proves(owner, lineup):
    bare = owner.claim.model_copy(update={"receipts": (own_receipt(1),)})
    assert judged(owner, lineup, owner.forest, claim=bare).verdict is VerdictKind.INDICATION
