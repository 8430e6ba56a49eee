"""Every engine compared with brute force over cells, with the paper's example, and with itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, event, given, note
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tests.examples import examples
from tests.strategies import forgery_queries, small_forests
from wm import engines
from wm.attacks.hardness import assignment, brute_force, random_3cnf, satisfies, to_forest
from wm.engines import ForgeryQuery, Status
from wm.forest import Forest
from wm.testing import forest_of, forgeable, in_box, wanted_votes

ENGINES = engines.names()


def check_witness(forest, query, witness):
    assert witness.dtype == np.float32
    assert witness.shape == (forest.n_features,)
    assert in_box(witness, query.centre, query.eps)
    assert wanted_votes(forest, witness[None], query).all()


def check_answer(solver, forest, query, is_forgeable=None):
    """Compare a solver's answer with brute force, or what that has said; return its witness."""
    witness = solver.answer(query).witness
    assert (witness is not None) == (forgeable(forest, query) if is_forgeable is None else is_forgeable)
    if witness is not None:
        check_witness(forest, query, witness)
    return witness


def solvers(forest):
    """Yield a solver of each engine; a failure tells which it was."""
    for engine in ENGINES:
        note(f"engine {engine}")
        yield engines.solver_class(engine)(forest)


@examples(150)
@given(data=st.data())
def test_engines_agree_with_brute_force(data):
    forest = data.draw(small_forests())
    query = data.draw(forgery_queries(forest))
    is_forgeable = forgeable(forest, query)
    event("forged" if is_forgeable else "impossible")
    for solver in solvers(forest):
        check_answer(solver, forest, query, is_forgeable)


@examples(60)
@given(data=st.data())
def test_engines_agree_near_the_edges_of_cells(data):
    """Trees over one feature whose thresholds are neighbours; the box is one point or a few wide."""
    here = np.float32(data.draw(st.floats(0, 1, width=32)))
    singles = [here, np.nextafter(here, np.float32(-1)), np.nextafter(here, np.float32(2))]
    doubles = [float(x) for x in singles]
    doubles += [float(np.nextafter(x, side)) for x in doubles for side in (-1, 2)]
    threshold = st.sampled_from(doubles)
    low, high, other = (data.draw(threshold) for _ in range(3))
    forest = forest_of([(0, low, 0, 1), (0, high, 1, 0), (0, other, 1, 0)], n_features=1, classes=[0, 1])
    centre = data.draw(threshold)
    eps = data.draw(st.sampled_from([0.0, *(abs(centre - x) for x in doubles)]))
    queries = [
        ForgeryQuery(signature=bits, label=1, centre=[centre], eps=eps)
        for bits in itertools.product((0, 1), repeat=3)
    ]
    known = [forgeable(forest, query) for query in queries]
    for solver in solvers(forest):
        for query, is_forgeable in zip(queries, known, strict=True):
            check_answer(solver, forest, query, is_forgeable)


@pytest.fixture(scope="session")
def sklearn_trees():
    """Trees of scikit-learn over three features and three classes named by strings."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-0.2, 1.2, (300, 3))
    y = np.array(["blue", "green", "red"])[(3 * X[:, 0] + X[:, 1] * X[:, 2]).clip(0, 2.99).astype(int)]
    return [
        DecisionTreeClassifier(max_depth=3, max_features=1, random_state=seed).fit(X, y) for seed in range(4)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_witnesses_replay_on_the_trees_of_scikit_learn(sklearn_trees, engine):
    forest = Forest.from_sklearn(sklearn_trees)
    solver = engines.solver_class(engine)(forest)
    rng = np.random.default_rng(6)
    forged = impossible = 0
    for number in range(40):
        label = rng.choice(forest.classes)
        drawn = (forest.votes(rng.random((1, 3)))[0] != label).astype(int)
        query = ForgeryQuery(
            signature=drawn if number % 2 else rng.integers(0, 2, 4),
            label=label,
            centre=rng.uniform(-0.1, 1.1, 3),
            eps=rng.choice([0.1, 0.3, 0.6]),
        )
        witness = check_answer(solver, forest, query)
        if witness is None:
            impossible += 1
            continue
        forged += 1
        for tree, bit in zip(sklearn_trees, query.signature, strict=True):
            assert (tree.predict(witness[None])[0] == query.label) == (bit == 0)
    assert forged >= 5
    assert impossible >= 5


@pytest.mark.parametrize("engine", ENGINES)
def test_the_worked_example_of_the_paper_is_forged(figure_1, engine):
    with engines.create(engine, figure_1) as isolated:
        near = isolated.solve(
            ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.3, 0.5], eps=0.01), timeout_s=60
        )
        anywhere = isolated.solve(
            ForgeryQuery(signature=[0, 1], label=1, centre=[0.5, 0.5, 0.5], eps=0.5), timeout_s=60
        )
    for outcome in (near, anywhere):
        assert outcome.status is Status.FORGED
        assert outcome.engine == engine
        assert figure_1.votes(outcome.witness[None]).tolist() == [[1, -1]]
    assert near.distance <= 0.01
    # <4, 3, 5> itself, scaled, is the paper's answer.
    assert figure_1.votes([[0.4, 0.3 - 1e-6, 0.5]]).tolist() == [[1, -1]]


@pytest.mark.parametrize("engine", ENGINES)
def test_impossible_queries_are_proved_impossible(engine):
    """Trees x0 <= .5 and x0 <= .6 cannot disagree below .5; a cycle of three trees cannot be satisfied."""
    nested = forest_of([(0, 0.5, 0, 1), (0, 0.6, 0, 1)], n_features=1, classes=[0, 1])
    cyclic = forest_of(  # x0 high -> x1 high -> x2 high -> x0 low
        [
            (0, 0.5, 1, (1, 0.5, 0, 1)),
            (1, 0.5, 1, (2, 0.5, 0, 1)),
            (2, 0.5, 1, (0, 0.5, 1, 0)),
            (0, 0.5, 0, 1),
        ],
        n_features=3,
        classes=[0, 1],
    )
    queries = [
        ForgeryQuery(signature=[1, 0], label=1, centre=[0.5], eps=0.5),  # x0 <= .5 and x0 > .6
        ForgeryQuery(signature=[0, 1], label=1, centre=[0.2], eps=0.3),  # no leaf in the box
        ForgeryQuery(signature=[0, 0], label=1, centre=[-1.0], eps=0.5),  # the box is empty
        ForgeryQuery(signature=[0, 0], label=1, centre=[0.7 + 1e-12], eps=0.0),  # not a float32
    ]
    cycle = ForgeryQuery(signature=[0] * 4, label=1, centre=[0.5] * 3, eps=0.5)
    make = engines.solver_class(engine)
    assert check_answer(make(cyclic), cyclic, cycle) is None
    solver = make(nested)
    for query in queries:
        assert check_answer(solver, nested, query) is None


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_variables=st.integers(3, 7),
    ratio=st.floats(1, 9),
    threshold=st.sampled_from([0.0, 0.5, 0.1]),
)
def test_random_3cnf_is_forgeable_iff_satisfiable(seed, n_variables, ratio, threshold):
    formula = random_3cnf(n_variables, round(ratio * n_variables), np.random.default_rng(seed))
    forest = to_forest(formula, threshold=threshold)
    query = ForgeryQuery(
        signature=np.zeros(forest.n_trees), label=1, centre=np.full(n_variables, 0.5), eps=0.5
    )
    satisfiable = brute_force(formula) is not None
    event("satisfiable" if satisfiable else "unsatisfiable")
    for solver in solvers(forest):
        witness = check_answer(solver, forest, query, satisfiable)
        if witness is not None:
            assert satisfies(formula, assignment(witness, formula, threshold=threshold))


@examples(40)
@given(data=st.data())
def test_a_larger_distance_never_forges_less(data):
    forest = data.draw(small_forests())
    query = data.draw(forgery_queries(forest))
    assume(query.eps < 1)
    wider = ForgeryQuery(
        signature=query.signature, label=query.label, centre=query.centre, eps=query.eps + 0.125
    )
    for solver in solvers(forest):
        if solver.answer(query).witness is not None:
            assert solver.answer(wider).witness is not None


def witness_bytes(answer):
    return None if answer.witness is None else answer.witness.tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_do_not_depend_on_earlier_queries(realistic_forest, many_queries, engine):
    make = engines.solver_class(engine)
    fresh = [witness_bytes(make(realistic_forest).answer(query)) for query in many_queries]
    assert {witness is None for witness in fresh} == {True, False}
    used = make(realistic_forest)
    rng = np.random.default_rng(8)
    for _ in range(3):
        for index in rng.permutation(len(many_queries)):
            assert witness_bytes(used.answer(many_queries[index])) == fresh[index]


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_the_same_in_every_process(realistic_forest, many_queries, engine):
    here = engines.solver_class(engine)(realistic_forest)
    with engines.create(engine, realistic_forest) as isolated:
        for query in reversed(many_queries):
            outcome = isolated.solve(query, timeout_s=60)
            witness = here.answer(query).witness
            assert outcome.status is (Status.IMPOSSIBLE if witness is None else Status.FORGED)
            assert outcome.witness is witness or np.array_equal(outcome.witness, witness)
            if witness is not None:
                assert 0 <= outcome.distance <= query.eps
