"""The race over formulas answers as the formulas have it, and tells of contradictions."""

from __future__ import annotations

import numpy as np
import pytest

from research.benchmarks import hardness
from wm.attacks.hardness import Formula
from wm.engines import ForgeryOutcome, Status

UNSATISFIABLE = "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n"


def test_a_small_race(run_benchmark, tmp_path):
    file, plot = tmp_path / "unsatisfiable.cnf", tmp_path / "plot.svg"
    file.write_text(UNSATISFIABLE)
    printed, document = run_benchmark(
        "hardness", "--engine", "sat", "--engine", "search", "--sizes", 8, 12, "--formulas", 3,
        "--timeout", 60, "--dimacs", file, "--plot", plot,
    )  # fmt: skip
    rows = [hardness.Row(**row) for row in document["rows"]]
    assert [(row.source, row.n_variables, row.engine) for row in rows] == [
        (source, size, engine)
        for source, size in ((file.name, 2), ("random", 8), ("random", 12))
        for engine in ("sat", "search")
    ]
    for row in rows:
        assert row.forged + row.impossible == row.n == (1 if row.source == file.name else 3)
        assert 0 < row.lower_quartile <= row.median <= row.upper_quartile
        assert not row.censored
        assert row.plain_median is not None
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert (one.forged, one.impossible) == (other.forged, other.impossible)
    assert rows[0].impossible == 1
    assert f"| {file.name} | 2 | search | 1 | 0 / 1 / 0 |" in printed
    assert "<svg" in plot.read_text()


FORMULA = Formula(2, ((1,), (2,)))
MODEL = ForgeryOutcome(Status.FORGED, np.float32([1, 1]), 0.5, 0.1, "sat")
NO_MODEL = ForgeryOutcome(Status.FORGED, np.float32([1, 0]), 0.5, 0.1, "sat")
IMPOSSIBLE = ForgeryOutcome(Status.IMPOSSIBLE, None, None, 0.1, "sat")


def test_a_right_answer_passes():
    hardness.check("here", "sat", FORMULA, MODEL, satisfiable=True)
    hardness.check("here", "sat", FORMULA, IMPOSSIBLE, satisfiable=False)


@pytest.mark.parametrize(("outcome", "satisfiable"), [(MODEL, False), (IMPOSSIBLE, True), (NO_MODEL, True)])
def test_contradictions_are_told(outcome, satisfiable):
    with pytest.raises(hardness.ContradictionError, match="here: "):
        hardness.check("here", "sat", FORMULA, outcome, satisfiable=satisfiable)


def test_the_plain_solver_knows_models():
    assert hardness.plain(FORMULA)[0] is True
    assert hardness.plain(Formula(1, ((1,), (-1,))))[0] is False
