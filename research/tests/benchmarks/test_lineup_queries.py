"""The benchmark of a line-up's queries: more of them say more, and natural ones do not stand out."""

from __future__ import annotations

import numpy as np
import pytest

from research.benchmarks import lineup_queries


def test_more_queries_say_more_and_each_kind_is_scored(run_benchmark):
    few = ("--dataset", "breast-cancer", "--rows", 80, "--candidates", 4, "--seeds", 1, "--honest", 2)
    out, document = run_benchmark("lineup_queries", *few)
    rows = {(row["kind"], row["queries"]): row for row in document["rows"]}
    assert {kind for kind, _ in rows} == set(lineup_queries.KINDS)
    assert max(size for kind, size in rows if kind == "boundary") == 2000
    assert rows["boundary", 2000]["votes"] < -35
    assert rows["boundary", 2000]["shares"] < rows["boundary", 10]["shares"]
    assert "| breast-cancer | boundary |" in out
    suspects = [each["suspect"] for each in document["passive"]]
    assert suspects == [*lineup_queries.COPIES, *[lineup_queries.HONEST] * 2]
    assert document["passive"][0]["repeated"] == 1
    assert {(each["kind"], each["score"]) for each in document["seen"]} == {
        (kind, score)
        for kind in lineup_queries.KINDS
        for score in ("divided votes", "distance", "classifier")
    }


@pytest.mark.parametrize(
    ("asked", "others", "expected"),
    [
        ([2.0, 3.0], [0.0, 1.0], (1.0, 1.0)),
        ([0.0, 1.0], [0.0, 1.0], (0.5, 0.0)),
        ([0.0, 5.0], [1.0, 2.0], (0.5, 0.5)),
    ],
)
def test_told_apart(asked, others, expected):
    assert lineup_queries.told_apart(np.array(asked), np.array(others)) == pytest.approx(expected)
