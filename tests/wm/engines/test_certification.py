"""Certified impossibility: confirmed by a prover, contradicted, or left open."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import minmax_scale

from wm import engines
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.certification import CertifyingEngine, certified
from wm.forest import Forest


@pytest.fixture(scope="module")
def trained_forest():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(6, max_depth=3, bootstrap=False, random_state=0)
    return Forest.from_sklearn(model.fit(minmax_scale(X).astype(np.float32), y))


def outcome(status, reason="solver"):
    return ForgeryOutcome(status, None, None, 0.1, "search", reason)


def test_a_proof_certifies_and_keeps_the_first_reason():
    found = certified(outcome(Status.IMPOSSIBLE, "whole domain"), outcome(Status.IMPOSSIBLE, "solver, proof"))
    assert (found.status, found.engine) == (Status.IMPOSSIBLE, "search")
    assert found.reason == "whole domain; certified: solver, proof"
    assert found.certified is True


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.MEMOUT, Status.ERROR])
def test_a_prover_that_fails_leaves_the_answer_uncertified(status):
    found = certified(outcome(Status.IMPOSSIBLE), outcome(status, "why"))
    assert found.status is Status.IMPOSSIBLE
    assert found.reason == f"solver; not certified: {status} (why)"
    assert found.certified is False


def test_a_contradiction_is_an_error():
    found = certified(outcome(Status.IMPOSSIBLE), outcome(Status.FORGED))
    assert (found.status, found.certified) == (Status.ERROR, None)
    assert "has a witness" in found.reason


class Fixed:
    """An engine with one outcome, which records its limits."""

    name = "fixed"

    def __init__(self, outcome):
        self._outcome = outcome
        self.limits = []

    def solve(self, query, *, timeout_s, memory_bytes=None):
        self.limits.append(timeout_s)
        return self._outcome

    def close(self):
        pass


def test_the_prover_has_the_solving_time_that_the_engine_left(monkeypatch, figure_1):
    """The engine's start, which its first query waits for, does not count."""
    engine, prover = Fixed(outcome(Status.IMPOSSIBLE)), Fixed(outcome(Status.IMPOSSIBLE))
    monkeypatch.setattr("wm.engines.certification.IsolatedEngine", lambda *_: prover)
    query = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.3, 0.5], eps=0.1)
    found = CertifyingEngine(engine, figure_1).solve(query, timeout_s=5)
    assert (engine.limits, prover.limits) == ([5], [5 - 0.1])
    assert (found.certified, found.seconds) == (True, 0.2)


def test_every_impossible_of_a_real_forest_is_certified(trained_forest):
    rng = np.random.default_rng(0)
    seen = set()
    with CertifyingEngine(engines.create("search", trained_forest), trained_forest) as engine:
        for _ in range(30):
            query = ForgeryQuery(
                signature=rng.integers(2, size=trained_forest.n_trees),
                label=int(rng.integers(2)),
                centre=rng.random(trained_forest.n_features),
                eps=0.2,
            )
            found = engine.solve(query, timeout_s=30.0)
            seen.add(found.status)
            assert found.certified is (True if found.status is Status.IMPOSSIBLE else None)
    assert seen == {Status.FORGED, Status.IMPOSSIBLE}
