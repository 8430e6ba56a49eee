"""The model behind the scaling tables, compared with what can be said without it."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from research.benchmarks.simulation import Model, Part, Setting, steady, whole
from research.benchmarks.throughput import Costs

FREE = Costs(**dict.fromkeys((field.name for field in fields(Costs)), 0.0))
NEAR = Setting(1, 1.0, round_trip_s=0.0)


def costs(**changes):
    """Return costs so small that only those given count."""
    return replace(FREE, lease_s=1e-9, **changes)


def test_cores_are_given_to_each_in_turns():
    model = Model(costs(), NEAR, jobs=0)
    cores, ended = Part(model.env, 2), {}

    def work(name):
        yield from model.use(cores, 1.0)
        ended[name] = model.env.now

    for name in range(4):
        model.env.process(work(name))
    model.env.run(3.0)
    assert all(at == pytest.approx(2.0, abs=0.01) for at in ended.values())
    assert len(ended) == 4
    assert cores.busy_s == pytest.approx(4.0)


@pytest.mark.parametrize("slots", [1, 10])
def test_where_nothing_costs_anything_every_slot_solves_all_the_time(slots):
    found = steady(costs(), replace(NEAR, slots=slots))
    assert found.efficiency == pytest.approx(1.0, abs=0.02)
    assert found.full == ""


def test_a_slots_own_cost_is_lost_to_the_solving():
    found = steady(costs(slot_s=0.25), replace(NEAR, slots=4, slots_per_worker=1))
    assert found.efficiency == pytest.approx(1.0 / 1.25, abs=0.03)


def test_a_store_does_what_its_cores_can_and_is_said_to_be_full():
    per_job = 0.02
    store_bound = costs(record_s=per_job, store_cpu_per_job_s=per_job)
    found = steady(store_bound, Setting(400, 1.0, store_cores=4, round_trip_s=0.0))
    assert found.jobs_per_s == pytest.approx(4 / per_job, rel=0.05)
    assert found.full == "store"


def test_an_orchestrator_that_cannot_send_enough_is_named():
    found = steady(costs(publish_s=0.01), Setting(1000, 1.0, round_trip_s=0.0))
    assert 80 <= found.jobs_per_s <= 100
    assert found.full == "orchestrator"


def test_batches_longer_than_a_slice_are_taken_up_again_until_they_are_done():
    assert whole(costs(), replace(NEAR, batch_s=60.0), jobs=1) >= 30.0
    assert math.isfinite(whole(costs(), replace(NEAR, batch_s=60.0, slots=3), jobs=3))


def test_two_slots_on_one_core_are_no_faster_than_one():
    one = whole(costs(), replace(NEAR, shared_cores=1), jobs=20)
    two = whole(costs(), replace(NEAR, shared_cores=1, slots=2), jobs=20)
    both = whole(costs(), replace(NEAR, shared_cores=2, slots=2), jobs=20)
    assert two == pytest.approx(one, rel=0.02)
    assert both == pytest.approx(one / 2, rel=0.1)
