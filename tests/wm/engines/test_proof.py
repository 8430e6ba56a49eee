"""The proof checker: it accepts proofs of solvers, and no proof of a formula with a model."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pysat.solvers import Solver

from tests.examples import examples
from tests.strategies import edge_numbers, forgery_queries, small_forests
from wm import engines
from wm.attacks.hardness import random_3cnf, to_forest
from wm.engines import ForgeryQuery, Status
from wm.engines.cnf import encode
from wm.engines.encoding import build_problem, leaf_bounds, query_box
from wm.engines.proof import ProofChecker, ProofError, check_proof, exact_box
from wm.engines.protocol import OutOfResourcesError
from wm.engines.sat import SatSolver
from wm.forest import Forest

N = 5
literals = st.integers(1, N).flatmap(lambda v: st.sampled_from([v, -v]))
clause_lists = st.lists(st.lists(literals, min_size=1, max_size=4), max_size=30)
proof_lines = st.builds(
    lambda deletes, clause: ("d " if deletes else "") + " ".join(map(str, [*clause, 0])),
    st.booleans(),
    st.lists(literals, max_size=3),
)


def has_model(clauses):
    return any(
        all(any((x > 0) == values[abs(x) - 1] for x in clause) for clause in clauses)
        for values in itertools.product((False, True), repeat=N)
    )


def solver_proof(clauses):
    """Return Glucose's proof that clauses have no model."""
    with Solver(name="glucose4", with_proof=True) as solver:
        solver.append_formula(clauses)
        assert not solver.solve()
        proof = solver.get_proof()
    return proof if "0" in proof else [*proof, "0"]


# All signs of three variables: no model, and nothing to propagate at first.
TERNARY = [
    [s * v for s, v in zip(signs, (1, 2, 3), strict=True)] for signs in itertools.product((1, -1), repeat=3)
]


@examples(200)
@given(clauses=clause_lists)
def test_proofs_of_a_solver_are_accepted(clauses):
    if has_model(clauses):
        clauses = clauses + TERNARY
    steps = check_proof(clauses, solver_proof(clauses), n_variables=N)
    event("with search" if steps > 1 else "at once")
    assert steps >= 1


@examples(300)
@given(clauses=clause_lists, data=st.data())
def test_no_proof_of_a_formula_with_a_model_is_accepted(clauses, data):
    """Neither a random one, nor one of a formula with more clauses, nor a mixture."""
    if not has_model(clauses):
        clauses = clauses[: data.draw(st.integers(0, len(clauses)))]
        while not has_model(clauses):
            clauses = clauses[:-1]
    proof = data.draw(st.lists(proof_lines, max_size=12))
    if data.draw(st.booleans()):
        proof += solver_proof(clauses + TERNARY)
    with pytest.raises(ProofError, match=r"does not follow|without the empty clause"):
        check_proof(clauses, [*proof, "0"], n_variables=N)


def test_deletions_take_effect_and_may_name_unknown_clauses():
    proof = ["1 2 0", "1 0", "2 0", "0"]
    assert check_proof(TERNARY, proof, n_variables=4) == 4
    assert check_proof(TERNARY, ["d 4 1 2 0", "d 2 0", *proof], n_variables=4) == 6
    with pytest.raises(ProofError, match="step 2 of the proof, '1 2 0', does not follow"):
        check_proof(TERNARY, ["d 3 2 1 0", *proof], n_variables=4)
    # Of two equal clauses one remains.
    assert check_proof([*TERNARY, [2, 1, 3]], ["d 3 2 1 0", *proof], n_variables=4) == 5


def test_repeated_and_opposite_literals_are_harmless():
    clauses = [[1, 1], [-1, 2, 2], [-2, -2, -1], [3, -3]]
    assert check_proof(clauses, ["0"], n_variables=3) == 1
    with pytest.raises(ProofError):
        check_proof(clauses[1:], ["2 -2 0", "0"], n_variables=3)


def test_steps_that_only_keep_satisfiability_are_refused():
    with pytest.raises(ProofError, match="step 1 of the proof, '4 0', does not follow"):
        check_proof(TERNARY, ["4 0", "0"], n_variables=4)


@pytest.mark.parametrize(
    "line", ["", "1", "1 2", "x 0", "1 0 2 0", "0 0", "d", "d 1", "6 0", f"{10**30} 0", "1.0 0"]
)
def test_malformed_steps_are_refused(line):
    with pytest.raises(ProofError, match="step 2 of the proof is malformed") as caught:
        check_proof(TERNARY, ["1 2 0", line, "0"], n_variables=N)
    assert "\n" not in str(caught.value)


@dataclasses.dataclass(frozen=True)
class Case:
    """An impossible query with its proof: Theorem 1's forest of a formula without a model."""

    forest: Forest
    checker: ProofChecker
    query: ForgeryQuery
    forged: ForgeryQuery
    names: list[tuple[int, float]]
    proof: list[str]


@pytest.fixture(scope="session")
def case():
    forest = to_forest(random_3cnf(20, 140, np.random.default_rng(1)), threshold=0.1)
    m, d = forest.n_trees, forest.n_features
    query = ForgeryQuery(signature=np.zeros(m), label=1, centre=np.full(d, 0.5), eps=0.5)
    votes = forest.votes(np.full((1, d), 0.5))[0]
    forged = ForgeryQuery(signature=votes != 1, label=1, centre=query.centre, eps=0.5)
    bounds = leaf_bounds(forest)
    problem = build_problem(forest, bounds, query)
    encoding = encode(bounds, problem.unwanted, problem.lower, problem.upper)
    names = list(zip(encoding.feature.tolist(), encoding.threshold.tolist(), strict=True))
    proof = solver_proof(encoding.order + encoding.leaves)
    return Case(forest, ProofChecker(forest), query, forged, names, proof)


def refused(case, proof, *, query=None, names=None):
    """Return why the checker refuses a proof, None if it accepts it."""
    try:
        case.checker.check(query or case.query, case.names if names is None else names, proof)
    except ProofError as reason:
        return str(reason)
    return None


def test_a_truncated_proof_is_refused(case):
    steps = case.checker.check(case.query, case.names, case.proof)
    assert case.proof[steps - 1] == "0"
    assert steps >= 5
    for kept in range(steps):
        ends = f"the proof ends after {kept} steps without the empty clause"
        assert refused(case, case.proof[:kept]) == ends
    assert refused(case, ["0"]) == "step 1 of the proof, '0', does not follow"


def test_a_proof_with_a_step_missing_or_changed_fails_at_a_named_step_or_still_holds(case):
    end = case.proof.index("0")
    added = [number for number in range(end) if not case.proof[number].startswith("d")]
    reasons = []
    for number in added:
        numbers = [int(text) for text in case.proof[number].split()[:-1]]
        for place in range(len(numbers)):
            flipped = [-x if i == place else x for i, x in enumerate(numbers)]
            line = " ".join(map(str, [*flipped, 0]))
            reasons.append(refused(case, [*case.proof[:number], line, *case.proof[number + 1 :]]))
        reasons.append(refused(case, case.proof[:number] + case.proof[number + 1 :]))
    # A changed step may follow as well, and the others without it.
    failed = [reason for reason in reasons if reason is not None]
    assert len(failed) >= len(reasons) // 4
    assert all(re.fullmatch(r"step \d+ of the proof, '.*', does not follow", reason) for reason in failed)


def test_a_proof_for_another_query_is_refused(case):
    assert SatSolver(case.forest).answer(case.forged).witness is not None
    assert "does not follow" in refused(case, case.proof, query=case.forged)


def test_wrong_names_make_a_proof_fail(case):
    for names in (case.names[::-1], [case.names[0]] * len(case.names)):
        assert "does not follow" in refused(case, case.proof, names=names)
    # Additional names of irrelevant tests, after the others, do no harm.
    assert refused(case, case.proof, names=[*case.names, (0, 0.75), (3, 0.25)]) is None


@examples(150)
@given(data=st.data())
def test_certified_answers_are_those_of_sat(data):
    forest = data.draw(small_forests())
    query = data.draw(forgery_queries(forest))
    plain, certified = SatSolver(forest).answer(query), SatSolver(forest, certify=True).answer(query)
    event(certified.reason.partition("(")[0])
    if plain.witness is not None:
        assert certified.witness.tobytes() == plain.witness.tobytes()
        assert ProofChecker(forest).trivial_reason(query) is None
    else:
        assert certified.witness is None
        assert re.fullmatch(rf"{plain.reason}, (checked|proof checked \(\d+ steps\))", certified.reason)


def test_certified_outcomes_say_so(realistic_forest, many_queries):
    with engines.create("sat", realistic_forest, certify=True) as engine:
        outcomes = [engine.solve(query, timeout_s=60) for query in many_queries]
        far = ForgeryQuery(signature=np.zeros(16), label=1, centre=np.full(30, 2.0), eps=0.5)
        assert engine.solve(far, timeout_s=60).reason == "empty box, checked"
    assert {outcome.status for outcome in outcomes} == {Status.FORGED, Status.IMPOSSIBLE}
    for outcome in outcomes:
        if outcome.status is Status.IMPOSSIBLE:
            assert re.fullmatch(r"no leaf, checked|solver, proof checked \(\d+ steps\)", outcome.reason)


@pytest.mark.parametrize("error", ["a leaf too many", "no clause at all"])
def test_errors_of_the_encoder_are_caught(monkeypatch, figure_1, error):
    """An encoder that forbids wanted leaves, or whose formula is false, proves too much."""

    def wrong(bounds, leaves, lower, upper):
        if error == "a leaf too many":
            leaves = bounds.meets(lower, upper)
        right = encode(bounds, leaves, lower, upper)
        if error == "no clause at all":
            right.leaves.append([])
        return right

    query = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.3, 0.5], eps=0.1)
    certified = SatSolver(figure_1, certify=True)
    assert certified.answer(query).witness is not None
    monkeypatch.setattr("wm.engines.sat.encode", wrong)
    assert SatSolver(figure_1).answer(query).witness is None
    with pytest.raises(OutOfResourcesError, match="not certified: step 1 of the proof") as caught:
        certified.answer(query)
    assert caught.value.status is Status.ERROR


@pytest.mark.parametrize("reason", ["empty box", "no leaf"])
def test_wrong_reasons_that_need_no_solver_are_caught(monkeypatch, figure_1, reason):
    def wrong(*arguments):
        return dataclasses.replace(build_problem(*arguments), trivial_reason=reason)

    monkeypatch.setattr("wm.engines.sat.build_problem", wrong)
    query = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.3, 0.5], eps=0.1)
    assert SatSolver(figure_1).answer(query).reason == reason
    with pytest.raises(OutOfResourcesError, match=f"not certified: {reason}; the checker finds None"):
        SatSolver(figure_1, certify=True).answer(query)


@examples(200)
@given(data=st.data())
def test_the_exact_box_is_the_box_of_the_engines(data):
    centre = np.array(data.draw(st.lists(edge_numbers(), min_size=1, max_size=3)))
    eps = data.draw(
        st.sampled_from([0.0, 1e-9, 0.1, 0.25, 1.0, 1e300]) | st.floats(0, 1) | edge_numbers().map(abs)
    )
    lower, upper = query_box(centre, eps)
    exact = exact_box(ForgeryQuery(signature=[0], label=1, centre=centre, eps=eps))
    if (lower > upper).any():
        assert exact is None
    else:
        assert exact == (lower.tolist(), upper.tolist())
