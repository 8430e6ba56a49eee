"""The contract of `workers.runtime.ledger.Ledger`, for every store."""

from __future__ import annotations

import hashlib
import random
import threading
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator.errors import NotFoundError, StoreError
from orchestrator.store import campaigns, queue
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import JobState, artifact, attempt, forgery_answer, outcome
from tests import ending
from workers.jobs.base import LeasedJob, Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer, ForgeryParameters, ForgeryState, GlobalProof
from workers.jobs.kinds import JobKind
from workers.runtime.ledger import LEASE_S, MAX_ATTEMPTS

DONE = Outcome(OutcomeStatus.DONE, {"value": 1}, {"job": 0.5})
BYTES_HASH = hashlib.sha256(b"bytes").hexdigest()
FAILURE = Outcome(OutcomeStatus.ERROR, None, {}, "no")


def answer(instance, *, seconds=0.1):
    return ForgeryAnswer(instance, 7, "forged", 0.25, seconds, "solver", b"\x00\x01")


def outcome_of(workshop, job_id):
    with workshop.store.read() as connection:
        return connection.execute(sa.select(outcome).where(outcome.c.job_id == job_id)).one_or_none()


# Leases


def test_a_lease_brings_all_that_the_job_needs(workshop):
    workshop.campaign(
        workshop.job("split"),
        workshop.job("embed", "split", kind=JobKind.EMBED),
        workshop.job("forgery", "split", "embed", kind=JobKind.FORGERY),
    )
    workshop.finish(["split"], replace(DONE, result={"of": "split"}))
    workshop.finish(["embed"], replace(DONE, result={"of": "embed"}))
    job_id = workshop.id("forgery")
    first = workshop.ledger.lease(job_id, "another")
    assert first is not None
    assert first.state == ForgeryState()
    workshop.ledger.save(job_id, [answer(3), answer(5)])
    workshop.ledger.hand_back(job_id, "another")
    assert workshop.ledger.lease(job_id, "me") == LeasedJob(
        job_id=job_id,
        kind=JobKind.FORGERY,
        parameters={"of": "forgery"},
        inputs={JobKind.SPLIT: ({"of": "split"},), JobKind.EMBED: ({"of": "embed"},)},
        failures=0,
        state=ForgeryState(answered=frozenset({3, 5})),
    )
    assert workshop.states("forgery") == [JobState.RUNNING]


ASKED = ForgeryParameters(
    engine="portfolio",
    signature=3,
    ones_share=0.5,
    eps=0.5,
    first=0,
    count=5,
    repeat=0,
    seed=1,
    timeout_s=60.0,
).model_dump(mode="json")


def test_later_jobs_of_a_signature_get_its_global_proofs(workshop):
    others = [
        {"engine": "search"},
        {"seed": 2},
        {"repeat": 1},
        {"signature": 4},
        {"ones_share": 0.25},
        {"timeout_s": 2.0},
        {"query_memory_mb": 100},
        {"certify": True},
    ]
    alike = [{"eps": 0.7}, {"eps": "minimal", "cap": 0.3}, {"first": 100, "count": 3}]

    def forgery(key, forest, **changes):
        return replace(workshop.job(key, forest, kind=JobKind.FORGERY), parameters=ASKED | changes)

    workshop.campaign(
        workshop.job("forest", kind=JobKind.EMBED),
        workshop.job("another forest", kind=JobKind.EMBED),
        forgery("first", "forest"),
        forgery("elsewhere", "another forest"),
        workshop.job("detection", "forest", kind="detection"),
        *(forgery(f"alike {number}", "forest", **changes) for number, changes in enumerate(alike)),
        *(forgery(f"other {number}", "forest", **changes) for number, changes in enumerate(others)),
    )
    workshop.finish(["forest", "another forest"])
    ledger = workshop.ledger
    assert ledger.lease(workshop.id("first"), "me").state.proved == frozenset()
    for label in (1, 0, 1):
        ledger.save(workshop.id("first"), [GlobalProof(label)])
    for number in range(len(alike)):
        assert ledger.lease(workshop.id(f"alike {number}"), "me").state.proved == {0, 1}
    assert ledger.lease(workshop.id("detection"), "me").state is None
    for key in ("elsewhere", *(f"other {number}" for number in range(len(others)))):
        assert ledger.lease(workshop.id(key), "me").state.proved == frozenset()


def test_a_row_that_is_neither_answer_nor_proof_is_refused(workshop):
    (job_id,) = workshop.jobs("a")
    with pytest.raises(TypeError, match="answers and proofs only"):
        workshop.ledger.save(job_id, [answer(1), "a row"])
    assert workshop.count(forgery_answer) == 0


def test_only_a_ready_job_can_be_leased(workshop):
    workshop.campaign(workshop.job("a"), workshop.job("b", "a"), workshop.job("c", "b"), workshop.job("d"))
    a, b, c, d = map(workshop.id, "abcd")
    ledger = workshop.ledger
    assert ledger.lease(b, "me") is None, "waiting"
    assert ledger.lease(10**6, "me") is None, "not there"
    assert ledger.lease(a, "me") is not None
    assert ledger.lease(a, "me") is None, "running, even for its own owner"
    ledger.record(a, "me", FAILURE, {})
    assert [ledger.lease(job_id, "me") for job_id in (a, b, c)] == [None] * 3, "failed and blocked"
    workshop.finish("d")
    assert ledger.lease(d, "me") is None, "done"


@pytest.mark.parametrize("connections", ["shared", "own"])
def test_of_two_racing_workers_one_gets_each_job(workshop, store_url, connections):
    """With `own`, each has a store of its own, as processes do."""
    job_ids = workshop.jobs(*(f"job {number}" for number in range(200)))
    barrier = threading.Barrier(2, timeout=60)
    taken: dict[str, list[int]] = {}

    def race(owner):
        store = workshop.store if connections == "shared" else Store(store_url)
        ledger = StoreLedger(store)
        barrier.wait()
        taken[owner] = [job_id for job_id in job_ids if ledger.lease(job_id, owner) is not None]
        if connections == "own":
            store.close()

    threads = [threading.Thread(target=race, args=(owner,)) for owner in ("one", "other")]
    for thread in threads:
        thread.start()
    ending.join(*threads)
    assert sorted(taken["one"] + taken["other"]) == job_ids
    for owner, theirs in taken.items():
        assert {workshop.row(job_id).lease_owner for job_id in theirs} <= {owner}


def test_a_heartbeat_renews_the_lease(workshop):
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    ledger.lease(job_id, "me")
    first = workshop.row(job_id).lease_until
    assert ledger.heartbeat(job_id, "me")
    assert workshop.row(job_id).lease_until >= first
    workshop.expire(job_id)
    assert ledger.heartbeat(job_id, "me"), "late, but nobody has taken the job"
    ((now,),) = workshop.store.rows(sa.select(workshop.store.clock()))
    assert now < workshop.row(job_id).lease_until <= now + LEASE_S
    assert queue.requeue_expired(workshop.store) == 0


def test_a_heartbeat_reports_a_lost_lease(workshop):
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    assert not ledger.heartbeat(job_id, "me"), "never had"
    ledger.lease(job_id, "me")
    assert not ledger.heartbeat(job_id, "another")
    workshop.expire(job_id)
    queue.requeue_expired(workshop.store)
    assert not ledger.heartbeat(job_id, "me"), "queued again"
    ledger.lease(job_id, "another")
    assert not ledger.heartbeat(job_id, "me"), "taken"
    assert ledger.heartbeat(job_id, "another")
    ledger.record(job_id, "another", DONE, {})
    assert not ledger.heartbeat(job_id, "another"), "over"


def test_only_expired_leases_are_queued_again(workshop):
    expired, alive, never = workshop.jobs("a", "b", "c")
    for job_id in (expired, alive):
        workshop.ledger.lease(job_id, "me")
    assert queue.requeue_expired(workshop.store) == 0
    workshop.expire(expired)
    assert queue.requeue_expired(workshop.store) == 1
    assert queue.requeue_expired(workshop.store) == 0
    assert workshop.states("a", "b", "c") == [JobState.READY, JobState.RUNNING, JobState.READY]
    assert [workshop.row(job_id).failures for job_id in (expired, alive, never)] == [1, 0, 0]
    again = workshop.ledger.lease(expired, "another")
    assert again is not None
    assert again.failures == 1


# Failed attempts


def test_after_the_last_attempt_a_job_ends_as_error_with_its_history(workshop):
    workshop.campaign(workshop.job("a"), workshop.job("b", "a"))
    job_id = workshop.id("a")
    ledger = workshop.ledger
    assert MAX_ATTEMPTS == 3
    for failures, reason in enumerate(("it crashed\n", "it crashed\nagain")):
        leased = ledger.lease(job_id, f"worker {failures}")
        assert leased is not None
        assert leased.failures == failures
        ledger.fail(job_id, f"worker {failures}", reason)
        assert workshop.states("a", "b") == [JobState.READY, JobState.WAITING]
        assert outcome_of(workshop, job_id) is None
    ledger.lease(job_id, "worker 2")
    workshop.expire(job_id)
    assert queue.requeue_expired(workshop.store) == 1
    ended = outcome_of(workshop, job_id)
    assert (ended.status, ended.result, ended.owner) == (OutcomeStatus.ERROR, None, "worker 2")
    assert ended.error == (
        "failed 3 times\nattempt 1: it crashed\nattempt 2: it crashed\nagain\n"
        "attempt 3: worker lost: lease expired"
    )
    assert workshop.states("a", "b") == [JobState.FAILED, JobState.BLOCKED]
    assert workshop.row(job_id).lease_owner is None
    assert workshop.count(attempt) == 3
    assert ledger.lease(job_id, "worker 3") is None


def test_a_worker_that_lost_its_lease_cannot_fail_or_hand_back_the_job(workshop):
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    ledger.lease(job_id, "me")
    workshop.expire(job_id)
    queue.requeue_expired(workshop.store)
    ledger.lease(job_id, "another")
    ledger.fail(job_id, "me", "too late")
    ledger.hand_back(job_id, "me")
    row = workshop.row(job_id)
    assert (row.state, row.lease_owner, row.failures) == (JobState.RUNNING, "another", 1)
    assert workshop.count(attempt) == 1


def test_handing_back_is_no_failure(workshop):
    (job_id,) = workshop.jobs("a")
    for _ in range(MAX_ATTEMPTS + 2):
        leased = workshop.ledger.lease(job_id, "me")
        assert leased is not None
        assert leased.failures == 0
        workshop.ledger.hand_back(job_id, "me")
        row = workshop.row(job_id)
        assert (row.state, row.lease_owner, row.lease_until) == (JobState.READY, None, None)
    assert workshop.count(attempt) == 0


# Outcomes


def test_the_first_outcome_wins(workshop):
    """The first worker was too slow, its lease went to another; both finish."""
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    ledger.lease(job_id, "slow")
    workshop.expire(job_id)
    queue.requeue_expired(workshop.store)
    ledger.lease(job_id, "quick")
    assert ledger.record(job_id, "slow", replace(DONE, result={"by": "slow"}), {})
    first = outcome_of(workshop, job_id)
    assert workshop.states("a") == [JobState.DONE]
    assert not ledger.record(job_id, "quick", replace(FAILURE, error="by quick"), {})
    ledger.fail(job_id, "quick", "by quick")
    ledger.hand_back(job_id, "quick")
    assert outcome_of(workshop, job_id) == first
    assert first.result == {"by": "slow"}
    assert workshop.states("a") == [JobState.DONE]


@pytest.mark.parametrize(
    "recorded", [DONE, FAILURE, Outcome(OutcomeStatus.TIMEOUT, None, {"job": 1.0}, "late")]
)
def test_an_outcome_is_kept_as_it_was_recorded(workshop, recorded):
    (job_id,) = workshop.jobs("a")
    workshop.ledger.lease(job_id, "me")
    assert workshop.ledger.record(job_id, "me", recorded, {BYTES_HASH: b"bytes"})
    row = outcome_of(workshop, job_id)
    assert Outcome(OutcomeStatus(row.status), row.result, row.timings, row.error) == recorded
    assert row.owner == "me"
    assert workshop.ledger.artifact(BYTES_HASH) == b"bytes"
    assert workshop.row(job_id).lease_owner is None


def test_the_last_answers_come_with_the_outcome(workshop):
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    ledger.lease(job_id, "me")
    ledger.save(job_id, [answer(1, seconds=0.5)])
    assert ledger.record(job_id, "me", DONE, {}, [answer(1, seconds=0.9), answer(2, seconds=0.9)])
    with workshop.store.read() as connection:
        rows = connection.execute(
            sa.select(forgery_answer.c.instance, forgery_answer.c.seconds).order_by(forgery_answer.c.instance)
        )
        assert [tuple(row) for row in rows] == [(1, 0.5), (2, 0.9)]


def test_two_workers_that_end_one_job_at_once_do_not_wait_for_each_other_for_ever(workshop):
    """Their answers are different ones: each was asked to go on where the other had left off."""
    job_ids = workshop.jobs(*map(str, range(20)))
    together = threading.Barrier(2, timeout=60)
    won = []

    def end(instances):
        for job_id in job_ids:
            together.wait()
            won.append(workshop.ledger.record(job_id, "me", DONE, {}, list(map(answer, instances))))

    others = threading.Thread(target=end, args=(range(60),))
    others.start()
    end(range(60, 120))
    ending.join(others)
    assert sorted(won) == [False] * 20 + [True] * 20


BAD_ARTIFACT = {BYTES_HASH: b"bytes", None: b"no hash"}
BAD_OUTCOME = replace(DONE, result={"not JSON": {1, 2}})


@pytest.mark.parametrize(
    ("recorded", "artifacts", "answers", "error"),
    [
        (DONE, BAD_ARTIFACT, [], StoreError),
        (DONE, {BYTES_HASH: b"bytes"}, [answer(1), answer(None)], StoreError),
        # Written by SQLAlchemy or by the driver.
        (BAD_OUTCOME, {BYTES_HASH: b"bytes"}, [answer(1)], (sa.exc.StatementError, TypeError)),
    ],
)
def test_recording_is_all_or_nothing(workshop, recorded, artifacts, answers, error):
    workshop.campaign(workshop.job("a"), workshop.job("b", "a"))
    job_id = workshop.id("a")
    workshop.ledger.lease(job_id, "me")
    with pytest.raises(error):
        workshop.ledger.record(job_id, "me", recorded, artifacts, answers)
    assert workshop.count(outcome) == workshop.count(artifact) == workshop.count(forgery_answer) == 0
    assert workshop.states("a", "b") == [JobState.RUNNING, JobState.WAITING]
    assert workshop.ledger.heartbeat(job_id, "me"), "the lease still holds"


def test_equal_artifacts_of_two_jobs_are_one(workshop):
    first, second = workshop.jobs("a", "b")
    for job_id in (first, second):
        workshop.ledger.lease(job_id, "me")
        assert workshop.ledger.record(
            job_id, "me", DONE, {hashlib.sha256(b"\x00" * 100_000).hexdigest(): b"\x00" * 100_000}
        )
    assert workshop.count(artifact) == 1
    assert workshop.ledger.artifact(hashlib.sha256(b"\x00" * 100_000).hexdigest()) == b"\x00" * 100_000


def test_an_unknown_artifact_is_reported(workshop):
    with pytest.raises(NotFoundError, match="no artifact 0123 in "):
        workshop.ledger.artifact("0123")


def test_an_answer_is_kept_once(workshop):
    workshop.campaign(workshop.job("a", kind=JobKind.FORGERY))
    job_id = workshop.id("a")
    ledger = workshop.ledger
    last = replace(answer(3), witness=None, distance=None, followed_from=0.5, certified=False)
    ledger.save(job_id, [answer(1, seconds=0.5), answer(2, seconds=0.5)])
    ledger.save(job_id, [answer(2, seconds=9.0), last])
    ledger.save(job_id, [])
    with workshop.store.read() as connection:
        rows = connection.execute(sa.select(forgery_answer).order_by(forgery_answer.c.instance)).all()
    kept = [ForgeryAnswer(*row[1:]) for row in rows]
    assert kept == [answer(1, seconds=0.5), answer(2, seconds=0.5), last]
    ledger.lease(job_id, "another")
    ledger.hand_back(job_id, "another")
    leased = ledger.lease(job_id, "me")
    assert leased is not None
    assert leased.state.answered == {1, 2, 3}


def test_a_long_reason_is_cut_in_the_middle_and_no_store_refuses_it(workshop):
    """As of a traceback: its beginning shows that it is one, its end the fault."""
    (job_id,) = workshop.jobs("a")
    reason = "Traceback (most recent call last): " + "x" * 5000 + " ZeroDivisionError: by zero"
    exact = "r" * 200
    workshop.ledger.save(job_id, [replace(answer(1), reason=reason), replace(answer(2), reason=exact)])
    with workshop.store.read() as connection:
        query = sa.select(forgery_answer.c.reason).order_by(forgery_answer.c.instance)
        cut, kept = connection.execute(query).scalars()
    assert kept == exact
    assert len(cut) <= 200
    assert cut.startswith("Traceback (most recent call last): ")
    assert cut.endswith(" ZeroDivisionError: by zero")
    assert " [...] " in cut


# Dependents


def test_a_job_is_ready_only_when_all_its_needs_are_done(workshop):
    workshop.campaign(
        workshop.job("a"), workshop.job("b", "a"), workshop.job("c", "a"), workshop.job("d", "b", "c")
    )
    assert workshop.states(*"abcd") == [JobState.READY] + [JobState.WAITING] * 3
    workshop.finish("a")
    assert workshop.states(*"bcd") == [JobState.READY, JobState.READY, JobState.WAITING]
    workshop.finish("b")
    assert workshop.states("d") == [JobState.WAITING]
    workshop.finish("c")
    assert workshop.states("d") == [JobState.READY]


@pytest.mark.parametrize("status", [OutcomeStatus.ERROR, OutcomeStatus.TIMEOUT, OutcomeStatus.MEMOUT])
def test_blocking_spreads_and_leaves_the_rest_alone(workshop, status):
    workshop.campaign(
        workshop.job("a"),
        workshop.job("b"),
        workshop.job("c", "a"),
        workshop.job("d", "c"),
        workshop.job("e", "d", "b"),
        workshop.job("f", "b"),
    )
    workshop.finish("a", replace(FAILURE, status=status))
    assert workshop.states(*"abcdef") == [
        JobState.FAILED,
        JobState.READY,
        JobState.BLOCKED,
        JobState.BLOCKED,
        JobState.BLOCKED,
        JobState.WAITING,
    ]
    workshop.finish("bf")
    assert workshop.states(*"ef") == [JobState.BLOCKED, JobState.DONE]


@pytest.mark.parametrize("seed", range(6))
def test_random_campaigns_end_as_their_needs_say(workshop, seed):
    """Workers that finish, fail, crash, vanish and hand back at random: every job ends as it must."""
    rng = random.Random(seed)  # noqa: S311 - a test's dice
    keys = [f"job {number}" for number in range(25)]
    needs = {key: rng.sample(keys[:place], min(place, rng.randrange(3))) for place, key in enumerate(keys)}
    fails = set(rng.sample(keys, 3))
    campaign_id = workshop.campaign(*(workshop.job(key, *needs[key]) for key in keys))
    by_id = {workshop.id(key): key for key in keys}
    ledger = workshop.ledger
    while ready := queue.ready_jobs(workshop.store, campaign_id, limit=4, excluded=()):
        job_id = rng.choice(ready)
        assert ledger.lease(job_id, "me") is not None
        match rng.randrange(5):
            case 0:
                ledger.hand_back(job_id, "me")
            case 1 if workshop.row(job_id).failures < MAX_ATTEMPTS - 1:
                ledger.fail(job_id, "me", "crash")
            case 2 if workshop.row(job_id).failures < MAX_ATTEMPTS - 1:
                workshop.expire(job_id)
                queue.requeue_expired(workshop.store)
            case _:
                ledger.record(job_id, "me", FAILURE if by_id[job_id] in fails else DONE, {})
    expected = {}
    for key in keys:
        if any(expected[needed] is not JobState.DONE for needed in needs[key]):
            expected[key] = JobState.BLOCKED
        else:
            expected[key] = JobState.FAILED if key in fails else JobState.DONE
    assert dict(zip(keys, workshop.states(*keys), strict=True)) == expected
    assert campaigns.progress(workshop.store, campaign_id).is_over


def test_bytes_that_do_not_have_their_name_are_refused_when_they_are_read(workshop):
    name = hashlib.sha256(b"true").hexdigest()
    with workshop.store.write() as connection:
        if not workshop.store.is_sqlite:  # rows from before the constraint
            connection.exec_driver_sql("ALTER TABLE artifact DROP CONSTRAINT ck_artifact_is_its_hash")
        connection.execute(sa.insert(artifact).values(sha256=name, size=5, data=b"false"))
    with pytest.raises(StoreError, match="has other bytes than its name says"):
        workshop.ledger.artifact(name)
