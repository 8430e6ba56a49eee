"""Proofs that carry over, halved boxes, and answers that do not depend on earlier queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from wm import engines
from wm.attacks.forgery import Forger
from wm.engines import (
    ForgeryOutcome,
    ForgeryQuery,
    Status,
    box_search,
    carried_proofs,
    first_look,
    portfolio,
    solver_class,
)
from wm.engines.box_search import Geometry
from wm.engines.encoding import wanted_leaves
from wm.engines.global_proofs import GlobalProofs
from wm.engines.isolated import replay_fault
from wm.engines.portfolio import PortfolioSolver
from wm.engines.protocol import GLOBAL_REASON
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
    monkeypatch.setattr(first_look, "SMALL_FOREST", 10**6 if small else 0)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)
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


def test_a_global_proof_answers_all_later_queries_of_its_pair(forest, monkeypatch):
    monkeypatch.setattr(first_look, "SMALL_FOREST", 0)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)
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
    """Return an impossible query about the domain that needs a solver."""
    reference, centre = solver_class("search")(forest), np.full(forest.n_features, 0.5)
    while True:
        signature = random_signature(forest.n_trees, 0.5, rng)
        whole = ForgeryQuery(signature=signature, label=1, centre=centre, eps=0.5)
        answer = reference.answer(whole)
        if answer.witness is None and answer.reason == "solver":
            return whole


def test_global_proofs_of_the_engine_agree_with_another_engine(forest):
    """Pairs in turn; once one is proved impossible, its queries no longer reach the solver."""
    rng = np.random.default_rng(4)
    hopeless = [
        replace(hopeless_query(forest, rng), centre=rng.random(forest.n_features), eps=0.3) for _ in range(9)
    ]
    reasons = Counter()
    with engines.create("portfolio", forest) as engine, engines.create("sat", forest) as other:
        for number, query in enumerate(some_queries(forest, 120)):
            for asked in (query, hopeless[number % 9]):
                found, expected = engine.solve(asked, timeout_s=60), other.solve(asked, timeout_s=60)
                assert found.status is expected.status
                reasons[found.reason] += 1
    assert reasons[GLOBAL_REASON] >= 100


def domain_cells(geometry):
    """Return the domain [0, 1]^d in cells."""
    features = geometry.forest.n_features
    return tuple(geometry.cells.of(np.full(features, side, dtype=np.float32)) for side in (0, 1))


def global_search(geometry, query):
    """Return the search for a query's signature and label in the domain."""
    wanted = wanted_leaves(geometry.forest, geometry.bounds, query)
    return box_search.BoxSearch(geometry, wanted, domain_cells(geometry))


def test_a_box_that_needs_too_much_memory_is_halved(forest):
    geometry = Geometry.of(forest)
    for query in some_queries(forest, 40):
        _, cells = geometry.box_of(query)
        wanted = wanted_leaves(forest, geometry.bounds, query)
        whole = box_search.BoxSearch(geometry, wanted, cells)
        halved = box_search.BoxSearch(geometry, wanted, cells, row_bytes=2_000)
        assert whole.advance()
        while not halved.advance(5):
            pass
        assert (whole.found is None) == (halved.found is None)


def test_a_limited_number_of_boxes_and_pairs_is_kept(forest, monkeypatch):
    monkeypatch.setattr(carried_proofs, "MAX_BOXES", 3)
    monkeypatch.setattr(carried_proofs, "MAX_PAIRS", 2)
    memory = carried_proofs.ProofMemory()
    first, second, third = some_queries(forest, 3, signatures=3)
    record = memory.record(first)
    ones = np.ones(2, dtype=np.float32)
    for number in range(5):
        record.add((ones * number, ones * (number + 0.5)))
    assert record.reason((ones * 4.1, ones * 4.2)) == "larger box"
    assert record.reason((ones * 0.1, ones * 0.2)) is None, "the oldest was forgotten"
    assert record.reason((ones * 2.4, ones * 2.6)) is None, "reaches out of the box"
    memory.record(second)
    assert memory.record(first) is record
    memory.record(third)
    memory.record(second)
    assert memory.record(first) is not record


def test_hard_queries_that_learning_settles_first_have_answers_without_history(forest, monkeypatch):
    monkeypatch.setattr(first_look, "SMALL_FOREST", 0)
    monkeypatch.setattr(portfolio, "LEARN_AFTER", 0)
    monkeypatch.setattr(portfolio, "learning_share", lambda work, progress: 10.0**9)
    monkeypatch.setattr(portfolio, "_SLICE", 1)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)
    settled = []
    has_witness = portfolio.LearnedFormula.has_witness

    def counted(formula, conflicts):
        settled.append(has_witness(formula, conflicts))
        return settled[-1]

    monkeypatch.setattr(portfolio.LearnedFormula, "has_witness", counted)
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


def test_work_on_a_global_search_is_limited_however_much_is_earned(forest, monkeypatch):
    rng = np.random.default_rng(11)
    hopeless = [replace(hopeless_query(forest, rng), centre=rng.random(forest.n_features)) for _ in range(5)]
    monkeypatch.setattr(first_look, "SMALL_FOREST", 0)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)
    for name, value in {"_SLICE": 1, "GLOBAL_WORK": 50, "EASY_SHARE": 10.0**12}.items():
        monkeypatch.setattr(portfolio, name, value)
    spent = {}

    class Counted(box_search.BoxSearch):
        """Counts the work of global searches instead of doing it."""

        def __init__(self, geometry, wanted, box):
            super().__init__(geometry, wanted, box)
            domain = domain_cells(geometry)
            if all(np.array_equal(*sides) for sides in zip(box, domain, strict=True)):
                spent[self] = 0

        def advance(self, *choices):
            if self not in spent:
                return super().advance(*choices)
            spent[self] += choices[0] * self.words
            return False

    monkeypatch.setattr(first_look, "BoxSearch", Counted)
    solver = PortfolioSolver(forest)
    for eps in (0.3, 0.4):
        for query in hopeless:
            solver.answer(replace(query, eps=eps))
    assert any(work >= 50 for work in spent.values()), "given up"
    assert all(work <= 50 + search.words for search, work in spent.items())


def test_a_query_about_the_domain_is_searched_once(forest, monkeypatch):
    monkeypatch.setattr(first_look, "SMALL_FOREST", 0)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)
    solver, reference = PortfolioSolver(forest), solver_class("search")(forest)
    centre = np.full(forest.n_features, 0.5)
    rng = np.random.default_rng(8)
    impossible = 0
    for _ in range(20):
        signature = random_signature(forest.n_trees, 0.5, rng)
        whole = ForgeryQuery(signature=signature, label=1, centre=centre, eps=0.5)
        part = replace(whole, eps=0.25)
        if reference.answer(whole).witness is None:
            assert solver.answer(whole).reason in ("solver", "no leaf")
            assert solver.answer(part).reason == "whole domain"
            impossible += 1
        else:
            assert solver.answer(whole).witness is not None
    assert impossible


class Counting:
    """An engine that records its queries; the distances in `silent` time out."""

    name = "search"
    global_proofs = GlobalProofs()

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


@pytest.fixture
def over_distances(monkeypatch, forest):
    """Put a query to an engine at all distances: ``over_distances(engine, query)``."""

    def solve(engine, query):
        monkeypatch.setattr("wm.attacks.forgery.forger.engines.create", lambda *_: engine)
        return Forger(forest, timeout_s=9).over_distances(query, DISTANCES)

    return solve


def test_no_distance_is_queried_whose_answer_follows(forest, over_distances):
    engine = Counting(forest)
    for query in some_queries(forest, 30):
        engine.asked.clear()
        outcomes = over_distances(engine, query)
        assert len(engine.asked) <= 3, "seven distances need three questions"
        statuses = [outcome.status for outcome in outcomes]
        direct = [engine.solve(replace(query, eps=eps), timeout_s=9).status for eps in DISTANCES]
        assert statuses == direct
        for eps, outcome in zip(DISTANCES, outcomes, strict=True):
            assert (outcome.followed_from is None) == (eps in engine.asked[:3])


def test_nothing_follows_from_a_timeout(forest, over_distances):
    query = some_queries(forest, 1)[0]
    engine = Counting(forest, silent=frozenset(DISTANCES))
    outcomes = over_distances(engine, query)
    assert sorted(engine.asked) == DISTANCES
    assert {outcome.status for outcome in outcomes} == {Status.TIMEOUT}


def test_the_engine_answers_with_both_statuses(forest):
    with engines.create("portfolio", forest) as engine:
        statuses = {engine.solve(query, timeout_s=30).status for query in some_queries(forest, 20)}
    assert statuses == {Status.FORGED, Status.IMPOSSIBLE}


def test_pairs_queried_in_turn_let_each_other_finish(forest):
    memory = carried_proofs.ProofMemory()
    geometry = Geometry.of(forest)
    queries = some_queries(forest, 4)
    began = []
    rng = np.random.default_rng(9)
    for query in queries * 30:
        record = memory.record(query)
        record.earned += rng.uniform(0.5, 1.5)
        if record.search is None and memory.has_room(record):
            record.search = global_search(geometry, query)
            began.append(queries.index(query))
        if record.search is not None:
            record.work = record.earned
    assert began == [0, 1], "the first two keep their places"
    memory.record(queries[0]).settle(impossible=True)
    assert memory.has_room(carried_proofs.PairRecord())


@pytest.mark.parametrize("is_hard", [False, True])
def test_a_global_search_of_a_pair_that_is_no_longer_queried_makes_room(forest, is_hard):
    """After many queries about other pairs, or after a few that cost more than the search."""
    memory = carried_proofs.ProofMemory()
    geometry = Geometry.of(forest)
    first, second, third = some_queries(forest, 3, signatures=3)
    for query in (first, second):
        record = memory.record(query)
        record.search, record.work, record.earned = global_search(geometry, query), 9.0, 9.0
    wanting = memory.record(third)
    for _ in range(0 if is_hard else carried_proofs.STALE_AFTER - 2):
        memory.record(third)
    wanting.earned = 18.0
    assert not memory.has_room(wanting)
    memory.record(third)
    wanting.earned += 0.1 if is_hard else 0.0
    assert memory.has_room(wanting)
    dropped = memory.record(first)
    assert (dropped.search, dropped.work, dropped.earned) == (None, 0.0, 0.0)
    assert not dropped.is_settled, "queried again, it may begin again"
    assert memory.record(second).search is not None
