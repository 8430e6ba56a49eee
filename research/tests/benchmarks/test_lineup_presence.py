"""The presence benchmark of line-ups: areas under the curve are what they are called."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from research.benchmarks import lineup_presence
from research.benchmarks.lineup_presence import Row


def rows_of(shift: float) -> list[Row]:
    rng = np.random.default_rng(0)
    return [
        Row("d", 10, 4, keyed, {"a": float(rng.normal(shift * keyed)), "b": float(rng.normal())})
        for keyed in (False, True) * 40
    ]


def test_areas_are_those_of_scikit_learn_within_their_intervals():
    rows = rows_of(1.0)
    found = {each.by: each for each in lineup_presence.found(rows, seed=1)}
    assert list(found) == ["all statistics", "a", "b"]
    expected = roc_auc_score([row.keyed for row in rows], [row.statistics["a"] for row in rows])
    assert np.isclose(found["a"].auc, expected)
    for each in found.values():
        assert each.forests == 40
        assert each.low <= each.auc <= each.high
    assert found["all statistics"].low > 0.5


def test_a_mark_is_seen_and_none_is_not():
    marked, plain = (
        {each.by: each for each in lineup_presence.found(rows_of(shift), seed=1)} for shift in (3.0, 0.0)
    )
    assert marked["all statistics"].auc > 0.95
    assert plain["a"].low < 0.5 < plain["a"].high


def test_forests_of_both_kinds_are_measured(run_benchmark):
    out, document = run_benchmark(
        "lineup_presence", "--dataset", "breast-cancer", "--rows", 120, "--forests", 5
    )
    assert [row["keyed"] for row in document["rows"]] == [False, True] * 5
    assert "| breast-cancer | 5 | all statistics |" in out
