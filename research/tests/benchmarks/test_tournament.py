"""The benchmark of tournaments: every suspect is judged, beside a line-up."""

from __future__ import annotations

from research.benchmarks import tournament
from research.benchmarks.lineup import SUSPECTS


def test_copies_and_innocent_forests_are_judged(run_benchmark):
    few = ("--dataset", "breast-cancer", "--rows", 150, "--layers", 1, "--seeds", 1, "--asked", 60)
    few += ("--queries", 40, "--honest", 1, "--others", 2, "--presence", 5)
    out, document = run_benchmark("tournament", *few)
    rows = {row["suspect"]: row for row in document["rows"]}
    assert list(rows) == [*SUSPECTS, "honest 0", "other owner 0", "other owner 1"]
    assert rows["unmodified"]["in_order"] < -1.5
    assert rows["unmodified"]["lineup_votes"] < rows["unmodified"]["in_order"]
    assert rows["shuffled"]["accuracy_change"] == 0
    assert all(rows[name]["votes"] > -4 for name in ("honest 0", "other owner 0", "other owner 1"))
    assert rows["honest 0"]["lineup_votes"] is None
    assert "| unmodified | breast-cancer | 2 | 0 | 1 |" in out
    assert "1 forests (honest), p at most 0.05:" in out
    assert "| breast-cancer | 5 | deviation on the rows |" in out


def test_false_positives_are_counted_for_each_kind_of_answers():
    def row(suspect: str, votes: float, labels: float) -> tournament.Row:
        figures = (0.9, 0.0, votes, votes, 0.0, 0.0, labels)
        return tournament.Row("d", 1, 1, 1, 0, 0, suspect, *figures, None, None, None, 1, 1.0)

    rows = [row("honest 0", -1.4, 0.0), row("honest 1", -0.5, -2.0), row("other owner 0", -9.0, -9.0)]
    count, found = tournament.false_positives(rows, "honest")
    assert (count, found["votes"], found["labels"], found["matched"]) == (2, 1, 1, 0)
