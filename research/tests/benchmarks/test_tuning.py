"""Both searches get the paper's grid, and a difference of one bit between them is told."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from research.benchmarks import document, tuning
from wm.embedding.tuning import Hyperparameters

WORDS = ["--dataset", "breast-cancer", "--n-estimators", "2", "4", "--max-depth", "2", "3", "--folds", "2"]


def test_a_small_grid(run_benchmark, tmp_path):
    printed, found = run_benchmark("tuning", *WORDS, "--seed", 1)
    (row,) = found["rows"]
    assert (row["rows"], row["features"], row["points"], row["grid"]["folds"]) == (398, 30, 4, 2)
    assert (row["equal_points"], row["same_choice"]) == (4, True)
    assert row["chosen"]["n_estimators"] in (2, 4)
    assert row["wall_ratio"] == row["scikit_learn"]["wall_s"] / row["ours"]["wall_s"]
    assert "| breast-cancer | 398 x 30 | 4 x 2 |" in printed
    text = document.write(tmp_path)
    assert (
        "python -m research.benchmarks.tuning --dataset breast-cancer --folds 2 --n-estimators 2 4 --max-depth 2 3 "
        "--seed 1 -o research/benchmarks/results/tuning.json"
    ) in text
    assert "Grid of trees 2, 4 by depth 2, 3." in text
    assert "on 1 of 1 data sets" in text
    assert printed.strip() in text


@pytest.mark.parametrize("name", tuning.SETTINGS)
def test_the_campaigns_grids_hold_what_the_paper_chose(name):
    grid = tuning.paper_grid(name)
    chosen, _ = tuning.SETTINGS[name]
    assert chosen.n_estimators in grid.n_estimators
    assert chosen.max_depth in grid.max_depth
    assert (len(grid.n_estimators) * len(grid.max_depth), grid.folds) == (72, 3)
    assert tuning.paper_grid(name, folds=5).folds == 5


def off_by_one_bit(result):
    first, *others = result.scores
    return replace(result, scores=(replace(first, deviation=np.nextafter(first.deviation, 1)), *others))


def another_choice(result):
    return replace(result, best=Hyperparameters(1, 1))


def one_point_missing(result):
    return replace(result, scores=result.scores[1:])


@pytest.mark.parametrize(
    ("spoil", "equal", "same_choice"),
    [(off_by_one_bit, 3, True), (another_choice, 4, False), (one_point_missing, 0, True)],
)
def test_a_difference_ends_the_run_with_a_failure(spoil, equal, same_choice, tmp_path, monkeypatch):
    search = tuning.search
    monkeypatch.setattr(tuning, "search", lambda *given: spoil(search(*given)))
    output = tmp_path / "tuning.json"
    with pytest.raises(SystemExit, match="the searches disagree on breast-cancer"):
        tuning.main([*WORDS, "-o", str(output)])
    (row,) = json.loads(output.read_text())["rows"]
    assert (row["equal_points"], row["same_choice"]) == (equal, same_choice)
    assert "on 0 of 1 data sets" in document.write(tmp_path)
