"""The published numbers agree with one another and with what follows from them."""

from __future__ import annotations

from research.reproduction.published import (
    DATASETS,
    DETECTIONS,
    DISTANCES,
    FORGED,
    INDEPENDENT,
    PARITY,
    SHARED_SEED_FORGED,
    SIGNATURES,
    TOO_SLOW,
    TRIGGER_SHARE,
)
from wm.embedding.common import trigger_size

TREES = {setting.dataset: setting.n_estimators for setting in DATASETS}


def test_each_strategy_counts_every_tree_once():
    assert len(DETECTIONS) == 2 * len(DATASETS)
    for one in DETECTIONS:
        assert set(one.by_strategy) == {"A", "B"}
        for counts in one.by_strategy.values():
            assert sum(counts) == TREES[one.dataset]
        assert one.by_strategy["B"][2] == 0


def test_trees_are_within_their_caps():
    settings = {setting.dataset: setting for setting in DATASETS}
    for one in DETECTIONS:
        setting = settings[one.dataset]
        assert one.mean <= (setting.cap_leaves if one.measure == "leaves" else setting.max_depth)


def test_trigger_sets_have_their_share_of_the_training_rows():
    train = {"breast-cancer": 398, "mnist2-6": 9706, "ijcnn1": 10_000}
    for setting in DATASETS:
        assert trigger_size(train[setting.dataset], TRIGGER_SHARE) == setting.trigger_rows


def test_statements_are_on_known_sets_and_distances():
    for one in (*FORGED, PARITY, TOO_SLOW, INDEPENDENT):
        assert one.dataset in TREES
        assert one.eps in DISTANCES
    assert SIGNATURES.keys() == TREES.keys()
    assert len(SHARED_SEED_FORGED) == len(DISTANCES)
    assert list(SHARED_SEED_FORGED) == sorted(SHARED_SEED_FORGED), "a larger box holds a smaller one"
