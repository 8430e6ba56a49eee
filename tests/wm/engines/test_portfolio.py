"""Proofs that carry over, halved boxes, and answers that do not depend on what was asked before."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from wm import engines
from wm.attacks.forgery import forge_over_distances
from wm.engines import (
    ForgeryOutcome,
    ForgeryQuery,
    Status,
    box_search,
    carried_proofs,
    portfolio,
    solver_class,
)
from wm.engines.box_search import Geometry
from wm.engines.encoding import query_box, wanted_leaves
from wm.engines.isolated import replay_fault
from wm.engines.portfolio import PortfolioSolver
from wm.engines.protocol import WHOLE_DOMAIN
from wm.engines.search import pose_box
from wm.forest import Forest
from wm.signature import random_signature


@pytest.fixture(scope="module")
def forest() -> Forest:
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(1)
    X = rng.random((300, 5)).astype(np.float32)
    y = ((X[:, 0] + X[:, 1] * X[:, 2] > 0.8) ^ (rng.random(300) < 0.1)).astype(int)
    model = RandomForestClassifier(15, max_depth=6, bootstrap=False, random_state=1).fit(X, y)
    return Forest.from_sklearn(model)


def some_queries(forest: Forest, count: int, *, signatures: int = 4) -> list[ForgeryQuery]:
    rng = np.random.default_rng(2)
    drawn = [random_signature(forest.n_trees, 0.3, rng) for _ in range(signatures)]
    return [
        ForgeryQuery(
            signature=drawn[number % signatures],
            label=int(rng.integers(2)),
            centre=rng.random(forest.n_features),
            eps=float(rng.choice([0.05, 0.2, 0.5, 1.0])),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("small", [True, False], ids=["asks SAT first", "searches only"])
def test_it_agrees_with_search_witness_for_witness(forest, monkeypatch, small):
    monkeypatch.setattr(portfolio, "SMALL_FOREST", 10**6 if small else 0)
    monkeypatch.setattr(portfolio, "QUICK_CHOICES", 1)
    solver, reference = PortfolioSolver(forest), solver_class("search")(forest)
    found = []
    for query in some_queries(forest, 120):
        answer, expected = solver.answer(query), reference.answer(query)
        if expected.witness is None:
            assert answer.witness is None
        else:
            assert np.array_equal(answer.witness, expected.witness)
        found.append(answer.reason)
    if not small:
        assert set(found) & {"whole domain", "larger box"}, "something carried over"


def test_the_whole_domain_answers_all_that_follow(forest, monkeypatch):
    monkeypatch.setattr(portfolio, "SMALL_FOREST", 0)
    monkeypatch.setattr(portfolio, "QUICK_CHOICES", 1)
    reference = solver_class("search")(forest)
    rng = np.random.default_rng(3)
    whole = hopeless_query(forest, rng)
    solver = PortfolioSolver(forest)
    solver.answer(whole)
    for eps in (0.1, 0.3, 1.0):
        inside = replace(whole, centre=rng.random(forest.n_features), eps=eps)
        assert solver.answer(inside).reason in ("whole domain", "larger box")
        assert reference.answer(inside).witness is None


def hopeless_query(forest: Forest, rng: np.random.Generator) -> ForgeryQuery:
    """Return a query about the whole domain that it takes a solver to prove impossible."""
    reference, centre = solver_class("search")(forest), np.full(forest.n_features, 0.5)
    while True:
        signature = random_signature(forest.n_trees, 0.5, rng)
        whole = ForgeryQuery(signature=signature, label=1, centre=centre, eps=0.5)
        answer = reference.answer(whole)
        if answer.witness is None and answer.reason == "solver":
            return whole


def test_what_the_engine_remembers_of_the_whole_domain_is_what_another_engine_finds(forest):
    """Pairs in turn; once one is known to be hopeless, its queries do not reach the solver any more."""
    rng = np.random.default_rng(4)
    hopeless = [
        replace(hopeless_query(forest, rng), centre=rng.random(forest.n_features), eps=0.3) for _ in range(9)
    ]
    reasons = Counter()
    with engines.create("portfolio", forest) as engine, engines.create("sat", forest) as other:
        for number, query in enumerate(some_queries(forest, 120)):
            for posed in (query, hopeless[number % 9]):
                found, expected = engine.solve(posed, timeout_s=60), other.solve(posed, timeout_s=60)
                assert found.status is expected.status
                reasons[found.reason] += 1
    assert reasons[WHOLE_DOMAIN] >= 100


def test_a_box_that_needs_too_much_memory_is_halved(forest):
    geometry = Geometry.of(forest)
    for query in some_queries(forest, 40):
        box = query_box(query.centre, query.eps)
        wanted = wanted_leaves(forest, geometry.bounds, query)
        cells = geometry.cells.of(box[0]), geometry.cells.of(box[1])
        whole = box_search.BoxSearch(geometry, wanted, cells)
        halved = box_search.BoxSearch(geometry, wanted, cells, row_bytes=2_000)
        assert whole.advance()
        while not halved.advance(5):
            pass
        assert (whole.found is None) == (halved.found is None)


def test_only_so_much_is_remembered(forest, monkeypatch):
    monkeypatch.setattr(carried_proofs, "BOXES", 3)
    monkeypatch.setattr(carried_proofs, "SUBJECTS", 2)
    memory = carried_proofs.ProofMemory()
    first, second, third = some_queries(forest, 3, signatures=3)
    subject = memory.subject(first)
    ones = np.ones(2, dtype=np.float32)
    for number in range(5):
        subject.add((ones * number, ones * (number + 0.5)))
    assert subject.reason((ones * 4.1, ones * 4.2)) == "larger box"
    assert subject.reason((ones * 0.1, ones * 0.2)) is None, "the oldest was forgotten"
    assert subject.reason((ones * 2.4, ones * 2.6)) is None, "reaches out of the box"
    memory.subject(second)
    assert memory.subject(first) is subject
    memory.subject(third)
    memory.subject(second)
    assert memory.subject(first) is not subject


def test_hard_queries_that_sat_settles_first_have_the_same_answer_whatever_came_before(forest, monkeypatch):
    monkeypatch.setattr(portfolio, "SMALL_FOREST", 0)
    monkeypatch.setattr(portfolio, "SAT_AFTER", 0)
    monkeypatch.setattr(portfolio, "SAT_SHARE", 10.0**9)
    monkeypatch.setattr(portfolio, "_STEP", 1)
    monkeypatch.setattr(portfolio, "QUICK_CHOICES", 1)
    settled = []
    try_for = portfolio.PrunedFormula.try_for

    def counted(formula, conflicts):
        settled.append(try_for(formula, conflicts))
        return settled[-1]

    monkeypatch.setattr(portfolio.PrunedFormula, "try_for", counted)
    experienced, reference = PortfolioSolver(forest), solver_class("search")(forest)
    for query in some_queries(forest, 60):
        witness = experienced.answer(query).witness
        assert (witness is None) == (reference.answer(query).witness is None)
        fresh = PortfolioSolver(forest).answer(query).witness
        assert (witness is None) == (fresh is None)
        if witness is not None:
            assert replay_fault(forest, query, witness) is None
            assert np.array_equal(witness, fresh)
    assert {True, False} <= set(settled)


def test_what_was_earned_without_room_is_not_spent_at_once(forest, monkeypatch):
    monkeypatch.setattr(portfolio, "WHOLE_WORK", 50)
    monkeypatch.setattr(portfolio, "_STEP", 1)
    solver = PortfolioSolver(forest)
    advanced = []
    monkeypatch.setattr(
        portfolio.BoxSearch, "advance", lambda search, choices: advanced.append(choices * search.words)
    )
    query = some_queries(forest, 1)[0]
    subject = carried_proofs.Subject(whole_due=10.0**12)
    solver._advance_whole(query, subject)
    assert sum(advanced) <= 50 + subject_words(forest, query)
    assert subject.whole_settled, "given up"


def subject_words(forest: Forest, query: ForgeryQuery) -> int:
    domain = np.zeros(forest.n_features, dtype=np.float32), np.ones(forest.n_features, dtype=np.float32)
    return pose_box(Geometry.of(forest), query, domain).words


def test_a_query_for_the_whole_domain_is_searched_once(forest, monkeypatch):
    monkeypatch.setattr(portfolio, "SMALL_FOREST", 0)
    monkeypatch.setattr(portfolio, "QUICK_CHOICES", 1)
    solver, reference = PortfolioSolver(forest), solver_class("search")(forest)
    centre = np.full(forest.n_features, 0.5)
    rng = np.random.default_rng(8)
    impossible = 0
    for _ in range(20):
        signature = random_signature(forest.n_trees, 0.5, rng)
        whole = ForgeryQuery(signature=signature, label=1, centre=centre, eps=0.5)
        part = ForgeryQuery(signature=signature, label=1, centre=centre, eps=0.25)
        if reference.answer(whole).witness is None:
            assert solver.answer(whole).reason in ("solver", "no leaf")
            assert solver.answer(part).reason == "whole domain"
            impossible += 1
        else:
            assert solver.answer(whole).witness is not None
    assert impossible


class Counting:
    """Counts what an engine is asked; the distances in `silent` end as timeout."""

    name = "search"

    def __init__(self, forest: Forest, silent: frozenset[float] = frozenset()) -> None:
        self._solver = solver_class("search")(forest)
        self._silent = silent
        self.asked: list[float] = []

    def solve(self, query, *, timeout_s, memory_bytes=None) -> ForgeryOutcome:
        self.asked.append(query.eps)
        if query.eps in self._silent:
            return ForgeryOutcome(Status.TIMEOUT, None, None, 1.0, self.name, "time limit")
        witness = self._solver.answer(query).witness
        status = Status.IMPOSSIBLE if witness is None else Status.FORGED
        return ForgeryOutcome(status, witness, None if witness is None else 0.1, 0.1, self.name)

    def close(self) -> None:
        pass


DISTANCES = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]


def test_no_distance_is_asked_whose_answer_follows(forest):
    engine = Counting(forest)
    for query in some_queries(forest, 30):
        engine.asked.clear()
        outcomes = forge_over_distances(engine, query, DISTANCES, timeout_s=9)
        assert len(engine.asked) <= 3, "seven distances need three questions"
        statuses = [outcome.status for outcome in outcomes]
        direct = [
            engine.solve(
                ForgeryQuery(signature=query.signature, label=query.label, centre=query.centre, eps=eps),
                timeout_s=9,
            ).status
            for eps in DISTANCES
        ]
        assert statuses == direct
        for eps, outcome in zip(DISTANCES, outcomes, strict=True):
            assert (outcome.followed_from is None) == (eps in engine.asked[:3])


def test_a_timeout_tells_nothing_of_other_distances(forest):
    query = some_queries(forest, 1)[0]
    engine = Counting(forest, silent=frozenset(DISTANCES))
    outcomes = forge_over_distances(engine, query, DISTANCES, timeout_s=9)
    assert sorted(engine.asked) == DISTANCES
    assert {outcome.status for outcome in outcomes} == {Status.TIMEOUT}


def test_it_is_an_engine(forest):
    with engines.create("portfolio", forest) as engine:
        statuses = {engine.solve(query, timeout_s=30).status for query in some_queries(forest, 20)}
    assert statuses == {Status.FORGED, Status.IMPOSSIBLE}


def test_pairs_asked_about_in_turn_let_each_other_finish(forest):
    memory = carried_proofs.ProofMemory()
    geometry = Geometry.of(forest)
    queries = some_queries(forest, 4)
    domain = np.zeros(5, dtype=np.float32), np.ones(5, dtype=np.float32)
    began = []
    rng = np.random.default_rng(9)
    for query in queries * 30:
        subject = memory.subject(query)
        subject.whole_due += rng.uniform(0.5, 1.5)
        if subject.whole is None and memory.has_room(subject):
            subject.whole = pose_box(geometry, query, domain)
            began.append(queries.index(query))
        if subject.whole is not None:
            subject.whole_work = subject.whole_due
    assert began == [0, 1], "the first two keep their places"
    memory.subject(queries[0]).settle_whole(impossible=True)
    assert memory.has_room(carried_proofs.Subject())


@pytest.mark.parametrize("is_hard", [False, True])
def test_a_search_that_no_one_asks_about_any_more_makes_room(forest, is_hard):
    """After many queries about other pairs, or a few that cost more than it did."""
    memory = carried_proofs.ProofMemory()
    geometry = Geometry.of(forest)
    first, second, third = some_queries(forest, 3, signatures=3)
    domain = np.zeros(5, dtype=np.float32), np.ones(5, dtype=np.float32)
    for query in (first, second):
        subject = memory.subject(query)
        subject.whole, subject.whole_work, subject.whole_due = pose_box(geometry, query, domain), 9.0, 9.0
    wanting = memory.subject(third)
    for _ in range(0 if is_hard else carried_proofs.STALE - 2):
        memory.subject(third)
    wanting.whole_due = 18.0
    assert not memory.has_room(wanting)
    memory.subject(third)
    wanting.whole_due += 0.1 if is_hard else 0.0
    assert memory.has_room(wanting)
    put_off = memory.subject(first)
    assert (put_off.whole, put_off.whole_work, put_off.whole_due) == (None, 0.0, 0.0)
    assert not put_off.whole_settled, "asked about again, it may begin anew"
    assert memory.subject(second).whole is not None
