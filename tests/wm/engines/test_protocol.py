"""Queries are checked on creation and against their forest; errors can be sent between processes."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from wm import engines
from wm.engines import ForgeryQuery, Status
from wm.engines.protocol import OutOfResourcesError
from wm.errors import QueryError
from wm.signature import Signature
from wm.testing import forest_of

GOOD = {"signature": [0, 1], "label": 1, "centre": [0.4, 0.3, 0.5], "eps": 0.1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signature": [0, 2]}, "signature must be a one-dimensional array of 0 and 1"),
        ({"signature": [0.5, 0]}, "signature must be a one-dimensional array of 0 and 1"),
        ({"signature": [[0, 1]]}, "signature must be a one-dimensional array of 0 and 1"),
        ({"signature": [[0], [0, 1]]}, "signature must be a one-dimensional array of 0 and 1"),
        ({"signature": "01"}, "signature must be a one-dimensional array of 0 and 1"),
        ({"signature": ["0", "1"]}, "signature must be a one-dimensional array of 0 and 1"),
        ({"centre": [0.1, np.inf, 0.2]}, "centre must be a one-dimensional array of finite numbers"),
        ({"centre": 0.5}, "centre must be a one-dimensional array of finite numbers"),
        ({"centre": [[0.1, 0.2, 0.3]]}, "centre must be a one-dimensional array of finite numbers"),
        ({"centre": ["a", "b", "c"]}, "centre must be a one-dimensional array of finite numbers"),
        ({"centre": [0.1, None, 0.2]}, "centre must be a one-dimensional array of finite numbers"),
        ({"eps": -0.1}, "eps must be a finite number, at least 0, not -0.1"),
        ({"eps": np.nan}, "eps must be a finite number, at least 0, not nan"),
        ({"eps": np.inf}, "eps must be a finite number, at least 0, not inf"),
        ({"eps": "0.1"}, "eps must be a finite number, at least 0, not '0.1'"),
        ({"eps": [0.1, 0.2]}, "eps must be a finite number, at least 0, not"),
        ({"eps": None}, "eps must be a finite number, at least 0, not None"),
    ],
)
def test_malformed_queries_are_refused(change, message):
    with pytest.raises(QueryError, match=message) as caught:
        ForgeryQuery(**(GOOD | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signature": [0, 1, 1]}, "the signature has 3 bits, the forest 2 trees"),
        ({"signature": []}, "the signature has 0 bits, the forest 2 trees"),
        ({"centre": [0.5, 0.5]}, "the centre has 2 features, the forest 3"),
        ({"label": 0}, r"label 0 is not among the classes \[-1, 1\]"),
        ({"label": "1"}, r"label '1' is not among the classes \[-1, 1\]"),
        ({"label": None}, r"label None is not among the classes \[-1, 1\]"),
        ({"label": np.array([1, -1])}, "is not among the classes"),
    ],
)
def test_queries_that_do_not_fit_the_forest_are_refused(figure_1, change, message):
    query = ForgeryQuery(**(GOOD | change))
    with pytest.raises(QueryError, match=message):
        query.check(figure_1)


def test_engines_refuse_wrong_queries_and_answer_the_next(figure_1):
    with engines.create("sat", figure_1) as engine:
        assert engine.name == "sat"
        with pytest.raises(QueryError, match="the signature has 1 bits"):
            engine.solve(ForgeryQuery(**(GOOD | {"signature": [0]})), timeout_s=60)
        for timeout_s in (0, -1, float("nan")):
            with pytest.raises(QueryError, match=f"timeout_s must be above 0, not {timeout_s}"):
                engine.solve(ForgeryQuery(**GOOD), timeout_s=timeout_s)
        assert engine.solve(ForgeryQuery(**GOOD), timeout_s=60).status is Status.FORGED


def test_unknown_engines_are_refused(figure_1):
    assert {"sat", "z3"} <= set(engines.names())
    known = ", ".join(engines.names())
    for use in (engines.solver_class, lambda name: engines.create(name, figure_1)):
        with pytest.raises(QueryError, match=f"unknown engine 'cvc5'; known are: {known}"):
            use("cvc5")


@pytest.mark.parametrize("engine", engines.names())
def test_class_labels_may_be_strings(engine):
    forest = forest_of([(0, 0.5, 0, 1), (0, 0.5, 1, 0)], n_features=1, classes=["honest", "stolen"])
    solver = engines.solver_class(engine)(forest)
    for label, side in (("honest", 0.0), (np.str_("stolen"), 1.0)):
        query = ForgeryQuery(signature=[0, 1], label=label, centre=[side], eps=0.25)
        query.check(forest)
        assert solver.answer(query).witness.tolist() == [side]
        opposite = ForgeryQuery(signature=[1, 0], label=label, centre=[side], eps=0.25)
        assert solver.answer(opposite).witness is None
    with pytest.raises(QueryError, match="label 'lost' is not among the classes"):
        ForgeryQuery(signature=[0, 1], label="lost", centre=[0], eps=1).check(forest)


def test_signatures_of_any_kind_make_equal_queries():
    for bits in (Signature.of("01"), [0, 1], (False, True), np.array([0.0, 1.0])):
        query = ForgeryQuery(**(GOOD | {"signature": bits}))
        assert query.signature.dtype == np.int8
        assert query.signature.tolist() == [0, 1]


def test_a_query_is_immutable_and_shares_no_array():
    centre = np.array([0.4, 0.3, 0.5])
    query = ForgeryQuery(**(GOOD | {"centre": centre, "label": np.int64(1)}))
    centre[0] = 9.0
    assert query.centre.tolist() == [0.4, 0.3, 0.5]
    assert type(query.label) is int
    with pytest.raises(ValueError, match="read-only"):
        query.centre[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.eps = 1.0


def test_the_error_of_a_solver_that_gives_up_can_be_pickled():
    reason = pickle.loads(pickle.dumps(OutOfResourcesError(Status.MEMOUT, "max. memory exceeded")))  # noqa: S301 - our own
    assert isinstance(reason, OutOfResourcesError)
    assert reason.status is Status.MEMOUT
    assert str(reason) == "max. memory exceeded"
