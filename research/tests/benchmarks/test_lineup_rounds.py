"""The benchmark of boosted line-ups: every suspect is judged, and the tables say what the rows say."""

from __future__ import annotations

from research.benchmarks import lineup_rounds


def test_copies_and_honest_models_are_judged(run_benchmark):
    few = ("--dataset", "breast-cancer", "--rows", 150, "--candidates", 4, "--seeds", 1, "--rounds", 12)
    out, document = run_benchmark("lineup_rounds", *few, "--honest", 2, "--others", 1)
    rows = {row["suspect"]: row for row in document["rows"]}
    assert list(rows) == [
        *lineup_rounds.SUSPECTS,
        lineup_rounds.DISTILLED,
        "honest 0",
        "honest 1",
        "other owner 0",
    ]
    assert rows["unmodified"]["log10_p_trees"] < -5
    assert rows["unmodified"]["accuracy_change"] == rows["shuffled"]["accuracy_change"] == 0
    assert rows["trained on"]["log10_p_trees"] == rows["unmodified"]["log10_p_trees"]
    assert all(rows[name]["log10_p_trees"] > -3 for name in ("honest 0", "other owner 0"))
    assert "| unmodified | breast-cancer | 1 | +0.000 |" in out
    assert "2 models (honest), p at most 0.05:" in out
    assert "1 models (other owner), p at most 0.05:" in out


def test_honest_models_are_counted_by_each_test():
    def row(suspect: str, trees: float) -> lineup_rounds.Row:
        return lineup_rounds.Row("d", 1, 1, 20, 0, suspect, 0.0, trees, 0.0, -0.1, -1.31, -1.0, 1.0)

    rows = [row("unmodified", -9), row("honest 0", -1.4), row("honest 1", -0.2)]
    assert lineup_rounds.false_positives(rows, "honest") == (
        2,
        {"trees in order": 1, "trees in any order": 0, "all trees": 0, "probabilities": 2, "labels": 0},
    )
