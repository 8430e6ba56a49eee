"""Options of engines: names and values are checked, and reach the solver in its child process."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.strategies import forgery_queries, small_forests
from wm import engines
from wm.engines import Answer, ForgeryQuery, Status
from wm.engines.encoding import query_box
from wm.engines.isolated import replay_fault
from wm.engines.protocol import OutOfResourcesError
from wm.engines.sat_incremental import SatIncrementalSolver
from wm.engines.z3_real import Z3RealSolver
from wm.errors import QueryError
from wm.testing import forest_of


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        (
            "z3",
            {"margins": 1},
            "engine 'z3' has no option 'margins'; its options are: "
            "margin (a finite number, at least 0; default 0.0), rebuild (True or False; default False)",
        ),
        (
            "sat",
            {"margin": 1},
            "engine 'sat' has no option 'margin'; its options are: certify (True or False; default False)",
        ),
        ("z3-bool", {"margin": 1}, "engine 'z3-bool' has no option 'margin'; it has none"),
        ("z3", {"margin": -1e-4}, "option margin must be a finite number, at least 0, not -0.0001"),
        ("z3", {"margin": float("nan")}, "option margin must be a finite number, at least 0, not nan"),
        ("z3", {"margin": float("inf")}, "option margin must be a finite number, at least 0, not inf"),
        ("z3", {"margin": "1e-4"}, "option margin must be a finite number, at least 0, not '1e-4'"),
        ("z3", {"margin": True}, "option margin must be a finite number, at least 0, not True"),
        ("z3", {"rebuild": 1}, "option rebuild must be True or False, not 1"),
        ("sat", {"certify": 1}, "option certify must be True or False, not 1"),
        ("z9", {"margin": 1}, "unknown engine 'z9'"),
    ],
)
def test_wrong_options_are_refused_before_the_engine_starts(figure_1, engine, options, message):
    with pytest.raises(QueryError) as caught:
        engines.create(engine, figure_1, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("engine", engines.names())
def test_every_option_is_described_and_has_a_default(engine):
    model = engines.options_model(engine)
    assert model() == model.of({})
    for name, field in model.model_fields.items():
        assert field.description
        assert model.of({name: str(field.default)}, texts=True) == model()


def test_texts_are_parsed():
    model = engines.options_model("z3")
    assert model.of({"margin": "1e-4", "rebuild": "true"}, texts=True) == model(margin=1e-4, rebuild=True)
    for name, text in (("margin", "wide"), ("margin", "-1"), ("margin", "inf"), ("rebuild", "2")):
        with pytest.raises(QueryError, match=f"option {name} must be .*, not '{text}'"):
            model.of({name: text}, texts=True)


@pytest.fixture(scope="session")
def narrow():
    """A forest and a query whose only answers are x in (.5, .50005]."""
    forest = forest_of([(0, 0.5, 1, 0), (0, 0.50005, 0, 1)], n_features=1, classes=[0, 1])
    return forest, ForgeryQuery(signature=[0, 0], label=0, centre=[0.4], eps=0.5)


def test_a_margin_turns_a_forged_query_into_an_impossible_one(narrow):
    forest, query = narrow
    with engines.create("z3", forest) as exact, engines.create("z3", forest, margin=1e-4) as published:
        forged = exact.solve(query, timeout_s=60)
        impossible = published.solve(query, timeout_s=60)
    assert forged.status is Status.FORGED
    assert 0.5 < forged.witness[0] <= 0.50005
    assert forged.reason == "solver"
    assert impossible.status is Status.IMPOSSIBLE
    assert impossible.reason == "solver, margin 0.0001"
    assert Z3RealSolver(forest, margin=1e-5).answer(query).witness is not None
    assert Z3RealSolver(forest, margin=0).answer(query).reason == "solver"


def reaches_wanted_leaf(forest, query, tree, point, margin):
    """Return whether a point meets the notebooks' conditions on some path to a wanted leaf of a tree."""
    base = int(forest.offset[tree])
    to_do = [base]
    while to_do:
        node = to_do.pop()
        if forest.left[node] < 0:
            if (forest.classes[forest.node_class[node]] == query.label) == (query.signature[tree] == 0):
                return True
            continue
        x, threshold = point[forest.feature[node]], float(forest.threshold[node])
        if x <= Fraction(threshold - margin):
            to_do.append(base + int(forest.left[node]))
        elif x > Fraction(threshold + margin):
            to_do.append(base + int(forest.right[node]))
    return False


def forgeable_with_margin(forest, query, margin):
    """Brute force over the reals: the ends of the box, all limits, and a number between neighbouring ones."""
    axes = []
    for feature, (low, high) in enumerate(zip(*query_box(query.centre, query.eps), strict=True)):
        low, high = Fraction(float(low)), Fraction(float(high))
        if low > high:
            return False
        thresholds = forest.threshold[(forest.feature == feature) & ~forest.is_leaf]
        limits = {Fraction(float(t + sign * margin)) for t in thresholds for sign in (-1, 1)}
        ends = sorted({low, high} | {limit for limit in limits if low <= limit <= high})
        axes.append([*ends, *((one + next_) / 2 for one, next_ in itertools.pairwise(ends))])
    return any(
        all(reaches_wanted_leaf(forest, query, tree, point, margin) for tree in range(forest.n_trees))
        for point in itertools.product(*axes)
    )


def test_brute_force_with_margin_answers_the_narrow_case(narrow):
    assert forgeable_with_margin(*narrow, 1e-5)
    assert not forgeable_with_margin(*narrow, 1e-4)


@examples(80)
@given(data=st.data(), margin=st.sampled_from([1e-4, 0.01, 0.1]))
def test_a_margin_gives_what_the_published_encoding_gives(data, margin):
    threshold = st.sampled_from(
        [0.1, 0.10005, 0.1 + 2e-4, 0.5, 0.505, 0.52, 0.7, -0.05, 1.00005, 1e300, -1e300]
    )
    trees = [
        (data.draw(st.integers(0, 1)), data.draw(threshold), leaf, (0, data.draw(threshold), 1 - leaf, leaf))
        for leaf in data.draw(st.lists(st.integers(0, 1), min_size=1, max_size=3))
    ]
    forest = forest_of(trees, n_features=2, classes=[0, 1])
    query = ForgeryQuery(
        signature=data.draw(st.lists(st.integers(0, 1), min_size=len(trees), max_size=len(trees))),
        label=1,
        centre=[data.draw(threshold.filter(lambda t: abs(t) < 2)) for _ in range(2)],
        eps=data.draw(st.sampled_from([0.0, 5e-5, 1e-4, 0.05, 0.5])),
    )
    witness = Z3RealSolver(forest, margin=margin).answer(query).witness
    event("impossible" if witness is None else "forged")
    assert (witness is not None) == forgeable_with_margin(forest, query, margin)
    assert witness is None or replay_fault(forest, query, witness) is None


@examples(80)
@given(data=st.data(), margin=st.sampled_from([5e-324, 1e-12, 1e-8, 1e-4]))
def test_witnesses_replay_whatever_the_margin(data, margin):
    # A margin below the distance between float32 numbers must not let rounding cross a threshold.
    forest = data.draw(small_forests())
    query = data.draw(forgery_queries(forest))
    witness = Z3RealSolver(forest, margin=margin).answer(query).witness
    assert witness is None or replay_fault(forest, query, witness) is None


def test_the_incremental_solver_is_compared_with_the_fresh_one(monkeypatch, figure_1):
    solver = SatIncrementalSolver(figure_1)
    monkeypatch.setattr("wm.engines.sat.SatSolver.answer", lambda *_: Answer(None))
    with pytest.raises(OutOfResourcesError, match="disagree") as caught:
        solver.answer(ForgeryQuery(signature=[0, 1], label=1, centre=np.full(3, 0.5), eps=0.5))
    assert caught.value.status is Status.ERROR


def test_formulas_that_are_rebuilt_give_the_same_answers(many_queries, realistic_forest):
    once, rebuilt = Z3RealSolver(realistic_forest), Z3RealSolver(realistic_forest, rebuild=True)
    found = [[solver.answer(query) for query in many_queries[:12]] for solver in (once, rebuilt)]
    assert [answer.witness is None for answer in found[0]] == [answer.witness is None for answer in found[1]]
    assert {answer.witness is None for answer in found[0]} == {True, False}
