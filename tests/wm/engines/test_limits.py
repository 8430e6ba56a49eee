"""Limits hold although the solvers never return to Python, and the next query is answered."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from wm import engines
from wm.engines import ForgeryQuery, Status

# The engines that try to solve a pigeonhole formula of any size, so that a limit is reached.
ENGINES = ("sat", "sat-incremental", "z3", "z3-bool")


@pytest.fixture(scope="session")
def hard(hopelessly_slow):
    d, m = hopelessly_slow.n_features, hopelessly_slow.n_trees
    return ForgeryQuery(signature=np.zeros(m), label=1, centre=np.full(d, 0.5), eps=0.5)


@pytest.fixture(scope="session")
def easy(hopelessly_slow):
    """A query for the votes of its centre."""
    centre = np.zeros(hopelessly_slow.n_features)
    return ForgeryQuery(
        signature=hopelessly_slow.votes(centre[None])[0] != 1, label=1, centre=centre, eps=0.25
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_limits_hold_inside_the_solver_and_the_next_query_is_answered(hopelessly_slow, hard, easy, engine):
    with engines.create(engine, hopelessly_slow) as isolated:
        outcome = isolated.solve(hard, timeout_s=0.5)
        assert outcome.status is Status.TIMEOUT
        assert outcome.reason == "time limit of 0.5 s"
        assert outcome.witness is None
        assert outcome.seconds >= 0.5
        assert isolated.solve(easy, timeout_s=60).status is Status.FORGED

        outcome = isolated.solve(hard, timeout_s=60, memory_bytes=1_000_000)
        assert outcome.status is Status.MEMOUT
        assert outcome.reason == "memory limit of 1000000 bytes"
        assert outcome.seconds < 60
        assert isolated.solve(easy, timeout_s=60, memory_bytes=2**32).status is Status.FORGED

        # A third time: the killed children left nothing behind.
        assert isolated.solve(hard, timeout_s=0.1).status is Status.TIMEOUT
        assert isolated.solve(easy, timeout_s=60).status is Status.FORGED


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts them, and holds none open


def test_engines_leave_no_descriptor_open(figure_1):
    query = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.25, 0.5], eps=0.05)
    gc.collect()  # objects of earlier tests must not be freed in between
    before = open_descriptors()
    for _ in range(2):
        with engines.create("sat", figure_1) as isolated:
            assert isolated.solve(query, timeout_s=60).status is Status.FORGED
        isolated.close()  # a second time does no harm
    gc.collect()
    assert open_descriptors() == before
