"""Many machines, and whatever breaks: each time exactly the outcomes of an undisturbed run on one machine.

Real servers and real processes; the lettered faults are those of docs/scaling.md, provoked by
tests/system/faults.py and line_faults.py, and at length by research/benchmarks/faults.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import campaigns, launched, services
from orchestrator.store.tables import CampaignState, JobState
from tests import servers
from tests.system import faults, line_faults
from tests.system.faults import Seen
from tests.system.fleet import Fleet, RowKey, Size, fleet_of, undisturbed_rows
from tests.system.line_faults import Remote, remote_broker, remote_fleet

pytestmark = pytest.mark.system

SIZE = Size()
QUICK_LIMIT = Size(engines=("z3",), timeout_s=3)
FEW_JOBS = Size(engines=("sat",))
NOTHING_SEEN = Seen()
Rows = Mapping[RowKey, tuple[Any, ...]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """All that the campaign finds, run by one local worker with nothing in its way."""
    return undisturbed_rows(tmp_path_factory.mktemp("undisturbed"), SIZE)


@pytest.fixture
def broker() -> Iterator[servers.Valkey]:
    """A broker of one's own, to be broken."""
    server = servers.Valkey()
    yield server
    server.close()


@pytest.fixture
def fleet(tmp_path: Path, broker: servers.Valkey, database: servers.Postgres) -> Iterator[Fleet]:
    """Servers with an empty PostgreSQL store."""
    with fleet_of(tmp_path, "postgresql", broker, SIZE, database) as made:
        yield made


@pytest.fixture
def one_host(tmp_path: Path, broker: servers.Valkey) -> Iterator[Fleet]:
    """Servers with an empty SQLite store."""
    with fleet_of(tmp_path, "sqlite", broker, SIZE) as made:
        yield made


def assert_as(fleet: Fleet, undisturbed: Rows, seen: Seen = NOTHING_SEEN) -> None:
    """The same rows, no duplicates, none missing; but for those that the fault rightly changed."""
    found = fleet.difference(undisturbed)
    assert (found.missing, found.surplus, found.duplicates) == (frozenset(), frozenset(), 0)
    assert found.changed == seen.affected
    assert seen.orphans == 0
    if not seen.affected:
        assert fleet.state() is CampaignState.FINISHED
        assert fleet.jobs() == {JobState.DONE: SIZE.jobs}


def test_an_undisturbed_campaign_has_the_expected_size(undisturbed):
    assert len([key for key in undisturbed if key[1] is None]) == SIZE.jobs
    assert len([key for key in undisturbed if key[1] is not None]) == SIZE.queries


def test_two_slots_on_sqlite_find_the_same_and_stop_in_good_order(one_host, undisturbed):
    one_host.wm("db", "upgrade")
    worker = one_host.worker()
    output = one_host.wm("campaign", "run", "c.toml", "--executor", "celery")
    assert "faults: finished" in output
    assert_as(one_host, undisturbed)
    assert services.workers(one_host.store)[0].slots == 2
    assert one_host.stop(worker) == 0
    assert services.workers(one_host.store) == []


def test_a_and_c_killed_workers_and_orchestrators_lose_nothing(fleet, undisturbed):
    seen = faults.worker_killed_again_and_again(fleet, times=2, with_orchestrator=True)
    assert_as(fleet, undisturbed, seen)
    assert seen.attempts == (), "known to be dead: no fault of the job"


def test_a_a_worker_that_dies_on_another_machine_has_its_jobs_run_elsewhere(fleet, undisturbed):
    seen = faults.worker_killed_elsewhere(fleet)
    assert_as(fleet, undisturbed, seen)
    assert set(seen.attempts) <= {"worker lost: lease expired"}
    assert all(seconds <= 45 for seconds in seen.recovery_s), "a promise, with a third of it to spare"


def test_b_a_killed_job_process_costs_an_attempt(one_host, undisturbed):
    seen = faults.job_process_killed(one_host)
    assert_as(one_host, undisturbed, seen)
    assert len(seen.attempts) <= 1, "none if the process was idle"


def test_b_a_killed_solver_costs_nothing_but_time(one_host, undisturbed):
    seen = faults.solver_killed(one_host, times=3)
    assert_as(one_host, undisturbed, seen)
    assert seen.attempts == ()


def test_d_and_e_a_broker_wiped_stopped_and_lost_for_good(fleet, broker, undisturbed):
    assert_as(fleet, undisturbed, faults.broker_stopped(fleet, broker, wiped_before=True))
    assert fleet.stop(fleet.processes[-1]) == 0


def test_m_a_broker_that_is_full(one_host, broker, undisturbed):
    assert_as(one_host, undisturbed, line_faults.broker_full(one_host, broker))


def test_m_a_broker_that_became_a_replica(one_host, broker, undisturbed):
    assert_as(one_host, undisturbed, line_faults.broker_became_replica(one_host, broker))


def test_n_connections_to_the_broker_that_fell_silent(tmp_path, broker, undisturbed):
    with remote_broker(tmp_path, broker, SIZE) as (fleet, line):
        assert_as(fleet, undisturbed, line_faults.broker_connections_forgotten(fleet, line))


@pytest.fixture
def remote(tmp_path: Path, broker: servers.Valkey) -> Iterator[Remote]:
    """Servers with an empty PostgreSQL store, reached over lines."""
    with remote_fleet(tmp_path, broker, SIZE) as made:
        yield made


def test_o_connections_to_the_store_that_fell_silent(remote, undisturbed):
    seen = line_faults.store_connections_forgotten(remote)
    assert_as(remote.fleet, undisturbed, seen)
    assert seen.attempts == ()


def test_p_services_stop_in_time_although_store_and_broker_say_nothing(remote, undisturbed):
    seen = line_faults.stopped_while_all_is_mute(remote)
    assert max(seen.recovery_s) < 30, "a promise, with a limit of 8 s"
    assert_as(remote.fleet, undisturbed, seen)


def test_r_lines_delay_everything_and_break_again_and_again(tmp_path, broker):
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "disturbed").mkdir()
    rows = undisturbed_rows(tmp_path / "undisturbed", FEW_JOBS)
    with remote_fleet(tmp_path / "disturbed", broker, FEW_JOBS, delay_s=0.02) as remote:
        seen = line_faults.lines_delay_and_break(remote)
        assert remote.fleet.difference(rows).is_none
        assert seen.attempts == ()


def test_q_suspended_processes_lose_no_answer(tmp_path, broker):
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "disturbed").mkdir()
    rows = undisturbed_rows(tmp_path / "undisturbed", QUICK_LIMIT)
    with fleet_of(tmp_path / "disturbed", "sqlite", broker, QUICK_LIMIT) as one_host:
        seen = faults.suspended_again_and_again(one_host)
        assert one_host.difference(rows).is_none
        assert seen.attempts == ()


def test_f_a_database_restarted_and_connections_cut(fleet, database, undisturbed):
    seen = faults.database_restarted(fleet, database)
    assert_as(fleet, undisturbed, seen)
    assert seen.attempts == ()


def test_g_a_job_that_always_kills_its_process_ends_as_error_and_the_rest_is_as_ever(one_host, undisturbed):
    seen = faults.poison_job(one_host)
    assert len(seen.affected) == 1
    assert_as(one_host, undisturbed, seen)


def test_h_a_query_that_never_returns_is_a_timeout_and_the_others_are_as_ever(tmp_path, broker):
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "disturbed").mkdir()
    rows = undisturbed_rows(tmp_path / "undisturbed", QUICK_LIMIT)
    with fleet_of(tmp_path / "disturbed", "sqlite", broker, QUICK_LIMIT) as one_host:
        seen = faults.query_that_never_returns(one_host)
        assert len(seen.affected) == 1
        assert_as(one_host, rows, seen)


def test_i_a_second_orchestrator_stands_by_and_takes_over(fleet, undisturbed):
    assert_as(fleet, undisturbed, faults.second_orchestrator(fleet))


def test_j_a_full_disk_stops_the_worker_with_one_line_and_no_half_outcome(one_host, undisturbed):
    assert_as(one_host, undisturbed, faults.full_disk(one_host))


def test_j_a_database_without_space_stops_the_worker_with_one_line_and_no_half_outcome(fleet, undisturbed):
    assert_as(fleet, undisturbed, faults.store_out_of_space(fleet))


def test_j_a_read_only_database_stops_worker_and_orchestrator_with_one_line(fleet, database, undisturbed):
    assert_as(fleet, undisturbed, faults.read_only_store(fleet, database))


def test_k_malformed_and_forged_messages_are_refused_once_and_the_worker_lives(one_host, broker, undisturbed):
    assert_as(one_host, undisturbed, faults.forged_messages(one_host, broker))


def test_l_no_healthy_lease_expires_on_a_busy_machine(one_host, undisturbed):
    assert_as(one_host, undisturbed, faults.heartbeats_under_load(one_host))


def test_cancel_stops_new_work_and_resume_takes_it_up_again(fleet, undisturbed):
    fleet.launch()
    fleet.start("orchestrate")
    fleet.worker(1)
    fleet.until(fleet.begun())
    assert launched.cancel(fleet.store, 1) > 0
    assert "faults: 0 jobs cancelled" in fleet.wm("campaign", "cancel", "faults")
    fleet.until(lambda: campaigns.progress(fleet.store, 1).is_over)
    states = campaigns.progress(fleet.store, 1).jobs
    assert states[JobState.CANCELLED] > 0
    assert states[JobState.READY] == states[JobState.RUNNING] == 0
    assert fleet.state() is CampaignState.CANCELLED
    assert launched.unfinished(fleet.store) == []
    fleet.launch()
    fleet.finish()
    assert_as(fleet, undisturbed)


def test_a_worker_until_idle_ends_by_itself(one_host):
    one_host.wm("db", "upgrade")
    worker = one_host.start("worker", "--concurrency", "1", "--until-idle", "1")
    assert one_host.end_of(worker) == 0
    assert "no job for 1 s: ending" in one_host.log(worker)
    assert services.workers(one_host.store) == []


def test_a_worker_of_another_version_is_refused_with_a_clear_message(one_host):
    one_host.wm("db", "upgrade")
    services.beat_orchestrator(one_host.store, "elsewhere:1:1", "0.0.1+abcdef01")
    worker = one_host.worker(1)
    assert one_host.end_of(worker) == 2
    (line,) = one_host.log(worker).splitlines()
    assert line.startswith("wm: an orchestrator with version 0.0.1+abcdef01 is alive, this worker has ")
    assert "install the same version on both" in line
