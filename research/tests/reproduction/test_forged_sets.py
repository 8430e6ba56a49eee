"""Forged trigger sets read back from a store."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator import results
from orchestrator.errors import NotFoundError
from orchestrator.results.forged_sets import COLUMNS, PLACES, attempts, forged_sets, largest_attempt
from orchestrator.results.stored_models import Place, StoredModels
from wm.attacks.forgery import attacker_signature

PLACE = Place("paper", 0.02, 0.5, 0)


def test_witnesses_draw_the_attackers_signature(store, run):
    model = run.models.watermarked(PLACE)
    tried = list(attempts(store, 1, run.models))
    assert len(tried) == 9
    assert {(one.number, one.eps) for one in tried} == {
        (number, eps) for number in range(3) for eps in (None, 0.3, 0.7)
    }
    for attempt in tried:
        expected = attacker_signature(2, number=attempt.number, length=12, ones_share=0.5, repeat=0)
        assert (attempt.place, attempt.signature, attempt.instances) == (PLACE, expected, 7)
        for one in attempt.forgeries:
            votes = model.forest.votes(one.forged[None])[0]
            assert ((votes == one.label) == (attempt.signature.array == 0)).all()
            assert np.abs(one.forged.astype(np.float64) - one.original).max() == pytest.approx(one.distance)
            assert one.distance <= (attempt.eps or attempt.cap)


def test_sizes_are_those_of_the_answers(store, run):
    frame = run.forged
    asked = results.frame(store, 1, "forgery").dropna(subset="eps").set_index(["signature", "eps"])["forged"]
    given = frame[frame["witnesses"] == "any"].set_index(["signature", "eps"])["size"]
    assert given.to_dict() == asked.to_dict()
    least = results.frame(store, 1, "distances")
    nearest = frame[frame["witnesses"] == "nearest"]
    assert sorted(set(nearest["eps"])) == list(PLACES)
    for row in nearest.itertuples():
        assert row.size == (least[least["signature"] == row.signature]["distance"] <= row.eps).sum()
        assert row.size_over_k == row.size / 7


def test_an_empty_set_has_no_accuracy_and_nothing_stops_it(store, run):
    empty = forged_sets(store, 1, places=(0.0,)).query("witnesses == 'nearest'")
    full = run.forged[run.forged["size"] > 0]
    assert list(empty["size"]) == [0, 0, 0]
    assert set(empty["stopped_by"]) == {""}
    assert len(full)
    assert empty[["mean_distance", "independent_accuracy", "log10_p"]].isna().all(axis=None)
    assert full[["mean_distance", "independent_accuracy", "log10_p"]].notna().all(axis=None)
    assert full["stopped_by"].str.contains("commitment").all(), (
        "no forger has one that is older than the model"
    )
    assert (full["distinct_cells"] <= full["size"]).all()


def test_the_independent_forest_is_the_standard_one(run):
    model = run.models.watermarked(PLACE)
    truth = model.claim.trigger_set
    assert set(run.forged["independent_accuracy_true"]) == {model.standard.accuracy(truth.X, truth.y)}


def test_places_can_be_chosen_up_to_the_cap(store):
    frame = forged_sets(store, 1, places=(0.2, 1.0, 1.5))
    assert sorted(set(frame[frame["witnesses"] == "nearest"]["eps"])) == [0.2, 1.0]


def test_the_largest_attempt_is_at_least_distances(store, run):
    best = largest_attempt(store, 1, run.models)
    sizes = run.forged[run.forged["witnesses"] == "nearest"].groupby("signature")["size"].max()
    assert best.eps is None
    assert len(best.forgeries) >= sizes.max()
    assert largest_attempt(store, 2, StoredModels(store, 2)) is None


def test_a_campaign_without_forgery_has_no_sets(store):
    frame = forged_sets(store, 2)
    assert list(frame.columns) == list(COLUMNS)
    assert frame.empty


def test_what_is_not_made_yet_is_told(store):
    with pytest.raises(NotFoundError, match="campaign 2 has no result of a job split yet"):
        _ = StoredModels(store, 2).split
    with pytest.raises(NotFoundError, match=r"no result of a job embed, scheme paper, trigger_share 0\.5"):
        StoredModels(store, 1).watermarked(Place("paper", 0.5, 0.5, 0))
