"""What a handler sees: inputs, artifacts from a cache, answers sent on in time."""

from __future__ import annotations

import hashlib
from multiprocessing import Pipe

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.jobs.base import LeasedJob
from workers.jobs.forging import ForgeryResult
from workers.jobs.kinds import JobKind
from workers.jobs.owner import SplitResult
from workers.runtime import context as module
from workers.runtime.context import ArtifactCache, Context
from workers.runtime.messages import ArtifactData, NeedArtifact, Rows

JOB = LeasedJob(1, JobKind.FORGERY, {}, {JobKind.FORGERY: ({"instances": 3},)}, 0, state="after 3")


@pytest.fixture
def ends():
    ours, theirs = Pipe()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def context(ends):
    return Context(ends[0], ArtifactCache(), JOB, slice_s=1000.0)


def sent(connection):
    messages = []
    while connection.poll(0):
        messages.append(connection.recv())
    return messages


def test_inputs_are_read_as_models(context):
    assert context.input(JobKind.FORGERY, ForgeryResult) == ForgeryResult(instances=3)
    with pytest.raises(AssertionError):
        context.input(JobKind.FORGERY, SplitResult)


def test_an_artifact_is_asked_for_once(ends, context):
    ends[1].send(ArtifactData(b"bytes"))
    assert [context.artifact("ab"), context.artifact("ab")] == [b"bytes", b"bytes"]
    assert sent(ends[1]) == [NeedArtifact("ab")]


def test_the_artifact_parsed_last_is_not_parsed_again_by_the_next_job(ends):
    cache, parsed = ArtifactCache(), []

    def parse(data):
        parsed.append(data)
        return data.decode()

    for name, text in (("ab", b"one"), ("cd", b"two")):
        ends[1].send(ArtifactData(text))
        for _ in range(2):
            job = Context(ends[0], cache, JOB, slice_s=1000.0)
            assert job.parsed(name, parse) == text.decode()
    assert parsed == [b"one", b"two"]
    assert Context(ends[0], cache, JOB, slice_s=1000.0).parsed("ab", parse) == "one"
    assert parsed == [b"one", b"two", b"one"], "only one is kept"
    assert sent(ends[1]) == [NeedArtifact("ab"), NeedArtifact("cd")]


def test_a_failed_parse_is_not_cached(ends):
    cache = ArtifactCache()
    ends[1].send(ArtifactData(b"bad"))
    job = Context(ends[0], cache, JOB, slice_s=1000.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            job.parsed("ab", int)
    assert job.parsed("ab", len) == 3


def test_new_artifacts_are_named_by_their_hash_and_cached(ends, context):
    sha256 = context.keep(b"forest")
    assert sha256 == hashlib.sha256(b"forest").hexdigest()
    assert context.artifacts == {sha256: b"forest"}
    assert context.artifact(sha256) == b"forest"
    assert sent(ends[1]) == []


def test_a_job_goes_on_from_the_state_of_its_kind(context):
    assert context.state(str) == "after 3"
    with pytest.raises(AssertionError):
        context.state(int)


def test_rows_are_sent_in_bundles_and_none_is_lost(ends, context, monkeypatch):
    monkeypatch.setattr(module, "_FLUSH_EVERY_S", 1000.0)
    for row in range(120):
        context.record(row)
    bundles = [message.rows for message in sent(ends[1])]
    assert list(map(len, bundles)) == [50, 50]
    context.flush()
    context.flush()
    (last,) = sent(ends[1])
    assert isinstance(last, Rows)
    assert [row for bundle in (*bundles, last.rows) for row in bundle] == list(range(120))


def test_a_whole_bundle_waits_for_more_so_that_it_may_go_with_the_outcome(ends, context, monkeypatch):
    monkeypatch.setattr(module, "_FLUSH_EVERY_S", 1000.0)
    for row in range(50):
        context.record(row)
    assert sent(ends[1]) == []
    assert context.take() == tuple(range(50))
    context.flush()
    assert sent(ends[1]) == []


def test_a_row_that_has_waited_long_enough_is_sent(ends, context, monkeypatch):
    monkeypatch.setattr(module, "_FLUSH_EVERY_S", 0.0)
    context.record(0)
    assert sent(ends[1]) == [Rows((0,))]


def test_urgent_rows_are_sent_at_once_with_pending_ones(ends, context):
    context.record(0)
    context.record(1, at_once=True)
    assert sent(ends[1]) == [Rows((0, 1))]


def test_the_slice_is_over_after_its_time(ends):
    assert Context(ends[0], ArtifactCache(), JOB, slice_s=0.0).slice_over()
    assert not Context(ends[0], ArtifactCache(), JOB, slice_s=1000.0).slice_over()


def test_parts_are_timed(context):
    with context.timed("part"):
        pass
    assert list(context.timings) == ["part"]
    assert context.timings["part"] >= 0


def test_the_cache_drops_the_least_recently_used():
    cache = ArtifactCache(limit=30)
    for name in "abc":
        cache.put(name, bytes(10))
    assert cache.get("a") is not None
    cache.put("d", bytes(10))
    assert [name for name in "abcd" if cache.get(name) is not None] == ["a", "c", "d"]
    cache.put("large", bytes(100))
    assert [name for name in ("a", "c", "d", "large") if cache.get(name) is not None] == ["large"]
    cache.put("e", bytes(30))
    assert cache.get("large") is None
    assert cache.get("e") == bytes(30)


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"), st.integers(0, 40)), max_size=40),
)
def test_the_cache_never_lies_and_keeps_its_limit(limit, calls):
    cache = ArtifactCache(limit)
    put = {}
    last = None
    for is_put, name, size in calls:
        if is_put:
            cache.put(name, bytes(size))
            put[name] = bytes(size)
            last = name
        else:
            assert cache.get(name) in (None, put.get(name))
    if last is not None:
        assert cache.get(last) == put[last], "what came last is always there"
    kept = [name for name in put if cache.get(name) is not None]
    assert len(kept) <= 1 or sum(len(put[name]) for name in kept) <= limit
