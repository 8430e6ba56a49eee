"""The embedding benchmark: ratios to a plain fit, and the bits that the paper's detection reads."""

from __future__ import annotations

import pytest

from research.benchmarks.common import SETTINGS
from research.benchmarks.embedding import limits_of, measure, task_of
from wm.attacks.detection import detect
from wm.datasets import Source, load, split
from wm.embedding.paper import embed_paper


def test_trainings_are_compared_with_a_plain_fit():
    rows, (chosen, _) = split(load(Source(name="breast-cancer")), seed=2), SETTINGS["breast-cancer"]
    task = task_of(rows, chosen, limits_of(rows, chosen, "artifact"), 0, 1)
    found = {row.training: row for row in measure("breast-cancer", rows, task, 0, ["artifact", "per-tree"])}
    assert set(found) == {"artifact", "per-tree"}
    assert all(row.accuracy > 0.85 and row.cpu_ratio > 0.5 for row in found.values())
    read = {
        (row.measure, row.strategy): row.correct / task.signature.trees
        for row in detect(embed_paper(task).forest, task.signature)
    }
    mine = found["per-tree"]
    assert (mine.bits_depth, mine.bits_leaves) == pytest.approx((read["depth", "B"], read["leaves", "B"]))
