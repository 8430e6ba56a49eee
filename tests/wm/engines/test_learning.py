"""The learning search: long runs, proofs, and limits, against a SAT solver and itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pysat.solvers import Solver as PysatSolver

from wm.attacks.hardness import Formula, assignment, random_3cnf, satisfies, to_forest
from wm.engines import ForgeryQuery, learning, learning_kernel
from wm.engines.encoding import build_problem, leaf_bounds, nearest_witness
from wm.engines.learning import LearnedFormula, LearningSolver
from wm.engines.proof import ProofChecker, ProofError
from wm.engines.sat import PrunedFormula
from wm.forest import Forest


def whole(forest: Forest, signature=None) -> ForgeryQuery:
    """Return the query about all of [0, 1]^d."""
    bits = np.zeros(forest.n_trees) if signature is None else signature
    return ForgeryQuery(signature=bits, label=1, centre=np.full(forest.n_features, 0.5), eps=0.5)


def formula_of(forest: Forest, query: ForgeryQuery, *, with_proof: bool = False) -> LearnedFormula:
    bounds = leaf_bounds(forest)
    return LearnedFormula(bounds, build_problem(forest, bounds, query), query.centre, with_proof=with_proof)


def hard_formulas(count: int, n_variables: int) -> list[Formula]:
    """Draw formulas at the transition, of which about half have a model."""
    rng = np.random.default_rng(3)
    return [random_3cnf(n_variables, round(4.26 * n_variables), rng) for _ in range(count)]


@pytest.fixture
def reduced_early(monkeypatch):
    """Learned clauses are dropped, and modes change, from the first conflicts on."""
    monkeypatch.setattr(learning_kernel, "FIRST_REDUCTION", 20)
    monkeypatch.setattr(learning_kernel, "FIRST_SWITCH", 30)


def has_dropped(proof: list[str]) -> bool:
    return any(step.startswith("d ") for step in proof)


def test_long_runs_agree_with_a_sat_solver_and_prove_what_they_say(reduced_early):
    seen = Counter()
    for formula in hard_formulas(12, 90):
        forest = to_forest(formula)
        with PysatSolver(name="cadical153", bootstrap_with=[list(each) for each in formula.clauses]) as plain:
            satisfiable = plain.solve()
        learned = formula_of(forest, whole(forest), with_proof=True)
        assert learned.has_witness() == satisfiable
        seen[satisfiable, has_dropped(learned.proof())] += 1
        if satisfiable:
            bounds = leaf_bounds(forest)
            witness = nearest_witness(forest, bounds, learned.point(), whole(forest))
            assert satisfies(formula, assignment(witness, formula))
            continue
        checker, proof = ProofChecker(forest), learned.proof()
        assert has_dropped(proof), "dropped clauses are in the proof"
        assert checker.check(whole(forest), learned.tests, proof) > 0
        with pytest.raises(ProofError):
            checker.check(whole(forest), learned.tests, ["0"])
    assert seen[True, True] >= 2
    assert seen[False, True] >= 2


@pytest.fixture(scope="module")
def deep() -> Forest:
    """A forest with many thresholds for each feature, as trained ones have."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(1)
    X = rng.random((600, 6)).astype(np.float32)
    y = ((X[:, 0] + X[:, 1] * X[:, 2] > 0.8) ^ (rng.random(600) < 0.15)).astype(int)
    model = RandomForestClassifier(40, max_leaf_nodes=40, bootstrap=False, random_state=1)
    return Forest.from_sklearn(model.fit(X, y))


def some_signatures(forest: Forest, count: int) -> list[np.ndarray]:
    """Draw signatures, every other one with a point that draws its votes."""
    rng = np.random.default_rng(5)
    drawn = []
    for number in range(count):
        votes = forest.votes(rng.random((1, forest.n_features)))[0] != 1
        drawn.append(votes.astype(int) if number % 2 else rng.integers(0, 2, forest.n_trees))
    return drawn


def test_it_agrees_with_a_sat_solver_on_deep_trees(deep, reduced_early):
    bounds, checker, seen = leaf_bounds(deep), ProofChecker(deep), Counter()
    for signature in some_signatures(deep, 16):
        query = whole(deep, signature)
        problem = build_problem(deep, bounds, query)
        if problem.trivial_reason:
            continue
        with PrunedFormula(bounds, problem, query.centre) as other:
            expected = other.has_witness()
        learned = LearnedFormula(bounds, problem, query.centre, with_proof=True)
        assert learned.has_witness() == expected
        seen[expected] += 1
        if expected:
            point = learned.point()
            assert ((deep.votes(point[None])[0] != 1) == (signature == 1)).all()
        else:
            checker.check(query, learned.tests, learned.proof())
    assert min(seen[True], seen[False]) >= 3


def test_pauses_change_nothing(deep):
    for signature in some_signatures(deep, 6):
        query = whole(deep, signature)
        at_once, in_turns = (formula_of(deep, query, with_proof=True) for _ in range(2))
        found = at_once.has_witness()
        while (paused := in_turns.has_witness(1)) is None:
            pass
        assert paused == found
        assert (at_once.work, at_once.proof()) == (in_turns.work, in_turns.proof())
        if found:
            assert np.array_equal(at_once.point(), in_turns.point())


def test_without_room_for_all_it_learns_it_forgets(monkeypatch):
    monkeypatch.setattr(learning, "_LEARNED", 40)
    monkeypatch.setattr(learning, "_LITERALS", 1_500)
    for formula in hard_formulas(6, 40):
        forest = to_forest(formula)
        with PysatSolver(name="cadical153", bootstrap_with=[list(each) for each in formula.clauses]) as plain:
            satisfiable = plain.solve()
        for with_proof in (False, True):
            learned = formula_of(forest, whole(forest), with_proof=with_proof)
            assert learned.has_witness() == satisfiable
            if with_proof and not satisfiable:
                ProofChecker(forest).check(whole(forest), learned.tests, learned.proof())


def test_certified_answers_say_so(deep):
    solver = LearningSolver(deep, certify=True)
    answers = [solver.answer(whole(deep, signature)) for signature in some_signatures(deep, 10)]
    impossible = [answer for answer in answers if answer.witness is None]
    assert impossible
    assert all(answer.certified for answer in impossible)
    assert any("proof checked" in answer.reason for answer in impossible)
