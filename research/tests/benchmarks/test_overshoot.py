"""Forced limits strike as what they are, and an end of another kind is told."""

from __future__ import annotations

import numpy as np
import pytest

from research.benchmarks import overshoot
from wm import engines
from wm.attacks.hardness import random_3cnf, to_forest
from wm.engines import Status


def test_a_few_forced_limits(run_benchmark, tmp_path):
    plot = tmp_path / "plot.svg"
    printed, document = run_benchmark(
        "overshoot", "--engine", "sat", "--count", 3, "--memouts", 2, "--trivial", 5, "--plot", plot
    )
    (row,) = [overshoot.Row(**row) for row in document["rows"]]
    assert (row.engine, row.timeouts, row.memouts) == ("sat", 3, 2)
    assert 0 <= row.median <= row.p99 <= row.max
    assert row.late == sum(seconds > overshoot.ALLOWED_S for seconds in document["samples"][0]["overshoots"])
    low, high = overshoot.LIMITS_S
    assert all(low <= limit <= high for limit in document["samples"][0]["limits"])
    assert "| sat | 3 |" in printed
    assert "<svg" in plot.read_text()


def test_a_query_that_ends_otherwise_is_told():
    forest = to_forest(random_3cnf(5, 10, np.random.default_rng(1)))
    with engines.create("sat", forest) as engine:
        easy, nowhere = overshoot.easy_query(forest), overshoot.query(forest, 2.0)
        assert overshoot.expect(engine, easy, Status.FORGED).witness is not None
        assert overshoot.expect(engine, nowhere, Status.IMPOSSIBLE).witness is None
        with pytest.raises(overshoot.ContradictionError, match=r"forged .* instead of timeout"):
            overshoot.expect(engine, easy, Status.TIMEOUT)
