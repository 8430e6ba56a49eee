"""The helpers for tests of engines: examples run, and cases are as documented."""

from __future__ import annotations

import doctest

import numpy as np

import wm.testing
from wm.testing import forgeable, in_box, random_case, wanted_votes


def test_examples():
    assert doctest.testmod(wm.testing) == (0, 7)


def test_cases_are_as_documented():
    found = set()
    for number in range(60):
        case = random_case(np.random.default_rng([1, number]), 4)
        found |= case.traits()
        for query, point in zip(case.queries, case.planted, strict=True):
            query.check(case.forest)
            if point is not None:
                assert wanted_votes(case.forest, point[None], query).all()
                assert forgeable(case.forest, query) or not in_box(point, query.centre, query.eps)
    assert len(found) == 5
