"""The fuzzer finds no disagreement between the engines, and would find one."""

from __future__ import annotations

import argparse

import numpy as np
import pytest

from research.benchmarks import fuzz
from wm import engines
from wm.engines import Answer
from wm.engines.proof import ProofChecker

OPTIONS = argparse.Namespace(seed=3, count=40, engine=["sat"], proof_share=1.0)


def test_all_engines_agree(run_benchmark):
    printed, document = run_benchmark("fuzz", "--count", 160, "--proof-share", 1)
    rows = [fuzz.Row(**row) for row in document["rows"]]
    assert [row.engine for row in rows] == engines.names()
    for row in rows:
        assert row.queries == row.forged + row.impossible == 160
        assert row.disagreements == 0
        assert sum(row.reasons.values()) == row.impossible
        assert (row.forged, row.impossible) == (rows[0].forged, rows[0].impossible)
    proofs = fuzz.Proofs(**document["proofs"])
    assert proofs.accepted == rows[0].impossible
    assert proofs.refused == proofs.believed == 0
    assert proofs.truncated_refused == proofs.searched > 0
    assert "160 queries, 0 disagreements" in printed


class Liar:
    """Says impossible of everything, or has the same witness for everything."""

    witness: np.ndarray | None = None

    def __init__(self, forest):
        self.n_features = forest.n_features

    def answer(self, query):
        if self.witness is None:
            return Answer(None)
        return Answer(np.full(self.n_features, self.witness, dtype=np.float32))


@pytest.mark.parametrize("witness", [None, 0.3])
def test_wrong_answers_are_counted(monkeypatch, capsys, witness):
    monkeypatch.setattr(fuzz.engines, "solver_class", lambda name: Liar)
    monkeypatch.setattr(Liar, "witness", witness)
    tally = fuzz.run(OPTIONS)
    assert tally.faults["sat"] >= 5
    assert "seed 3, forest 0, query" in capsys.readouterr().err


def test_a_checker_that_believes_everything_is_counted(monkeypatch):
    monkeypatch.setattr(ProofChecker, "check", lambda *_: 1)
    tally = fuzz.run(argparse.Namespace(**vars(OPTIONS) | {"count": 160}))
    assert tally.proofs.believed == tally.faults["proof checker"] > 0
