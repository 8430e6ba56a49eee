"""Theorem 1: a formula is satisfiable iff its forest's all-(+1) votes can be forged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.attacks.hardness import (
    MAX_BRUTE_FORCE_VARIABLES,
    Formula,
    assignment,
    brute_force,
    parse_dimacs,
    random_3cnf,
    satisfies,
    to_forest,
)
from wm.errors import QueryError


@st.composite
def formulas(draw, max_variables=6, max_clauses=12, max_length=8, min_clauses=0):
    """Any formula: clauses of 1 to 8 literals that may repeat or contradict a variable."""
    n_variables = draw(st.integers(1, max_variables))
    literal = st.integers(1, n_variables).flatmap(lambda variable: st.sampled_from([variable, -variable]))
    clause = st.lists(literal, min_size=1, max_size=max_length).map(tuple)
    clauses = draw(st.lists(clause, min_size=min_clauses, max_size=max_clauses))
    return Formula(n_variables, tuple(clauses))


thresholds = st.floats(0, 1, exclude_max=True)


def all_points(n_variables):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n_variables)))


@given(formula=formulas(min_clauses=1), threshold=thresholds)
def test_each_tree_votes_plus_one_iff_its_clause_is_satisfied(formula, threshold):
    forest = to_forest(formula, threshold=threshold)
    points = all_points(formula.n_variables)
    votes = forest.votes(points)
    assert votes.shape == (len(points), len(formula.clauses))
    for point, vote in zip(points, votes, strict=True):
        values = assignment(point, formula, threshold=threshold)
        assert values == tuple(point == 1.0)
        for clause, one_vote in zip(formula.clauses, vote, strict=True):
            assert (one_vote == 1) == satisfies(Formula(formula.n_variables, (clause,)), values)
        assert bool((vote == 1).all()) == satisfies(formula, values)


@given(formula=formulas(min_clauses=1), threshold=thresholds, data=st.data())
def test_votes_depend_on_the_assignment_alone(formula, threshold, data):
    border = np.float32(threshold)
    near = [0.0, 1.0, threshold, *(np.nextafter(border, np.float32(side)) for side in (0, 1)), border]
    coordinate = st.one_of(st.sampled_from([float(value) for value in near]), st.floats(0, 1))
    size = formula.n_variables
    point = np.array(data.draw(st.lists(coordinate, min_size=size, max_size=size)))
    values = assignment(point, formula, threshold=threshold)
    forged = bool((to_forest(formula, threshold=threshold).votes(point[None]) == 1).all())
    assert forged == satisfies(formula, values)


@given(formulas())
def test_brute_force_finds_an_assignment_iff_there_is_one(formula):
    candidates = itertools.product([False, True], repeat=formula.n_variables)
    satisfying = [values for values in candidates if satisfies(formula, values)]
    found = brute_force(formula)
    if not satisfying:
        assert found is None
    else:
        assert found == min(satisfying, key=lambda values: values[::-1])


def test_brute_force_at_its_largest_size():
    n = MAX_BRUTE_FORCE_VARIABLES
    wanted = tuple(variable % 3 == 0 for variable in range(n))
    pinned = Formula(
        n, tuple((variable + 1,) if wanted[variable] else (-variable - 1,) for variable in range(n))
    )
    assert brute_force(pinned) == wanted
    assert brute_force(Formula(n, (*pinned.clauses, (-1,)))) is None


def test_brute_force_refuses_more_variables():
    with pytest.raises(QueryError, match="21 variables are too many to try all assignments; at most 20"):
        brute_force(Formula(MAX_BRUTE_FORCE_VARIABLES + 1, ((1,),)))


def test_the_forest_is_the_papers_construction():
    forest = to_forest(Formula(3, ((1, -2, 3), (-3,))))
    assert forest.n_trees == 2
    assert forest.n_features == 3
    assert forest.classes.tolist() == [-1, 1]
    assert (forest.threshold == 0.0).all()
    # x1 <= 0 ? (x2 <= 0 ? + : (x3 <= 0 ? - : +)) : +   and   x3 <= 0 ? + : -
    assert forest.feature.tolist() == [0, -1, 1, -1, 2, -1, -1, 2, -1, -1]
    assert forest.left.tolist() == [2, -1, 3, -1, 6, -1, -1, 1, -1, -1]
    assert forest.right.tolist() == [1, -1, 4, -1, 5, -1, -1, 2, -1, -1]
    assert forest.classes[forest.node_class[forest.is_leaf]].tolist() == [1, 1, 1, -1, 1, -1]
    assert forest.tree_depths.tolist() == [3, 1]


def test_a_repeated_literal_is_tested_once():
    assert (
        to_forest(Formula(2, ((1, 2, 1, 1),))).content_hash == to_forest(Formula(2, ((1, 2),))).content_hash
    )


def test_a_contradicted_variable_makes_a_lone_leaf_that_votes_plus_one():
    forest = to_forest(Formula(2, ((1, 2, -1), (2,))))
    assert forest.tree_depths.tolist() == [0, 1]
    assert forest.votes([[0, 0], [1, 1]]).tolist() == [[1, -1], [1, 1]]


@given(formulas(min_clauses=1, max_length=12))
def test_every_leaf_can_be_reached(formula):
    forest = to_forest(formula)
    reached = np.unique(forest.apply(all_points(formula.n_variables)))
    assert reached.tolist() == np.flatnonzero(forest.is_leaf).tolist()


def test_a_long_clause():
    n = 2000
    forest = to_forest(Formula(n, (tuple(range(1, n + 1)),)))
    points = np.zeros((2, n))
    points[1, -1] = 1.0
    assert forest.votes(points).tolist() == [[-1], [1]]


def test_a_forest_needs_a_clause():
    assert brute_force(Formula(2, ())) == (False, False)
    with pytest.raises(QueryError, match="a formula without clauses has no forest"):
        to_forest(Formula(2, ()))


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan"), float("inf")])
def test_a_threshold_must_leave_both_truth_values(threshold):
    formula = Formula(1, ((1,),))
    with pytest.raises(QueryError, match=r"outside \[0, 1\)"):
        to_forest(formula, threshold=threshold)
    with pytest.raises(QueryError, match=r"outside \[0, 1\)"):
        assignment([0.0], formula, threshold=threshold)


def test_assignment_sees_the_point_in_float32_as_the_forest_does():
    formula = Formula(3, ((1, 2, 3),))
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    assert assignment([1e-60, tiny, -1.0], formula) == (False, True, False)
    # float32(0.1) lies above 0.1: true, though a comparison wholly in float32 would say false.
    assert assignment([0.1, 0.0, 1.0], formula, threshold=0.1) == (True, False, True)
    assert to_forest(formula, threshold=0.1).votes([[0.1, 0.0, 0.0]]).tolist() == [[1]]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([0.0], r"shape \(1,\); the formula needs \(2,\)"),
        ([[0.0, 1.0]], r"shape \(1, 2\); the formula needs \(2,\)"),
        ([0.0, float("nan")], "feature 1 of the point: not a finite number"),
        ([1e300, 0.0], "feature 0 of the point: not a finite number"),
        (["a", "b"], "the point is not a row of numbers"),
    ],
)
def test_assignment_refuses_what_is_no_point(point, message):
    with pytest.raises(QueryError, match=message):
        assignment(point, Formula(2, ((1,),)))


def test_satisfies_needs_a_value_for_each_variable():
    with pytest.raises(QueryError, match="1 values for 2 variables"):
        satisfies(Formula(2, ((1,),)), (True,))


@pytest.mark.parametrize(
    ("n_variables", "clauses", "message"),
    [
        (0, (), "0 variables; at least 1 is needed"),
        (True, (), "True variables"),
        (2.0, (), "2.0 variables"),
        (2, [(1,)], "must be a tuple of tuples"),
        (2, ((1,), ()), r"clause 2: \(\) is not a tuple of one or more literals"),
        (2, ((1,), [1]), r"clause 2: \[1\] is not a tuple"),
        (2, ((1, 3),), r"clause 1: literal 3 is outside -2\.\.-1 and 1\.\.2"),
        (2, ((-3,),), "clause 1: literal -3"),
        (2, ((0,),), "clause 1: literal 0"),
        (2, ((True,),), "clause 1: literal True is not a whole number"),
        (2, ((1.0,),), "clause 1: literal 1.0 is not a whole number"),
    ],
)
def test_a_malformed_formula_is_refused(n_variables, clauses, message):
    with pytest.raises(QueryError, match=message):
        Formula(n_variables, clauses)


@given(formulas())
def test_dimacs_round_trip(formula):
    assert parse_dimacs(formula.to_dimacs()) == formula


def test_dimacs_with_comments_and_split_clauses():
    text = "c a comment\nc\n\np  cnf 4   3 \n1 -2\n 3 0 -1\nc between\n4 0\n-4 -4 0\n%\n0\n\n"
    assert parse_dimacs(text) == Formula(4, ((1, -2, 3), (-1, 4), (-4, -4)))
    assert parse_dimacs(text.replace("\n", "\r\n")) == parse_dimacs(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no problem line"),
        ("c only a comment\n", "no problem line"),
        ("1 2 0\n", "line 1: a clause before the line 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2\n", "line 1: 'p cnf 2' is not"),
        ("p dnf 2 1\n1 0\n", "line 1: 'p dnf 2 1' is not"),
        ("p cnf 2 x\n", "line 1: 'p cnf 2 x' is not"),
        ("p cnf 0 0\n", "line 1: 'p cnf 0 0' is not"),
        ("p cnf 2 -1\n", "line 1: 'p cnf 2 -1' is not"),
        ("p cnf 2 1\np cnf 2 1\n1 0\n", "line 2: a second problem line"),
        ("p cnf 2 1\n1 3 0\n", "line 2: '3' is neither a literal of 2 variables"),
        ("p cnf 2 1\n1 -3 0\n", "line 2: '-3' is neither a literal"),
        ("p cnf 2 1\n1 1.5 0\n", "line 2: '1.5' is neither a literal"),
        ("p cnf 2 1\n1 1_0 0\n", "line 2: '1_0' is neither a literal"),
        ("p cnf 2 1\n" + "9" * 5000 + " 0\n", "is neither a literal"),
        ("p cnf 2 2\n1 0\n0\n", "line 3: an empty clause"),
        ("p cnf 2 1\n1 2\n", "ends inside clause 1; close each clause with 0"),
        ("p cnf 2 2\n1 0\n", "has 1 clauses, its problem line announces 2"),
        ("p cnf 2 1\n1 0\n2 0\n", "has 2 clauses, its problem line announces 1"),
    ],
)
def test_bad_dimacs_is_refused_with_its_line(text, message):
    with pytest.raises(QueryError, match=message) as caught:
        parse_dimacs(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="pcnf 0123-%\n", max_size=60))
def test_any_text_is_a_formula_or_a_query_error(text):
    try:
        formula = parse_dimacs(text)
    except QueryError:
        return
    assert parse_dimacs(formula.to_dimacs()) == formula


@given(st.integers(3, 12), st.integers(0, 40), st.integers(0, 2**32))
def test_random_3cnf_has_three_distinct_variables_a_clause(n_variables, n_clauses, seed):
    formula = random_3cnf(n_variables, n_clauses, np.random.default_rng(seed))
    assert formula.n_variables == n_variables
    assert len(formula.clauses) == n_clauses
    assert all(len({abs(literal) for literal in clause}) == len(clause) == 3 for clause in formula.clauses)
    assert random_3cnf(n_variables, n_clauses, np.random.default_rng(seed)) == formula


def test_random_3cnf_is_satisfiable_when_sparse_and_not_when_dense():
    rng = np.random.default_rng(1)
    sparse = [brute_force(random_3cnf(12, 24, rng)) for _ in range(20)]
    dense = [brute_force(random_3cnf(12, 120, rng)) for _ in range(20)]
    assert all(found is not None for found in sparse)
    assert all(found is None for found in dense)
    literals = np.array(random_3cnf(12, 4000, rng).clauses).ravel()
    counts = np.array([(literals == sign * variable).sum() for variable in range(1, 13) for sign in (-1, 1)])
    # 24 literals, 500 of each expected with standard deviation 22: all are drawn, about equally often.
    assert counts.min() > 390
    assert counts.max() < 610


@pytest.mark.parametrize(("n_variables", "n_clauses"), [(2, 1), (3, -1)])
def test_random_3cnf_refuses_impossible_sizes(n_variables, n_clauses):
    with pytest.raises(QueryError):
        random_3cnf(n_variables, n_clauses, np.random.default_rng(0))
