"""`wm campaign` and `wm db`: runs, their output and exit codes."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

import orchestrator.cli.campaign
from orchestrator.results import fingerprint
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState
from tests.sharing import copy_store
from tests.small_campaign import small_campaign


def _database(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _outcomes(url: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(_database(url))) as connection:
        return connection.execute("SELECT job_id, owner, recorded_at FROM outcome ORDER BY job_id").fetchall()


def test_a_first_run_shows_progress_and_end_on_stderr_only(tiny) -> None:
    assert tiny.first.out == ""
    assert tiny.first.err.splitlines()[-2:] == ["tiny: 36 of 36; 12 done", "tiny: finished"]


def test_running_a_finished_campaign_again_computes_nothing(wm, tiny) -> None:
    before = _outcomes(tiny.url)
    assert len(before) == 12
    again = wm("campaign", "run", tiny.file, "--store", tiny.url, "--workers", 1)
    assert (again.code, again.out) == (0, "")
    assert _outcomes(tiny.url) == before
    assert len(wm("campaign", "list", "--store", tiny.url, "--json").json()) == 1


@pytest.mark.system
def test_enlarging_a_grid_computes_only_new_jobs(wm, tiny, tmp_path: Path) -> None:
    copy = copy_store(_database(tiny.url), tmp_path / "copy.db")
    larger = tmp_path / "larger.toml"
    larger.write_text(tiny.text.replace("eps = [0.1, 0.5]", "eps = [0.1, 0.3, 0.5]"))
    url = f"sqlite:///{copy}"
    before = _outcomes(url)
    assert wm("campaign", "run", larger, "--store", url, "--workers", 1).code == 0
    after = _outcomes(url)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2, "one more distance for each of two signatures"
    assert [row["name"] for row in wm("campaign", "list", "--store", url, "--json").json()] == [
        "tiny",
        "tiny",
    ]
    assert len(wm("results", "forgery", "tiny@latest", "--store", url, "--json").json()) == 6, (
        "the newest of a name"
    )
    assert len(wm("results", "forgery", "1", "--store", url, "--json").json()) == 4


def test_status(wm, tiny) -> None:
    facts = wm("campaign", "status", "tiny", "--store", tiny.url, "--json").json()
    assert (facts["name"], facts["state"], facts["seed"]) == ("tiny", "finished", 5)
    assert facts["jobs"] == {state.value: 12 if state is JobState.DONE else 0 for state in JobState}
    assert (facts["done"], facts["total"]) == (36, 36)
    assert datetime.fromisoformat(facts["created"]) <= datetime.fromisoformat(facts["finished"])
    assert wm("campaign", "status", facts["id"], "--store", tiny.url, "--json").json() == facts
    plain = wm("campaign", "status", "tiny", "--store", tiny.url)
    assert plain.code == 0
    assert dict(line.split(maxsplit=1) for line in plain.out.splitlines())["jobs"] == "12 done"


def test_list(wm, tiny) -> None:
    (row,) = wm("campaign", "list", "--store", tiny.url, "--json").json()
    assert list(row) == ["id", "name", "state", "seed", "created", "finished"]
    plain = wm("campaign", "list", "--store", tiny.url)
    assert plain.out.split()[:6] == list(row)
    assert "finished" in plain.out


def test_validate_prints_the_jobs_and_runs_nothing(wm, tiny, tmp_path: Path) -> None:
    ran = wm("campaign", "validate", tiny.file, "--json")
    facts = ran.json()
    assert (ran.code, ran.err) == (0, "")
    assert facts["name"] == "tiny"
    assert facts["jobs_by_kind"] == {
        "split": 1,
        "baseline": 1,
        "embed": 2,
        "detection": 2,
        "suppression": 2,
        "forgery": 4,
    }
    assert facts["jobs"] == sum(facts["jobs_by_kind"].values())
    assert facts["forgery_queries"] == 28
    assert "4 forgery" in wm("campaign", "validate", tiny.file).out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.system
def test_a_rehearsal_without_time_for_all_parts_gives_a_lower_bound(wm, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(small_campaign(engines=["sat"], signatures=1, instances=2))
    found = wm("campaign", "validate", file, "--rehearse", "1e-6", "--json").json()
    assert found["is_lower_bound"] is True
    assert [part["kind"] for part in found["parts"]].count("forgery") == 2
    shown = wm("campaign", "validate", file, "--rehearse", "60").out
    assert "one_slot_seconds" in shown
    assert "0.7" in shown


def test_a_bad_file_gets_one_line_for_each_fault_with_its_place(wm, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        'name = "has a blank"\n'
        "seed = -1\n"
        'colour = "red"\n'
        "[dataset]\n"
        'name = "breast-cancer"\n'
        "test_share = 2.0\n"
        "[forest]\n"
        'n_estimators = "many"\n'
        "[[attack]]\n"
        'kind = "forgery"\n'
        "eps = [0.5, 7]\n"
        'engine = "oracle"\n'
    )
    for command in ("validate", "run"):
        ran = wm("campaign", command, file)
        assert (ran.code, ran.out) == (2, "")
        lines = ran.err.splitlines()
        places = [line.removeprefix(f"wm: {file}:").split(":")[0] for line in lines]
        assert places == ["1", "2", "3", "6", "8", "11", "12"]
    assert not (tmp_path / "wm.db").exists()


def test_faults_against_the_data_are_reported_before_anything_runs(wm, tiny, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    text = tiny.text.replace("trigger_share = [0.01, 0.02]", "trigger_share = [0.0001, 0.0002]")
    text = text.replace("weight_step", "ones_share = [0.001]\nweight_step")
    file.write_text(text.replace("only = { trigger_share = 0.02 }\n", ""))
    ran = wm("campaign", "run", file)
    assert (ran.code, ran.out) == (2, "")
    assert ["trigger_share" in line for line in ran.err.splitlines()] == [True, True, False]
    assert not (tmp_path / "wm.db").exists()


@pytest.mark.system
def test_an_incomplete_campaign_exits_3_and_its_results_can_still_be_read(wm, tiny, tmp_path: Path) -> None:
    file = tmp_path / "hasty.toml"
    slow = tiny.text.replace('"tiny"', '"hasty"').replace("n_estimators = 24", "n_estimators = 5000")
    file.write_text(slow + "\n[limits]\njob_s = 0.15\n")
    ran = wm("campaign", "run", file, "--workers", 1)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines()[-2:] == [
        "hasty: incomplete",
        "hasty: some jobs have no result; see: wm results jobs hasty",
    ]
    status = wm("campaign", "status", "hasty", "--json").json()
    assert status["state"] == "incomplete"
    # On a slow machine the split is late too, not only the 5000 trees.
    done = status["jobs"]["done"]
    assert done in (0, 1)
    assert (status["jobs"]["failed"], status["jobs"]["blocked"]) == (1, 11 - done)
    for kind in ("accuracy", "detection", "suppression"):
        assert wm("results", kind, "hasty", "--json").json() == []
        assert wm("results", kind, "hasty").code == 0
    counts = wm("results", "forgery", "hasty", "--json").json()
    assert [(row["instances"], row["trigger_size"], row["forged"]) for row in counts] == [(7, None, 0)] * 4
    jobs = wm("results", "jobs", "hasty", "--json").json()
    assert [row["state"] for row in jobs] == ["done"] * done + ["failed"] + ["blocked"] * (11 - done)
    assert "0.15" in jobs[done]["error"]
    before = _outcomes("sqlite:///wm.db")
    assert wm("campaign", "resume", "hasty", "--workers", 1).code == 3
    assert _outcomes("sqlite:///wm.db") == before
    retried = wm("campaign", "resume", "hasty", "--workers", 1, "--retry")
    assert retried.code == 3
    assert retried.err.startswith(f"hasty: {12 - done} jobs queued again\n")
    assert _outcomes("sqlite:///wm.db") != before


def _impatient(number: signal.Signals, jobs: int):
    """Stands in for the progress bar: sends this process a signal once some jobs are done."""

    @contextmanager
    def shown(_name: str):
        def show(progress) -> None:
            if progress.jobs[JobState.DONE] >= jobs:
                os.kill(os.getpid(), number)

        yield show

    return shown


def test_sigterm_interrupts_as_ctrl_c_does(wm, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orchestrator.cli.campaign, "shown", _impatient(signal.SIGTERM, 0))
    ran = wm("campaign", "run", tiny.file, "--workers", 1)
    assert (ran.code, ran.out) == (130, "")
    assert wm("campaign", "status", "tiny", "--json").json()["state"] == "interrupted"


def test_advice_names_the_store_that_was_given(wm, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ("--store", "sqlite:///my store.db")
    told = "--store 'sqlite:///my store.db'"
    with monkeypatch.context() as patch:
        patch.setattr(orchestrator.cli.campaign, "shown", _impatient(signal.SIGINT, 0))
        ran = wm("campaign", "run", tiny.file, "--workers", 1, *store)
    assert f"tiny: interrupted; resume with: wm campaign resume tiny {told}\n" in ran.err
    (line,) = wm("campaign", "status", "tiny", *store, "--json").json()["attention"]
    assert line.startswith(f"not running: wm campaign resume 1 {told}, or ")
    assert f"wm campaign resume 1 {told}" in wm("campaign", "cancel", "tiny", *store).err
    assert f"wm campaign status 1 {told}" in wm("campaign", "launch", tiny.file, *store).err
    assert f"wm worker {told}" in wm("campaign", "status", "tiny", *store).out
    monkeypatch.setenv("WM_STORE_URL", store[1])
    assert "--store" not in wm("campaign", "status", "tiny").out


@pytest.mark.system
def test_an_interrupted_campaign_exits_130_and_is_resumed_to_the_same_end(
    wm, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(orchestrator.cli.campaign, "shown", _impatient(signal.SIGINT, 3))
        ran = wm("campaign", "run", tiny.file, "--workers", 1)
    assert (ran.code, ran.out) == (130, "")
    assert "tiny: interrupted; resume with: wm campaign resume tiny\n" in ran.err
    status = wm("campaign", "status", "tiny", "--json").json()
    assert status["state"] == "interrupted"
    assert status["jobs"]["done"] >= 3
    assert status["jobs"]["running"] == 0, "given back"
    kept = _outcomes("sqlite:///wm.db")
    resumed = wm("campaign", "resume", "tiny", "--workers", 1)
    assert (resumed.code, resumed.err.splitlines()[-1]) == (0, "tiny: finished")
    assert set(kept) <= set(_outcomes("sqlite:///wm.db"))
    assert fingerprint(Store("sqlite:///wm.db"), 1) == fingerprint(Store(tiny.url), 1)


@pytest.mark.system
def test_a_full_disk_under_the_workers_is_infrastructure(wm, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("orchestrator.store.ledger.StoreLedger.record", full)
    ran = wm("campaign", "run", tiny.file, "--workers", 1)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.splitlines()[-1] == "wm: [Errno 28] No space left on device"
    assert wm("campaign", "status", "tiny", "--json").json()["state"] == "interrupted"


def test_db_upgrade_makes_a_store_that_check_accepts(wm) -> None:
    made = wm("db", "upgrade", "--store", "sqlite:///new.db")
    assert made.code == 0
    assert "schema none -> " in made.out
    assert wm("db", "check", "--store", "sqlite:///new.db").out.endswith("up to date\n")
    assert wm("campaign", "list", "--store", "sqlite:///new.db", "--json").json() == []
    again = wm("db", "upgrade", "--store", "sqlite:///new.db")
    assert again.code == 0
    assert "none" not in again.out


def test_a_missing_campaign_is_the_users_mistake_and_the_others_are_named(wm, tiny) -> None:
    for name in ("other", "99", "\u00b2", "-1", ""):
        ran = wm("campaign", "status", "--store", tiny.url, "--", name)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.endswith("there are: tiny\n")


def test_status_shows_obstacles(wm, tiny) -> None:
    assert wm("campaign", "launch", tiny.file).code == 0
    facts = wm("campaign", "status", "tiny", "--json").json()
    assert (facts["state"], facts["workers_alive"], facts["orchestrators_alive"]) == ("interrupted", 0, 0)
    assert [line.partition(":")[0] for line in facts["attention"]] == [
        "no orchestrator is alive",
        "no worker is alive",
    ]
    plain = wm("campaign", "status", "tiny").out.splitlines()
    assert plain[2].split() == ["state", "launched"]
    assert [line.split(maxsplit=1)[1] for line in plain if line.startswith("attention")] == facts["attention"]


def test_a_finished_campaign_cannot_be_cancelled(wm, tiny) -> None:
    ran = wm("campaign", "cancel", "tiny", "--store", tiny.url)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "tiny: already finished, nothing to cancel\n"
    assert wm("campaign", "status", "tiny", "--store", tiny.url, "--json").json()["state"] == "finished"


def test_watching_a_campaign_that_ended_without_all_results_exits_3(wm, tiny) -> None:
    assert wm("campaign", "launch", tiny.file).code == 0
    assert wm("campaign", "cancel", "tiny").code == 0
    ran = wm("campaign", "status", "tiny", "--watch")
    assert (ran.code, ran.err) == (3, "")
    (line,) = ran.out.splitlines()
    assert line.startswith("tiny: cancelled; ")
    assert line.endswith("12 jobs are cancelled: to run them, wm campaign resume 1")
