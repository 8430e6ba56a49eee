"""What follows from a proof in the whole domain, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wm.engines import Answer, ForgeryQuery, Status, whole_domain
from wm.engines.isolated import IsolatedEngine
from wm.engines.protocol import WHOLE_DOMAIN
from wm.engines.whole_domain import WholeDomainProofs

QUERY = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.25, 0.5], eps=0.05)


def test_every_box_of_the_pair_follows_and_no_other_pair():
    proofs = WholeDomainProofs()
    assert not proofs.settle(QUERY)
    proofs.add(QUERY.pair)
    assert proofs.settle(QUERY)
    assert proofs.settle(replace(QUERY, centre=[1.0, 0.0, 0.9], eps=1.0))
    assert not proofs.settle(replace(QUERY, label=0))
    assert not proofs.settle(replace(QUERY, signature=[1, 1]))


@pytest.mark.parametrize(
    ("centre", "eps", "settled"),
    [
        ([1.25, 0.5, 0.5], 0.25, True),
        ([1.25, 0.5, 0.5], 0.125, False),
        ([-0.25, 0.5, 0.5], 0.25, True),
        ([-0.25, 0.5, 0.5], 0.125, False),
        ([0.0, 1.0, 0.5], 0.0, True),
    ],
)
def test_an_empty_box_is_left_to_its_better_reason(centre, eps, settled):
    proofs = WholeDomainProofs()
    proofs.add(QUERY.pair)
    assert proofs.settle(replace(QUERY, centre=centre, eps=eps)) == settled


def test_only_the_newest_are_remembered(monkeypatch):
    monkeypatch.setattr(whole_domain, "MOST", 2)
    queries = [replace(QUERY, label=label) for label in (1, 2, 3)]
    proofs = WholeDomainProofs()
    for query in queries:
        proofs.add(query.pair)
    assert [proofs.settle(query) for query in queries] == [False, True, True]


class Solving:
    """Stands in for the solving process: gives one answer again and again, and counts."""

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
def test_only_a_proof_in_the_whole_domain_spares_the_solver(monkeypatch, figure_1, is_global, asked):
    reason = WHOLE_DOMAIN if is_global else "larger box"
    solving = Solving(Answer(None, reason, is_global=is_global))
    monkeypatch.setattr("wm.engines.isolated.Sandbox", lambda *_: solving)
    with IsolatedEngine("portfolio", figure_1) as engine:
        outcomes = [engine.solve(QUERY, timeout_s=2) for _ in range(3)]
    assert solving.asked == asked
    for outcome in outcomes:
        assert (outcome.status, outcome.reason, outcome.engine) == (Status.IMPOSSIBLE, reason, "portfolio")
        assert (outcome.witness, outcome.distance) == (None, None)
        assert 0 <= outcome.seconds < 2
