"""The benchmark of line-ups: every suspect is judged, and the tables say what the rows say."""

from __future__ import annotations

import pytest

from research.benchmarks import lineup


def test_copies_and_honest_forests_are_judged(run_benchmark):
    few = ("--dataset", "breast-cancer", "--rows", 150, "--candidates", 4, "--seeds", 1, "--queries", 40)
    out, document = run_benchmark("lineup", *few, "--honest", 2, "--others", 3)
    rows = {row["suspect"]: row for row in document["rows"]}
    others = [f"other owner {number}" for number in range(3)]
    assert list(rows) == [*lineup.SUSPECTS, "honest 0", "honest 1", *others]
    assert rows["unmodified"]["log10_p_votes"] < -35
    assert rows["unmodified"]["accuracy_change"] == rows["shuffled"]["accuracy_change"] == 0
    assert all(rows[name]["log10_p_votes"] > -4 for name in ("honest 0", *others))
    assert "| unmodified | breast-cancer | 4 | 1 |" in out
    assert "| breast-cancer | 150 | 70 | 4 |" in out
    assert all(0 < row["train_s"] < row["lineup_s"] and row["peak_mb"] > 50 for row in document["rows"])
    assert "2 forests (honest), p at most 0.05:" in out
    assert "3 forests (other owner), p at most 0.05:" in out


def test_medians_are_over_seeds():
    def row(seed: int, votes: float, suspect: str = "shuffled") -> lineup.Row:
        return lineup.Row("d", 1, 1, 20, seed, suspect, 0.0, votes, -1.0, -0.5, 1.0, 1.0)

    rows = [row(0, -3.0), row(1, -9.0), row(2, -5.0), row(0, -2.0, "honest 0"), row(1, -0.1, "honest 1")]
    (line,) = lineup.summary(rows)
    assert line == ("shuffled", "d", 20, 3, 0.0, -5.0, -1.0, -0.5)
    assert lineup.false_positives(rows, "honest") == (2, {"votes": 1, "shares": 0, "labels": 0})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"seed": 1, "dataset": ["a", "b"], "rows": 5, "queries": None}, " --dataset a b --rows 5"),
        ({"seed": 1}, ""),
    ],
)
def test_options_are_those_of_the_run(given, text):
    assert lineup.options(given) == text
