"""The artifact's errors: the experiments give what brute asking gives."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.results.forged_sets import attempts
from research.reproduction import experiments
from research.reproduction.published import DISTANCES
from wm import engines
from wm.engines import Status


@pytest.fixture(scope="module")
def at(run):
    return experiments.scene(run)


def test_the_owners_signature_forges_what_another_engine_says(at):
    found = experiments.shared_seed(at)
    assert (found.instances, found.trigger_size, found.undecided) == (7, 7, 0)
    with engines.create("sat", at.model.forest) as engine:
        asked = [
            sum(
                engine.solve(at.query(at.owner, int(row), eps), timeout_s=60).status is Status.FORGED
                for row in at.rows
            )
            for eps in DISTANCES
        ]
    assert list(found.owner) == asked
    assert all(spread.n == 3 for spread in found.independent)


def test_a_margin_loses_what_is_just_reached_and_never_finds_more(at):
    found = experiments.margins(at)
    forged = sum(one.distance is not None for one in experiments.least_distances(at, at.owner))
    assert forged > 0
    assert [one.eps for one in found] == [*DISTANCES, None]
    assert (found[-1].forged, found[-1].lost) == (forged, forged), "the nearest point is at a threshold"
    assert all(one.lost + one.undecided <= one.forged for one in found)


@pytest.mark.parametrize("timeout_s", [1e-6, 60.0])
def test_without_an_answer_everything_counts_as_forged(at, timeout_s):
    found = experiments.unknown_as_sat(at, 0.7, timeout_s, instances=5)
    assert found.instances == 5
    assert (found.unknown > 0) == (timeout_s < 1)
    assert found.as_published == found.forged + found.unknown
    assert found.truly_forged + found.truly_impossible == 5
    if not found.unknown:
        assert (found.forged, found.impossible) == (found.truly_forged, found.truly_impossible)


def test_all_points_of_a_cell_draw_the_same_votes(store, run, at):
    rng = np.random.default_rng(0)
    tried = [one for one in attempts(store, 1, run.models) if one.eps == 0.7 and one.forgeries]
    assert tried
    for attempt in tried:
        for one in attempt.forgeries:
            points = experiments.points_of_cell(at, attempt.signature, one.row, one.forged, 0.7, rng)
            votes = at.model.forest.votes(np.array(points))
            assert (votes == votes[0]).all()
            original = run.models.split.X_test[one.row].astype(np.float64)
            assert max(np.abs(point - original).max() for point in points) <= 0.7
            assert not np.array_equal(points[0], points[1])


def test_the_nearest_choice_is_the_campaigns_own_set(store, run, at):
    found = experiments.free_choice(store, at, 0.7)
    forged = run.forged[(run.forged["eps"] == 0.7) & (run.forged["witnesses"] == "any")]
    known = forged.dropna(subset="independent_accuracy")
    assert (found.sets, found.instances) == (len(known), known["size"].sum())
    assert found.nearest.mean == pytest.approx(known["independent_accuracy"].mean())
    assert experiments.free_choice(store, at, 0.123) is None
