"""Forgery jobs that know answers at other distances: with an engine that counts, and in a real process."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from multiprocessing import Pipe

import numpy as np
import pytest

from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature, forger
from wm.attacks.forgery.following import query_order, settles
from wm.datasets import Split
from wm.engines.isolated import replay_fault
from wm.engines.protocol import ForgeryQuery, Status
from wm.forest import Forest
from workers.handlers import forgery
from workers.jobs.forging import ForgeryAnswer, ForgeryParameters, ForgeryResult, ForgeryState, KnownAnswer
from workers.jobs.kinds import JobKind
from workers.runtime.context import ArtifactCache, Context
from workers.runtime.messages import End

GRID = (0.05, 0.1, 0.2, 0.3, 0.5)


def known_at(answers, eps):
    """Return answers as a later job gets them."""
    return tuple(KnownAnswer(eps, answer) for answer in answers if answer.status in ("forged", "impossible"))


def other(instance, eps, status, distance=None, reason="solver", witness=None, **more):
    """Return a known answer."""
    return KnownAnswer(eps, ForgeryAnswer(instance, 0, status, distance, 0.1, reason, witness, **more))


class Counting:
    """Passes queries on to an engine, and counts them."""

    def __init__(self, engine):
        self._engine = engine
        self.global_proofs = engine.global_proofs
        self.asked = []

    def solve(self, query, **limits):
        self.asked.append(query.eps)
        return self._engine.solve(query, **limits)

    def close(self):
        self._engine.close()


@pytest.fixture
def split(bench):
    return Split.from_bytes(bench.artifacts[bench.results[JobKind.SPLIT]["split"]])


@pytest.fixture
def forest(bench):
    return Forest.from_bytes(bench.artifacts[bench.results[JobKind.EMBED]["forest"]])


@pytest.fixture
def counting(monkeypatch, forest):
    """The engine that forgery jobs of this process get."""
    engine = Counting(engines.create("search", forest))
    monkeypatch.setattr(forger.engines, "create", lambda _name, _forest: engine)
    monkeypatch.setattr(forgery, "_ready", {})
    yield engine
    engine.close()


def run_here(bench, **changes):
    """Run a forgery job in this process; return its answers."""
    known = changes.pop("known", ())
    job = replace(bench.job(JobKind.FORGERY, **changes), state=ForgeryState(known=known))
    cache = ArtifactCache()
    for data in bench.artifacts.values():
        cache.put(hashlib.sha256(data).hexdigest(), data)
    there, here = Pipe()
    context = Context(here, cache, job, slice_s=60)
    parameters = ForgeryParameters.model_validate(job.parameters)
    assert forgery.run(parameters, context) == ForgeryResult(instances=parameters.count)
    context.flush()
    here.close()
    answers = []
    with contextlib.suppress(EOFError):
        while True:
            answers += there.recv().rows
    there.close()
    return answers


def test_answers_that_follow_equal_those_of_queries(bench, split, forest, counting):
    """A whole grid as the plan orders it: each distance knows the nearest ones before it."""
    count = 20
    alone = {eps: run_here(bench, eps=eps, count=count, signature=2) for eps in GRID}
    counting.asked.clear()
    found = {}
    for turn in query_order(len(GRID)):
        known = tuple(
            answer for place in turn.helpers for answer in known_at(found[GRID[place]], GRID[place])
        )
        found[GRID[turn.place]] = run_here(bench, eps=GRID[turn.place], count=count, signature=2, known=known)
    answers = [answer for eps in GRID for answer in found[eps]]
    followed = [answer for answer in answers if answer.followed_from is not None]
    assert len(counting.asked) == len(answers) - len(followed) <= 3 * count, "five distances, three questions"
    signature = attacker_signature(1, number=2, length=12, ones_share=0.5, repeat=0)
    for eps in GRID:
        assert [(a.instance, a.row, a.status) for a in found[eps]] == [
            (a.instance, a.row, a.status) for a in alone[eps]
        ]
        for answer in found[eps]:
            if answer.followed_from is None:
                continue
            original = answer.followed_from
            (first,) = [a for a in found[original] if a.instance == answer.instance]
            assert first.followed_from is None, "it names the answer that was asked for"
            assert answer == replace(first, seconds=0.0, followed_from=original)
            assert settles(Status(answer.status), at=original, eps=eps)
            if answer.witness is not None:
                query = ForgeryQuery(
                    signature=signature,
                    label=split.y_test[answer.row],
                    centre=split.X_test[answer.row],
                    eps=eps,
                )
                assert replay_fault(forest, query, np.frombuffer(answer.witness, dtype="<f4")) is None
    assert {answer.status for answer in followed} == {"forged", "impossible"}


def test_answers_that_settle_nothing_are_not_followed(bench, counting):
    """Forged at a larger eps, impossible at a smaller one, and whatever another instance's is."""
    alone = run_here(bench, eps=0.2, count=5)
    counting.asked.clear()
    useless = (
        other(0, 0.3, "forged", 0.25, witness=b"w"),
        other(1, 0.1, "impossible"),
        other(7, 0.3, "impossible"),
    )
    again = run_here(bench, eps=0.2, count=5, known=useless)
    assert len(counting.asked) == 5
    assert [(a.status, a.reason, a.followed_from) for a in again] == [
        (a.status, a.reason, None) for a in alone
    ]


def test_where_everything_follows_no_engine_is_started(bench):
    rows = attacker_instances(1, rows=171, count=5, repeat=0).tolist()
    known = tuple(
        KnownAnswer(0.9, ForgeryAnswer(instance, row, "impossible", None, 0.1, "no leaf", None))
        for instance, row in enumerate(rows)
    )
    job = bench.job(JobKind.FORGERY, engine="no such engine")
    run = bench.run(replace(job, state=ForgeryState(known=known)))
    assert (run.end, run.outcome.result) == (End.FINISHED, {"instances": 5})
    assert bench.take_answers() == [replace(k.answer, seconds=0.0, followed_from=0.9) for k in known]


def test_answers_that_follow_from_a_certified_one_are_certified(bench):
    bench.result(JobKind.FORGERY, eps=0.2, certify=True, count=10)
    known = known_at(bench.take_answers(), 0.2)
    job = bench.job(JobKind.FORGERY, eps=0.1, certify=True, count=10)
    run = bench.run(replace(job, state=ForgeryState(known=known)))
    assert run.end is End.FINISHED
    answers = bench.take_answers()
    assert any(answer.followed_from == 0.2 for answer in answers if answer.status == "impossible")
    assert {(answer.status, answer.certified) for answer in answers} <= {
        ("impossible", True),
        ("forged", None),
    }
