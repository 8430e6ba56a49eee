"""A sweep keeps what it measured and finds the frontier."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from research.benchmarks import common, growth
from wm.engines import ForgeryOutcome, Status


def test_a_small_sweep(run_benchmark, tmp_path):
    plot = tmp_path / "plot.svg"
    printed, document = run_benchmark(
        "growth", "--engine", "sat", "--engine", "search", "--sweep", "trees", "--values", 4, 6,
        "--queries", 2, "--timeout", 60, "--plot", plot,
    )  # fmt: skip
    rows = [growth.Row(**row) for row in document["rows"]]
    places = [(value, engine) for value in (4, 6) for engine in ("sat", "search")]
    assert [(row.value, row.engine) for row in rows] == places
    for row in rows:
        assert row.sweep == "trees"
        assert row.forged + row.impossible == row.n == 2
        assert row.total_leaves == row.value * document["base"]["leaves"]
    assert document["frontiers"] == [
        {"sweep": "trees", "engine": engine, "value": None, "last": 6.0, "limit_s": 60.0}
        for engine in ("sat", "search")
    ]
    assert "| trees | beyond 6 | beyond 6 |" in printed
    assert "<svg" in plot.read_text()


def row(value, *, censored):
    return growth.Row("eps", value, "sat", 100, 1, 0, 0, int(censored), censored, 1.0, 1.0)


def test_the_frontier_is_the_first_censored_value():
    found = growth.frontiers([row(0.1, censored=False), row(0.2, censored=True)], 60.0)
    assert found == [growth.Frontier("eps", "sat", 0.2, 0.2, 60.0)]
    assert "| eps | 0.2 |" in growth.frontier_table(found)


def outcome(status):
    return ForgeryOutcome(status, None, None, 0.1, "an engine")


def test_contradictions_are_told():
    witness = ForgeryOutcome(Status.FORGED, np.float32([0]), 0.1, 0.1, "another")
    common.compare("here", {"a": [outcome(Status.TIMEOUT)], "b": [witness]})
    common.compare("here", {"a": [], "b": [witness]})
    with pytest.raises(growth.ContradictionError, match="here, query 0"):
        common.compare("here", {"a": [outcome(Status.IMPOSSIBLE)], "b": [witness]})


def test_where_sweeps_meet_nothing_is_asked_twice(monkeypatch):
    asked = []

    def ask(_racer, _forest, queries, _timeout):
        asked.append(queries)
        return [outcome(Status.IMPOSSIBLE)]

    monkeypatch.setattr(growth, "build", lambda point, *_: (SimpleNamespace(is_leaf=np.ones(3)), [point]))
    monkeypatch.setattr(growth, "ask", ask)
    arguments = SimpleNamespace(values=None, seed=1, queries=1, timeout=60.0)
    known = {}
    rows = [row for name in growth.SWEEPS for row in growth.sweep(name, arguments, {"sat": None}, known)]
    assert len(rows) == sum(map(len, growth.SWEEPS.values()))
    assert len(asked) == len(known) == len(rows) - (len(growth.SWEEPS) - 1)
