"""Obstacles of campaigns: for every situation the right lines, each with a fix."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.monitoring.attention import Situation, situation
from orchestrator.plan import plan
from orchestrator.store import campaigns, launched, services
from orchestrator.store.campaigns import CampaignRecord, Progress
from orchestrator.store.services import ServiceRecord, StoreRegistry
from orchestrator.store.tables import CampaignState, JobState
from workers.runtime.registry import ALIVE_S, WorkerRecord

SERVICES = st.lists(
    st.builds(
        ServiceRecord,
        name=st.just("host:1:1"),
        version=st.sampled_from(["1", "2"]),
        slots=st.integers(1, 4),
        silent_s=st.sampled_from([0.0, ALIVE_S, ALIVE_S + 1, 1e4]),
    ),
    max_size=3,
)
COUNTS = st.fixed_dictionaries({state: st.integers(0, 2) for state in JobState})
SITUATIONS = st.builds(
    lambda state, counts, is_launched, workers, orchestrators: Situation(
        record=CampaignRecord(7, "name", 1, state, {}, {}, 0.0, None, ""),
        progress=Progress(counts, 0, sum(counts.values())),
        is_launched=is_launched,
        workers=workers,
        orchestrators=orchestrators,
    ),
    st.sampled_from(CampaignState),
    COUNTS,
    st.booleans(),
    SERVICES,
    SERVICES,
)


@given(SITUATIONS)
def test_each_obstacle_is_one_line_with_a_fix(seen):
    for line in seen.attention:
        assert line
        assert "\n" not in line
        assert any(word in line for word in ("wm ", "install", "go on to their end"))
    assert len(set(seen.attention)) == len(seen.attention)


@given(SITUATIONS)
def test_missing_services_are_reported_exactly_if_they_are_needed(seen):
    reported = "; ".join(seen.attention)
    alive = {
        "worker": any(worker.silent_s <= ALIVE_S for worker in seen.workers),
        "orchestrator": any(each.silent_s <= ALIVE_S for each in seen.orchestrators),
    }
    over = not any(seen.progress.jobs[state] for state in JobState if not state.is_finished)
    waits = seen.is_launched and not over and seen.record.state is not CampaignState.CANCELLED
    for kind, lives in alive.items():
        assert (f"no {kind} is alive" in reported) == (waits and not lives)
    ours = {each.version for each in seen.orchestrators if each.is_alive}
    mismatches = [each for each in seen.workers if each.is_alive and each.version not in ours]
    assert ("another version" in reported) == bool(waits and ours and mismatches)


@given(SITUATIONS)
def test_a_campaign_is_over_when_its_jobs_are(seen):
    jobs = {state for state, count in seen.progress.jobs.items() if count}
    if any(not state.is_finished for state in jobs):
        assert seen.state in {*CampaignState, "launched"}
        return
    without = jobs & {JobState.FAILED, JobState.BLOCKED}
    cancelled = JobState.CANCELLED in jobs
    assert (seen.state == "finished") == (not without and not cancelled)
    assert any("wm results jobs 7" in line for line in seen.attention) == bool(without)
    assert any("wm campaign resume 7" in line for line in seen.attention) == cancelled


def test_the_situation_in_a_store(store, spec, facts):
    made = campaigns.create_campaign(store, spec, plan(spec, facts), {})
    seen = situation(store, made)
    assert (seen.state, seen.is_launched) == ("interrupted", False)
    assert seen.attention == [f"not running: wm campaign resume {made}, or launch its file again"]
    launched.hand_over(store, made)
    seen = situation(store, made)
    assert (seen.state, len(seen.attention)) == ("launched", 2)
    services.beat_orchestrator(store, "one:1:1", "1")
    StoreRegistry(store).beat(WorkerRecord("two:1:1", "2", 3))
    (line,) = situation(store, made).attention
    assert line.startswith("1 of 1 workers have another version")
    StoreRegistry(store).beat(WorkerRecord("three:1:1", "1", 3))
    assert situation(store, made).attention[0].startswith("1 of 2 workers")
    launched.cancel(store, made)
    assert situation(store, made).state == "cancelled"
