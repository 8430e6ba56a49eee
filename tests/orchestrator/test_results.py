"""Result frames, compared with the contract for scripts and with counts by hand."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.frames import records
from orchestrator.launch import launch
from orchestrator.results import COLUMNS
from orchestrator.results.rows import typed
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import (
    JobState,
    artifact,
    campaign_job,
    cell,
    forgery_answer,
    job,
    outcome,
)
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer
from workers.jobs.kinds import JobKind

KINDS = ["accuracy", "detection", "forgery", "jobs", "suppression"]
CONTRACT = {
    "forgery": "scheme, trigger_share, ones_share, repeat, signature, eps, engine, instances, trigger_size, "
    "forged, impossible, timeout, memout, error, seconds",
    "accuracy": "scheme, trigger_share, ones_share, repeat, accuracy_standard, accuracy_capped, "
    "accuracy_watermarked, trigger_size, rounds, seconds",
    "detection": "measure, strategy, correct, wrong, uncertain, p_value",
    "suppression": "method, auc, tpr_at_1pct_fpr",
}
STATUSES = ("forged", "impossible", "timeout", "memout", "error")


def frame_of(kind, store, campaign_id=1):
    return results.frame(store, campaign_id, kind)


def rows_of(store, query):
    with store.read() as connection:
        return list(connection.execute(query).mappings())


def results_of(store, kind):
    query = sa.select(outcome.c.result, outcome.c.timings).join(job).where(job.c.kind == kind)
    return rows_of(store, query.order_by(job.c.id))


@pytest.fixture
def untouched(spec, tmp_path):
    """A store with the campaign planned and nothing run."""
    store = Store(f"sqlite:///{tmp_path / 'untouched.db'}")
    assert launch(store, spec) == 1
    yield store
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_fixed_and_hold_the_contract(finished, untouched, kind):
    frame = frame_of(kind, finished)
    assert list(frame.columns) == list(frame_of(kind, untouched).columns) == list(COLUMNS[kind])
    assert len(frame)
    assert set(CONTRACT.get(kind, "job").split(", ")) <= set(frame.columns)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("jobs", "forgery")])
def test_a_campaign_that_has_found_nothing_gives_no_rows(untouched, kind):
    assert records(frame_of(kind, untouched)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_that_is_not_there_gives_no_rows(finished, kind):
    assert records(frame_of(kind, finished, campaign_id=99)) == []


def test_queries_that_were_not_answered_show_as_planned_only(untouched):
    rows = records(frame_of("forgery", untouched))
    assert len(rows) == 8
    for row in rows:
        assert (row["instances"], row["trigger_size"]) == (7, None)
        assert [row[status] for status in STATUSES] == [0] * 5
        assert (row["seconds"], row["slowest_seconds"], row["mean_distance"]) == (0.0, None, None)


def test_accuracy_equals_the_recorded_results(finished):
    (row,) = records(frame_of("accuracy", finished))
    ((baseline,), (embedded,)) = (results_of(finished, kind) for kind in (JobKind.BASELINE, JobKind.EMBED))
    assert {name: row[name] for name in ("scheme", "trigger_share", "ones_share", "repeat")} == {
        "scheme": "paper",
        "trigger_share": 0.02,
        "ones_share": 0.5,
        "repeat": 0,
    }
    for name in list(COLUMNS["accuracy"])[4:]:
        if name == "rounds":
            expected = embedded["result"]["rounds_right"] + embedded["result"]["rounds_wrong"]
        elif name == "seconds":
            expected = embedded["timings"]["embed"]
        else:
            expected = (baseline["result"] | embedded["result"])[name]
        assert row[name] == expected, name


@pytest.mark.parametrize("kind", ["detection", "suppression"])
def test_attacks_with_several_rows_are_spread_out(finished, kind):
    rows = records(frame_of(kind, finished))
    ((stored),) = results_of(finished, kind)
    inner = stored["result"]["rows"]
    own = [name for name in COLUMNS[kind] if name not in list(COLUMNS["accuracy"])[:4]]
    assert [{name: row[name] for name in own} for row in rows] == [
        {name: row[name] for name in own} for row in inner
    ]
    assert {row["trigger_share"] for row in rows} == {0.02}


def test_curves_have_a_row_for_each_corner(finished):
    curves = results.frame(finished, 1, "roc-curves")
    ((stored),) = results_of(finished, "suppression")
    for row in stored["result"]["rows"]:
        curve = curves[curves["method"] == row["method"]]
        assert list(curve["false_positive_rate"]) == row["false_positive_rate"]
        assert list(curve["true_positive_rate"]) == row["true_positive_rate"]


def naive_forgery(store):
    """Count answers one by one."""
    place = [cell.c[name] for name in ("engine", "signature", "eps")]
    planned = rows_of(
        store,
        sa.select(job.c.id, job.c.weight, *place)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(job.c.kind == JobKind.FORGERY, campaign_job.c.campaign_id == 1),
    )
    answers = rows_of(store, sa.select(forgery_answer))
    counted = {}
    for row in planned:
        here = [answer for answer in answers if answer["job_id"] == row["id"]]
        expected = counted.setdefault((row["engine"], row["signature"], row["eps"]), [0, Counter(), [], []])
        expected[0] += row["weight"]
        expected[1].update(answer["status"] for answer in here)
        expected[1]["followed"] += sum(answer["followed_from"] is not None for answer in here)
        expected[1]["certified"] += sum(answer["certified"] is True for answer in here)
        expected[2] += [answer["seconds"] for answer in here if answer["followed_from"] is None]
        expected[3] += [answer["distance"] for answer in here if answer["distance"] is not None]
    return counted


def assert_forgery_is_counted(store):
    rows = records(frame_of("forgery", store))
    counted = naive_forgery(store)
    assert {(row["engine"], row["signature"], row["eps"]) for row in rows} == set(counted)
    assert len(rows) == len(counted)
    for row in rows:
        instances, statuses, seconds, distances = counted[row["engine"], row["signature"], row["eps"]]
        assert (row["instances"], row["trigger_size"]) == (instances, 7)
        for name in (*STATUSES, "followed", "certified"):
            assert row[name] == statuses[name], name
        assert row["seconds"] == pytest.approx(sum(seconds))
        assert row["slowest_seconds"] == max(seconds, default=None)
        assert row["mean_distance"] == (pytest.approx(sum(distances) / len(distances)) if distances else None)


def test_forgery_counts_equal_counting_by_hand(finished):
    assert_forgery_is_counted(finished)
    frame = frame_of("forgery", finished)
    assert (frame[list(STATUSES)].sum(axis=1) == frame["instances"]).all()


def test_answers_that_follow_are_counted_and_take_no_time(finished):
    followed = sa.update(forgery_answer).values(seconds=0.0, followed_from=0.5)

    def change(statement):
        with finished.write() as connection:
            connection.execute(statement)
        assert_forgery_is_counted(finished)
        return records(frame_of("forgery", finished))

    assert {row["followed"] for row in change(followed.where(forgery_answer.c.instance < 3))} == {3}
    for row in change(followed):
        assert (row["followed"], row["seconds"], row["slowest_seconds"]) == (7, 0.0, None)
    asked = change(sa.update(forgery_answer).values(followed_from=None))
    assert {row["followed"] for row in asked} == {0}, "quick, but asked"


def test_certified_answers_are_counted(finished):
    assert {row["certified"] for row in records(frame_of("forgery", finished))} == {0}, "not asked for"
    with finished.write() as connection:
        for instance, certified in enumerate((True, False, True)):
            here = sa.update(forgery_answer).where(forgery_answer.c.instance == instance)
            connection.execute(here.values(status="impossible", certified=certified))
    assert_forgery_is_counted(finished)
    assert {row["certified"] for row in records(frame_of("forgery", finished))} == {2}


def test_timeouts_and_missing_answers_are_counted_separately(finished):
    with finished.write() as connection:
        for instance, status in enumerate(STATUSES):
            values = {"status": status, "distance": 0.125 * instance if status == "forged" else None}
            connection.execute(
                sa.update(forgery_answer).where(forgery_answer.c.instance == instance).values(values)
            )
        connection.execute(sa.delete(forgery_answer).where(forgery_answer.c.instance >= 5))
    assert_forgery_is_counted(finished)
    for row in records(frame_of("forgery", finished)):
        assert [row[status] for status in STATUSES] == [1] * 5
        assert row["instances"] == 7


def test_a_cell_of_several_batches_is_one_row(spec, tmp_path):
    forgery = spec.attack[2].model_copy(update={"engine": ("sat",), "instances": 120, "eps": (0.3,)})
    store = Store(f"sqlite:///{tmp_path / 'batches.db'}")
    launch(store, spec.model_copy(update={"attack": (forgery,)}))
    batches = rows_of(store, sa.select(job).where(job.c.kind == JobKind.FORGERY).order_by(job.c.id))
    assert [batch["weight"] for batch in batches] == [50, 50, 50, 50, 20, 20]
    for batch in batches:
        first = batch["parameters"]["first"]
        StoreLedger(store).save(
            batch["id"],
            [
                ForgeryAnswer(instance, 0, "forged", instance / 1000, 0.5, "", None)
                for instance in range(first, first + batch["weight"])
            ],
        )
    rows = records(frame_of("forgery", store))
    assert [(row["signature"], row["instances"], row["forged"]) for row in rows] == [
        (0, 120, 120),
        (1, 120, 120),
    ]
    assert rows[0]["seconds"] == 60.0
    assert rows[0]["mean_distance"] == pytest.approx(sum(range(120)) / 120_000)
    store.close()


def test_shared_jobs_count_for_each_campaign(finished, spec):
    fewer = spec.attack[2].model_copy(update={"engine": ("z3",), "signatures": 1})
    smaller = spec.model_copy(update={"name": "smaller", "attack": (fewer,)})
    second = launch(finished, smaller)
    assert campaigns.progress(finished, second).jobs[JobState.DONE] == 5
    whole, part = frame_of("forgery", finished), frame_of("forgery", finished, second)
    mask = (whole["engine"] == "z3") & (whole["signature"] == 0)
    pd.testing.assert_frame_equal(part, whole[mask].reset_index(drop=True))
    assert records(frame_of("accuracy", finished, second)) == records(frame_of("accuracy", finished))
    assert records(frame_of("detection", finished, second)) == []


def test_jobs_come_in_the_plans_order_with_state_and_time(finished):
    rows = records(frame_of("jobs", finished))
    assert [row["kind"] for row in rows] == ["split", "baseline", "embed", "detection", "suppression"] + [
        "forgery"
    ] * 8
    assert {(row["state"], row["error"], row["failures"]) for row in rows} == {("done", "", 0)}
    assert all(row["seconds"] > 0 for row in rows)
    assert (rows[0]["repeat"], rows[1]["repeat"], rows[1]["scheme"]) == (None, 0, None)


def test_jobs_show_the_error_of_the_outcome_or_of_the_last_attempt(untouched):
    ledger = StoreLedger(untouched)
    for reason in ("first", "second"):
        ledger.lease(1, "me")
        ledger.fail(1, "me", reason)
    row = records(frame_of("jobs", untouched))[0]
    assert (row["state"], row["failures"], row["error"], row["seconds"]) == ("ready", 2, "second", None)
    ledger.lease(1, "me")
    ledger.record(1, "me", Outcome(OutcomeStatus.TIMEOUT, None, {}, "time limit of 1 s"), {})
    rows = records(frame_of("jobs", untouched))
    assert (rows[0]["state"], rows[0]["error"]) == ("failed", "time limit of 1 s")
    assert {row["state"] for row in rows[1:]} == {"blocked"}
    assert len(rows) == 13, "an attempt makes no second row"


# Fingerprint


def test_a_fingerprint_leaves_out_when_and_by_whom_and_in_which_order(finished, spec, tmp_path):
    """The same results, copied into another store in another order, by another worker, with other times."""
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    other.upgrade()
    jobs = rows_of(finished, sa.select(job).order_by(job.c.id.desc()))
    shift = 1000
    with other.write() as connection:
        connection.execute(sa.insert(job), [dict(row) | {"id": row["id"] + shift} for row in jobs])
    campaign_id = launch(other, spec)
    with other.write() as connection:
        for row in rows_of(finished, sa.select(outcome)):
            moved = {
                "job_id": row["job_id"] + shift,
                "owner": "other",
                "recorded_at": 0.0,
                "timings": {"job": 9},
            }
            connection.execute(sa.insert(outcome).values(dict(row) | moved))
        for row in rows_of(finished, sa.select(forgery_answer).order_by(forgery_answer.c.instance.desc())):
            moved = {"job_id": row["job_id"] + shift, "seconds": 7.0}
            connection.execute(sa.insert(forgery_answer).values(dict(row) | moved))
    assert results.fingerprint(other, campaign_id) == results.fingerprint(finished, 1)
    other.close()


@pytest.mark.parametrize(
    "change",
    [
        sa.update(forgery_answer).where(forgery_answer.c.instance == 3).values(witness=b"other"),
        sa.update(forgery_answer).where(forgery_answer.c.instance == 3).values(status="impossible"),
        sa.update(forgery_answer).where(forgery_answer.c.instance == 3).values(distance=0.99),
        sa.delete(forgery_answer).where(forgery_answer.c.instance == 3),
        sa.update(outcome).where(outcome.c.job_id == 4).values(status="error"),
        sa.update(outcome).where(outcome.c.job_id == 4).values(result={"rows": []}),
        sa.delete(outcome).where(outcome.c.job_id == 4),
    ],
)
def test_a_fingerprint_sees_every_other_difference(finished, change):
    before = results.fingerprint(finished, 1)
    with finished.write() as connection:
        connection.execute(change)
    assert results.fingerprint(finished, 1) != before


def test_a_fingerprint_covers_one_campaign_only(finished, spec):
    before = results.fingerprint(finished, 1)
    second = launch(finished, spec.model_copy(update={"name": "again"}))
    assert results.fingerprint(finished, second) == before
    third = launch(finished, spec.model_copy(update={"name": "other", "seed": 9}))
    assert results.fingerprint(finished, 1) == before != results.fingerprint(finished, third)


def test_every_artifact_that_outcomes_name_is_there(finished):
    names = {row["sha256"] for row in rows_of(finished, sa.select(artifact.c.sha256))}
    (split,) = results_of(finished, JobKind.SPLIT)
    (baseline,) = results_of(finished, JobKind.BASELINE)
    (embedded,) = results_of(finished, JobKind.EMBED)
    assert names == {
        split["result"]["split"],
        *(baseline["result"][name] for name in ("standard", "standard_record", "capped")),
        *(embedded["result"][name] for name in ("forest", "record", "claim")),
    }


def test_a_p_value_of_1_has_logarithm_0():
    """Its terms added up to a little less: log10 p was -4.8e-17."""
    frame = pd.DataFrame({"log10_p": [-4.8e-17, -6.5, None], "p_value": [1e-17, 0.5, 1.0]})
    assert typed(frame)["log10_p"].tolist()[:2] == [0.0, -6.5]
    assert typed(frame)["log10_p"].isna().tolist() == [False, False, True]
    assert typed(frame)["p_value"].tolist() == [1e-17, 0.5, 1.0]
