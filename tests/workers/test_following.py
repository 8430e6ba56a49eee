"""Forgery jobs that know answers at other distances: with an engine that counts, and in a real process."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from multiprocessing import Pipe

import numpy as np
import pytest

from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.attacks.forgery.following import asking_order, follows, settles
from wm.datasets import Split
from wm.engines.certification import is_certified
from wm.engines.isolated import replay_fault
from wm.engines.protocol import ForgeryQuery, Status
from wm.forest import Forest
from workers.handlers import forgery
from workers.jobs import ForgeryParameters, ForgeryResult, JobKind, KnownAnswer
from workers.runtime.context import ArtifactCache, Context
from workers.runtime.sandbox import End

GRID = (0.05, 0.1, 0.2, 0.3, 0.5)


def known_at(answers, eps):
    """Return answers as a later job gets them."""
    return tuple(
        KnownAnswer(answer.instance, eps, answer.status, answer.distance, answer.reason, answer.witness)
        for answer in answers
        if answer.status in ("forged", "impossible")
    )


class Counting:
    """Passes queries on to an engine, and counts them."""

    def __init__(self, engine):
        self._engine = engine
        self.whole_domain = engine.whole_domain
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
    monkeypatch.setattr(forgery.engines, "create", lambda _name, _forest: engine)
    monkeypatch.setattr(forgery, "_warm", {})
    yield engine
    engine.close()


def run_here(bench, **changes):
    """Run a forgery job in this process; return its answers."""
    known = changes.pop("known", ())
    job = replace(bench.job(JobKind.FORGERY, **changes), known=known)
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
            answers += there.recv().answers
    there.close()
    return answers


def test_what_follows_is_not_asked_and_equals_what_would_be_answered(bench, split, forest, counting):
    """A whole grid as the plan orders it: each distance knows the nearest ones before it."""
    count = 20
    alone = {eps: run_here(bench, eps=eps, count=count, signature=2) for eps in GRID}
    counting.asked.clear()
    found = {}
    for turn in asking_order(len(GRID)):
        known = tuple(
            answer for place in turn.helpers for answer in known_at(found[GRID[place]], GRID[place])
        )
        found[GRID[turn.place]] = run_here(bench, eps=GRID[turn.place], count=count, signature=2, known=known)
    answers = [answer for eps in GRID for answer in found[eps]]
    followed = [answer for answer in answers if follows(answer.reason)]
    assert len(counting.asked) == len(answers) - len(followed) <= 3 * count, "five distances, three questions"
    signature = attacker_signature(1, number=2, length=12, ones_share=0.5, repeat=0)
    for eps in GRID:
        assert [(a.instance, a.row, a.status) for a in found[eps]] == [
            (a.instance, a.row, a.status) for a in alone[eps]
        ]
        for answer in found[eps]:
            if not follows(answer.reason):
                continue
            original = float(answer.reason.split()[3].rstrip(":"))
            (first,) = [a for a in found[original] if a.instance == answer.instance]
            assert not follows(first.reason), "it names the answer that was asked for"
            assert answer.reason == f"follows from eps {original:g}: {first.reason}"
            assert (answer.seconds, answer.witness, answer.distance) == (0.0, first.witness, first.distance)
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
        KnownAnswer(0, 0.3, "forged", 0.25, "solver", b"w"),
        KnownAnswer(1, 0.1, "impossible", None, "solver", None),
        KnownAnswer(7, 0.3, "impossible", None, "solver", None),
    )
    again = run_here(bench, eps=0.2, count=5, known=useless)
    assert len(counting.asked) == 5
    assert [(a.status, a.reason) for a in again] == [(a.status, a.reason) for a in alone]


def test_where_everything_follows_no_engine_is_started(bench):
    known = tuple(KnownAnswer(instance, 0.9, "impossible", None, "no leaf", None) for instance in range(5))
    run = bench.run(replace(bench.job(JobKind.FORGERY, engine="no such engine"), known=known))
    assert (run.end, run.outcome.result) == (End.FINISHED, {"instances": 5})
    answers = bench.take_answers()
    assert [(a.instance, a.status, a.seconds, a.reason) for a in answers] == [
        (instance, "impossible", 0.0, "follows from eps 0.9: no leaf") for instance in range(5)
    ]
    assert [a.row for a in answers] == attacker_instances(1, rows=171, count=5, repeat=0).tolist()


def test_what_follows_from_a_certified_answer_is_certified(bench):
    bench.result(JobKind.FORGERY, eps=0.2, certify=True, count=10)
    known = known_at(bench.take_answers(), 0.2)
    run = bench.run(replace(bench.job(JobKind.FORGERY, eps=0.1, certify=True, count=10), known=known))
    assert run.end is End.FINISHED
    impossible = [answer.reason for answer in bench.take_answers() if answer.status == "impossible"]
    assert any(follows(reason) for reason in impossible)
    assert all(is_certified(reason) for reason in impossible)
