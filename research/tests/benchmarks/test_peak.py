"""Lone queries are answered apart, and those beyond the limit count as it."""

from __future__ import annotations

import pickle
import time
from types import SimpleNamespace

import numpy as np
import pytest

from research.benchmarks import peak
from research.benchmarks.growth import Point, build
from wm.engines import Answer, solver_class


def test_engines_are_raced_on_small_forests(run_benchmark):
    printed, document = run_benchmark("peak", "--engine", "sat", "learning", "--trees", 4, 6, "--queries", 2)
    rows = [peak.Row(**row) for row in document["rows"]]
    assert [(row.trees, row.engine) for row in rows] == [
        (trees, engine) for trees in (4, 6) for engine in ("sat", "learning")
    ]
    assert all(row.forged + row.impossible == len(row.seconds) == 2 for row in rows)
    assert "| 6 | learning | 2 |" in printed


def test_a_query_beyond_the_limit_has_no_answer():
    def spin(_query):
        while True:
            time.process_time()

    answer, seconds = peak.asked_apart(SimpleNamespace(answer=spin), None, 0.1)
    assert answer is None
    assert seconds == 0.1


def test_answers_that_differ_are_told(monkeypatch):
    forest, asked = build(Point(trees=4), 1, 1)
    witness = solver_class("sat")(forest).answer(asked[0]).witness
    assert witness is not None
    answers = iter([Answer(witness), Answer(None)])
    monkeypatch.setattr(peak, "asked_apart", lambda *_: (pickle.dumps(next(answers).witness), 0.1))
    with pytest.raises(peak.ContradictionError, match="query 0"):
        list(peak.race(forest, asked, 4, ["sat", "search"], 1.0))
    monkeypatch.setattr(peak, "asked_apart", lambda *_: (pickle.dumps(np.zeros_like(witness) - 1), 0.1))
    with pytest.raises(peak.ContradictionError, match="outside its box"):
        list(peak.race(forest, asked, 4, ["sat"], 1.0))
