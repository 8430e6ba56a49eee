"""The section about embedding says what the results file says."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from research.benchmarks import document
from research.benchmarks.embedding import Cost, Peak, Row, differences

RATIOS = {"paper": (5.0, 7.0), "per-tree": (1.25, 1.75)}


def row(training, repeat, accuracy):
    ratio = RATIOS[training][repeat]
    return Row(
        dataset="breast-cancer",
        training=training,
        repeat=repeat,
        plain=Cost(2.0, 1.5),
        embedding=Cost(2.0 * ratio, 1.5 * ratio),
        wall_ratio=ratio,
        cpu_ratio=ratio,
        fits_per_tree=1.25,
        weight_right=1.0,
        weight_wrong=8.0,
        accuracy=accuracy,
        accuracy_plain=0.95,
        bits_depth=0.5,
        bits_leaves=0.75 if training == "paper" else 0.625,
    )


@pytest.fixture
def results():
    """What the benchmark writes for two repeats of two trainings."""
    rows = [row("paper", 0, 0.94), row("per-tree", 0, 0.92), row("paper", 1, 0.94), row("per-tree", 1, 0.921)]
    return {
        "machine": {"processor": "A processor", "processors": 2, "python": "3.11.7"}
        | {"numpy": "2.0", "scikit-learn": "1.6"},
        "date": "2026-01-02",
        "adjust": "artifact",
        "jobs": 1,
        "rows": [asdict(one) for one in rows],
        "reference": "paper",
        "differences": [asdict(gap) for gap in differences(rows, "paper")],
        "memory": [
            asdict(Peak("breast-cancer", "plain", 100.0, 200.0)),
            asdict(Peak("breast-cancer", "per-tree", 100.0, 250.0)),
        ],
    }


def written(results, directory):
    (directory / "embedding.json").write_text(json.dumps(results))
    return document.write(directory)


def test_ratios_differences_and_memory(results, tmp_path):
    text = written(results, tmp_path)
    assert (
        "python -m research.benchmarks.embedding --dataset breast-cancer --training paper --training per-tree "
        "--repeats 2 --reference paper --adjust artifact --jobs 1 -o research/benchmarks/results/embedding.json"
    ) in text
    assert "A processor, 2 cores; Python 3.11.7, NumPy 2.0, scikit-learn 1.6; 2026-01-02" in text
    spread = "1.50 ± 0.35 (1.75)"
    assert f"| breast-cancer | per-tree | 2 | 1.5 | {spread} | {spread} | 1.25 | 0.9205 | 0.9500 |" in text
    # Two gaps of -0.0200 and -0.0190: t(0.975, 1) = 12.706 times their standard error of 0.0005.
    assert "| breast-cancer | per-tree | 2 | -0.0195 ± 0.0064 | +0.0000 ± 0.0000 | -0.1250 ± 0.0000 |" in text
    assert "wholly on that side: accuracy of per-tree on breast-cancer (of 3)" in text
    assert "| breast-cancer | 100 to 200 | 100 to 250 | 1.25 |" in text
    assert "## Tuning" not in text


def test_more_bits_are_worse_and_fewer_are_not(results, tmp_path):
    for gap in results["differences"]:
        gap["mean"] = float(np.abs(gap["mean"]))
    text = written(results, tmp_path)
    assert "wholly on that side: bits by leaves of per-tree on breast-cancer (of 3)" in text
    for gap in results["differences"]:
        gap["half_width"] = 1.0
    assert "wholly on that side: none (of 3)" in written(results, tmp_path)


def test_one_repeat_has_no_spread_and_no_differences(results, tmp_path):
    results["rows"] = results["rows"][:2]
    results["differences"] = []
    text = written(results, tmp_path)
    assert "| breast-cancer | per-tree | 1 | 1.5 | 1.25 (1.25) |" in text
    assert "paired by repeat" not in text
