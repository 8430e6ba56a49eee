"""Queries that a global proof answers, and those that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wm.engines import Answer, ForgeryQuery, Status, global_proofs
from wm.engines.global_proofs import GlobalProofs
from wm.engines.isolated import IsolatedEngine
from wm.engines.protocol import GLOBAL_REASON

QUERY = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.25, 0.5], eps=0.05)


def test_a_proof_refutes_every_box_of_its_pair_and_no_other_pair():
    proofs = GlobalProofs()
    assert not proofs.refutes(QUERY)
    proofs.add(QUERY.pair)
    assert proofs.refutes(QUERY)
    assert proofs.refutes(replace(QUERY, centre=[1.0, 0.0, 0.9], eps=1.0))
    assert not proofs.refutes(replace(QUERY, label=0))
    assert not proofs.refutes(replace(QUERY, signature=[1, 1]))


@pytest.mark.parametrize(
    ("centre", "eps", "refuted"),
    [
        ([1.25, 0.5, 0.5], 0.25, True),
        ([1.25, 0.5, 0.5], 0.125, False),
        ([-0.25, 0.5, 0.5], 0.25, True),
        ([-0.25, 0.5, 0.5], 0.125, False),
        ([0.0, 1.0, 0.5], 0.0, True),
    ],
)
def test_an_empty_box_is_not_answered_by_a_global_proof(centre, eps, refuted):
    proofs = GlobalProofs()
    proofs.add(QUERY.pair)
    assert proofs.refutes(replace(QUERY, centre=centre, eps=eps)) == refuted


def test_only_the_newest_proofs_are_kept(monkeypatch):
    monkeypatch.setattr(global_proofs, "MAX_PROOFS", 2)
    queries = [replace(QUERY, label=label) for label in (1, 2, 3)]
    proofs = GlobalProofs()
    for query in queries:
        proofs.add(query.pair)
    assert [proofs.refutes(query) for query in queries] == [False, True, True]


class Solving:
    """Replaces the solving process: always gives the same answer, and counts."""

    suspended_s = 0.0

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def ready(self):
        pass

    def close(self):
        pass

    def ask(self, _message, *, timeout_s, memory_bytes):
        self.asked += 1
        return self.answer


@pytest.mark.parametrize(("is_global", "asked"), [(True, 1), (False, 3)])
def test_only_a_global_proof_answers_later_queries(monkeypatch, figure_1, is_global, asked):
    reason = GLOBAL_REASON if is_global else "larger box"
    solving = Solving(Answer(None, reason, is_global=is_global))
    monkeypatch.setattr("wm.engines.isolated.Sandbox", lambda *_: solving)
    with IsolatedEngine("search", figure_1) as engine:
        outcomes = [engine.solve(QUERY, timeout_s=2) for _ in range(3)]
    assert solving.asked == asked
    for outcome in outcomes:
        assert (outcome.status, outcome.reason, outcome.engine) == (Status.IMPOSSIBLE, reason, "search")
        assert (outcome.witness, outcome.distance) == (None, None)
        assert 0 <= outcome.seconds < 2
