"""The questions of a line-up."""

from __future__ import annotations

import numpy as np
import pytest

from tests import lineups
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.errors import ClaimError
from wm.verification.answers import Answers
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts, LineupOrder, sort_lineup_answers
from wm.verification.lineup.queries import UNLABELLED, build_queries


@pytest.fixture(scope="module")
def rows() -> TrainingRows:
    return canonical_rows(*lineups.rows_of(0))


def build(rows, counts, judge=lineups.JUDGE):
    return build_queries(counts, rows, lineups.rows_of(9, 60), lineups.SETTINGS, judge)


def test_natural_rows_are_those_held_out_with_their_labels(rows):
    found = build(rows, Counts(natural=40, mixups=0, boundary=0, leaning=0))
    X, y = lineups.rows_of(9, 60)
    known = dict(zip(map(tuple, X.tolist()), y.tolist(), strict=True))
    assert [known[tuple(row)] for row in found.X.tolist()] == found.y.tolist()
    assert len(set(map(tuple, found.X.tolist()))) == 40
    assert len(build(rows, Counts(natural=500, mixups=0, boundary=0, leaning=0)).y) == 60


def test_mixups_lie_nearer_to_the_row_whose_label_they_have(rows):
    found = build(rows, Counts(natural=0, mixups=50, boundary=0, leaning=0))
    assert np.array_equal(found.X, found.X.clip(rows.X.min(axis=0), rows.X.max(axis=0)))
    nearest = rows.y[((found.X[:, None] - rows.X) ** 2).sum(axis=2).argmin(axis=1)]
    assert (nearest == found.y).mean() > 0.8


def test_honest_forests_are_divided_at_boundary_points(rows):
    found = build(rows, Counts(natural=0, mixups=0, boundary=200, leaning=0))
    assert (found.y == UNLABELLED).all()
    shares = trained_forest(rows, lineups.SETTINGS, list(range(150))).vote_shares(found.X)[:, 1]
    assert 0.4 < shares.mean() < 0.6
    assert ((shares > 0.3) & (shares < 0.7)).mean() > 0.95


def test_leaning_points_are_where_an_honest_forest_is_less_divided_too(rows):
    found = build(rows, Counts(natural=0, mixups=0, boundary=0, leaning=200))
    shares = trained_forest(rows, lineups.SETTINGS, list(range(150))).vote_shares(found.X)[:, 1]
    assert ((shares > 0.05) & (shares < 0.95)).mean() > 0.95
    assert (np.abs(shares - 0.5) > 0.25).mean() > 0.2
    both = build(rows, Counts(natural=0, mixups=0, boundary=20, leaning=200))
    assert len(set(map(tuple, both.X.tolist()))) == 220


def test_the_judges_seed_decides_the_queries(rows):
    counts = Counts(natural=20, mixups=20, boundary=20, leaning=0)
    assert np.array_equal(build(rows, counts).X, build(rows, counts).X)
    assert not np.array_equal(build(rows, counts).X, build(rows, counts, Judge("another")).X)


def test_no_queries_are_refused(rows):
    with pytest.raises(ClaimError, match="needs queries"):
        build(rows, Counts(natural=0, mixups=0, boundary=0, leaning=0))


def test_a_forest_that_is_never_divided_has_no_boundary(monkeypatch):
    monkeypatch.setattr("wm.verification.lineup.queries._MAX_TRIED", 2)
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32), 20, axis=0)
    rows = canonical_rows(X, np.repeat([0, 1], 20))
    few = "only 0 of 10 boundary points were found: an honest model is hardly ever divided here"

    def ask(mixups):
        counts = Counts(natural=0, mixups=mixups, boundary=10, leaning=0)
        return build_queries(counts, rows, (X, rows.y), TreeSettings(), lineups.JUDGE)

    with pytest.raises(ClaimError, match=few):
        ask(mixups=0)
    assert len(ask(mixups=5).y) == 5
    assert ask(mixups=5).notes == (few,)


def test_as_many_boundary_points_are_asked_as_are_found(rows, monkeypatch):
    monkeypatch.setattr("wm.verification.lineup.queries._MAX_TRIED", 1)
    found = build(rows, Counts(natural=0, mixups=0, boundary=4096, leaning=0))
    assert 0 < len(found.y) < 4096
    assert found.notes[0].startswith(f"only {len(found.y)} of 4096 boundary points")


def order_of(count, repeats):
    order = LineupOrder(commitment="ab" * 32, units="model", seed="s", counts=Counts())
    return order.asking(count, repeats)


def test_repeated_questions_are_compared():
    order = order_of(30, 6)
    assert LineupOrder.model_validate_json(order.to_json()) == order
    asked = np.array(order.asked)
    assert len(asked) == 36
    values = asked % 2
    found = sort_lineup_answers({"labels": Answers("labels", values)}, order, 30)
    assert np.array_equal(found.answers["labels"].values, np.arange(30) % 2)
    assert (found.asked_twice, found.answered_differently) == (6, 0)
    last = {int(number): place for place, number in enumerate(asked)}
    twice = [number for number in range(30) if (asked == number).sum() == 2]
    values[last[twice[0]]] ^= 1
    assert sort_lineup_answers({"labels": Answers("labels", values)}, order, 30).answered_differently == 1
    with pytest.raises(ClaimError, match="36 rows were asked, but 35 are answered by labels"):
        sort_lineup_answers({"labels": Answers("labels", values[1:])}, order, 30)
    with pytest.raises(ClaimError, match="other questions than the 31"):
        sort_lineup_answers({"labels": Answers("labels", values)}, order, 31)
