"""The main job end to end: however a campaign is run, stopped, killed or continued, it finds the same."""

from __future__ import annotations

import signal

import pytest
import sqlalchemy as sa

from orchestrator.store.tables import CampaignState, JobState, job, outcome

pytestmark = pytest.mark.system

JOBS = 21


def outcomes(number):
    """Return the moment when so many jobs have an outcome."""
    return lambda place: len(place.recorded()) >= number


def runs(kind):
    """Return the moment when a job of a kind is being run."""
    query = f"SELECT 1 FROM job WHERE kind = '{kind}' AND state = 'running'"  # noqa: S608 - our own words
    return lambda place: bool(place.query(query))


MOMENTS = {
    "before the first job": lambda place: bool(place.query("SELECT 1 FROM campaign")),
    "while embedding": runs("embed"),
    "after embedding": outcomes(3),
    "among quick queries": outcomes(8),
    "among slow queries": outcomes(15),
    "near the end": outcomes(JOBS - 2),
}
BETWEEN_ANSWERS = {
    "with answers of a job that goes on": lambda place: bool(
        place.query("SELECT 1 FROM forgery_answer a JOIN job j ON j.id = a.job_id WHERE j.state = 'running'")
    ),
}
"""A moment of milliseconds on a quick machine: it may pass unseen."""


def assert_kept(before, after):
    assert before.items() <= after.items()


def assert_as_undisturbed(place, undisturbed):
    assert place.jobs() == {JobState.DONE: JOBS}
    assert place.record().state is CampaignState.FINISHED
    assert len(place.recorded()) == len(undisturbed.recorded()) == JOBS
    assert len(place.answered()) == len(undisturbed.answered()) == 8 * 60
    assert place.found() == undisturbed.found()
    assert place.fingerprint() == undisturbed.fingerprint()


def test_an_undisturbed_run_finishes_and_leaves_no_process(undisturbed):
    assert_as_undisturbed(undisturbed, undisturbed)
    assert undisturbed.family.gone()
    status = undisturbed.json("campaign", "status", "small")
    assert status["state"] == "finished"
    assert status["jobs"] == {state.value: JOBS if state is JobState.DONE else 0 for state in JobState}
    assert (status["done"], status["total"]) == (5 + 8 * 60, 5 + 8 * 60)


def test_both_engines_count_the_same(undisturbed):
    rows = undisturbed.json("results", "forgery", "1")
    counts = {}
    for row in rows:
        assert row["forged"] + row["impossible"] == row["instances"] == 60
        counts.setdefault(row["engine"], {})[row["signature"], row["eps"]] = (
            row["forged"],
            row["impossible"],
        )
    assert set(counts) == {"sat", "z3"}
    assert counts["sat"] == counts["z3"]
    assert len(counts["sat"]) == 4


def test_two_workers_find_the_same(place, undisturbed):
    done = place.wm("campaign", "run", "c.toml", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert_as_undisturbed(place, undisturbed)


def test_kill_at_any_moment_loses_nothing_and_changes_nothing(place, undisturbed):
    """Killed again and again, as by a power cut, and continued each time."""
    struck = []
    kept_recorded, kept_answered = {}, {}
    command = ("run", "c.toml")
    for name, moment in (MOMENTS | BETWEEN_ANSWERS).items():
        workers = str(1 + len(struck) % 2)
        with place.running("campaign", *command, "--workers", workers) as process:
            if place.wait_until(moment, process):
                process.kill()
                struck.append(name)
        recorded, answered = place.recorded(), place.answered()
        assert place.family.gone(), f"{name}: killed, but some child lives on"
        assert (place.recorded(), place.answered()) == (recorded, answered), f"{name}: written after death"
        # What was recorded before stays as it was, to the microsecond, whatever comes after.
        assert_kept(kept_recorded, recorded)
        assert_kept(kept_answered, answered)
        kept_recorded, kept_answered = recorded, answered
        command = ("resume", "small")
    assert set(MOMENTS) <= set(struck), "the campaign was over too soon"
    done = place.wm("campaign", "resume", "small", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert_kept(kept_recorded, place.recorded())
    assert_as_undisturbed(place, undisturbed)
    assert place.query("SELECT count(*) FROM attempt") == [(0,)], "a killed program is no fault of a job"


def test_ctrl_c_stops_it_and_it_can_be_resumed(place, undisturbed):
    command = ("run", "c.toml")
    for number, moment in ((signal.SIGINT, outcomes(2)), (signal.SIGTERM, outcomes(9))):
        with place.running("campaign", *command, "--workers", "1") as process:
            assert place.wait_until(moment, process)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=120)
        assert process.returncode == 130, stderr
        assert "small: interrupted; resume with: wm campaign resume small" in stderr.splitlines()
        assert "Traceback" not in stderr
        assert place.family.gone()
        assert place.record().state is CampaignState.INTERRUPTED
        assert JobState.RUNNING not in place.jobs(), "running jobs were given back"
        recorded = place.recorded()
        command = ("resume", "small")
    assert place.wm("campaign", *command).returncode == 0
    assert_kept(recorded, place.recorded())
    assert_as_undisturbed(place, undisturbed)


def test_a_finished_campaign_is_not_computed_again(finished, undisturbed):
    before = (finished.recorded(), finished.answered())
    done = finished.wm("campaign", "run", "c.toml")
    assert done.returncode == 0, done.stderr
    assert (finished.recorded(), finished.answered()) == before
    assert_as_undisturbed(finished, undisturbed)
    assert [row["id"] for row in finished.json("campaign", "list")] == [1]


def test_a_larger_grid_computes_only_new_jobs(finished, undisturbed):
    before = finished.recorded()
    finished.edit("eps = [0.3, 0.7]", "eps = [0.7, 0.5, 0.3]")
    done = finished.wm("campaign", "run", "c.toml")
    assert done.returncode == 0, done.stderr
    after = finished.recorded()
    assert_kept(before, after)
    assert len(after) == JOBS + 2 * 2 * 2, "two engines, two signatures, two batches"
    assert finished.jobs(campaign_id=2) == {JobState.DONE: len(after)}
    assert finished.fingerprint(1) == undisturbed.fingerprint()
    assert finished.record("small@latest").id == 2


def test_an_incomplete_campaign_is_reported(place):
    place.edit("trigger_share = 0.02", "trigger_share = 0.02\nmax_rounds = 1")
    done = place.wm("campaign", "run", "c.toml", "--workers", "1")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-2:] == [
        "small: incomplete",
        "small: some jobs have no result; see: wm results jobs small",
    ]
    assert place.jobs() == {JobState.DONE: 2, JobState.FAILED: 1, JobState.BLOCKED: JOBS - 3}
    assert place.record().state is CampaignState.INCOMPLETE
    (failed,) = [row for row in place.json("results", "jobs", "small") if row["state"] == "failed"]
    assert failed["kind"] == "embed"
    assert failed["error"].startswith("the watermark does not fit: 1 of 2 trees fail")
    assert "after 1 fits" in failed["error"]


def test_failed_jobs_can_be_retried(finished, undisturbed):
    with finished.store() as store, store.write() as connection:
        luckless = sa.select(job.c.id).where(job.c.kind == "detection").scalar_subquery()
        connection.execute(
            sa.update(outcome)
            .where(outcome.c.job_id == luckless)
            .values(status="timeout", result=None, error="time limit of 1 s")
        )
        connection.execute(sa.update(job).where(job.c.id == luckless).values(state=JobState.FAILED))
    assert finished.fingerprint() != undisturbed.fingerprint()
    done = finished.wm("campaign", "resume", "1", "--retry")
    assert done.returncode == 0, done.stderr
    assert_as_undisturbed(finished, undisturbed)
