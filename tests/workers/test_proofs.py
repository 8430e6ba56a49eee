"""Which jobs share proofs in the whole domain, and which must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workers import proofs as module
from workers.jobs import ForgeryParameters, JobKind, LeasedJob
from workers.proofs import SharedProofs

PARAMETERS = ForgeryParameters(
    engine="portfolio",
    signature=3,
    ones_share=0.5,
    eps=0.5,
    first=0,
    count=5,
    repeat=0,
    seed=1,
    timeout_s=60.0,
)


@pytest.fixture
def make_job(shared_bench):
    """Makes a forgery job about the bench's forest, or another one's, some parameters changed."""

    def make(forest=None, **changes):
        embed = shared_bench.results[JobKind.EMBED]
        inputs = {JobKind.EMBED: (embed if forest is None else embed | {"forest": forest},)}
        parameters = PARAMETERS.model_dump(mode="json") | changes
        return LeasedJob(1, JobKind.FORGERY, parameters, "me", inputs, frozenset(), 0)

    return make


@pytest.fixture
def proofs(make_job):
    found = SharedProofs()
    assert found.about(make_job()) == frozenset()
    for label in (0, 1, 0):
        found.add(make_job(), (b"\0\1", label))
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"eps": 0.9},
        {"eps": "minimal", "cap": 0.3},
        {"first": 5, "count": 7},
        {"timeout_s": 1.0, "query_memory_mb": 300},
        {"certify": True},
    ],
)
def test_a_proof_serves_every_batch_of_its_signature(proofs, make_job, changes):
    assert proofs.about(make_job(**changes)) == {(b"\0\1", 0), (b"\0\1", 1)}


@pytest.mark.parametrize(
    "changes",
    [
        {"forest": "0" * 64},
        {"engine": "search"},
        {"signature": 4},
        {"ones_share": 0.25},
        {"seed": 2},
        {"repeat": 1},
    ],
)
def test_a_proof_serves_no_other_question(proofs, make_job, changes):
    assert proofs.about(make_job(**changes)) == frozenset()


def test_other_kinds_have_none(proofs, make_job):
    assert proofs.about(replace(make_job(), kind=JobKind.SPLIT)) == frozenset()


def test_those_used_last_are_kept(proofs, make_job, monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    proofs.add(make_job(signature=4), (b"\1\1", 0))
    assert proofs.about(make_job())
    proofs.add(make_job(signature=5), (b"\1\0", 0))
    assert [len(proofs.about(make_job(signature=number))) for number in (3, 4, 5)] == [2, 0, 1]
