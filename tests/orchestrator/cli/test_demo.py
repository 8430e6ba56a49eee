"""The output of the demo next to its report."""

from __future__ import annotations

from importlib import resources

import pytest

from orchestrator import results
from orchestrator.cli.demo import tables, verify_exported
from orchestrator.launch import planned_jobs
from orchestrator.spec import parse_spec
from wm.claims.claim import read_claim
from wm.forest import Forest
from workers.jobs.kinds import KINDS, JobKind


def test_the_exported_forest_and_claim_verify(finished, tmp_path):
    evidence = verify_exported(finished, 1, tmp_path)
    assert (evidence.matched_bits, evidence.total_bits) == (84, 84)
    assert evidence.p_value < 0.01
    forest = Forest.load(tmp_path / "forest.npz")
    assert read_claim(tmp_path / "claim.json").model_hash == forest.content_hash


def test_tables_aggregate_the_frames(finished):
    accuracy, suppression, forgery = tables(finished, 1).values()
    (row,) = accuracy.to_dict("records")
    frame = results.frame(finished, 1, "accuracy")
    names = ["accuracy_standard", "accuracy_capped", "accuracy_watermarked"]
    assert row == {"trigger_share": 0.02, **{name: pytest.approx(frame[name].mean()) for name in names}}
    assert set(suppression["method"]) == set(results.frame(finished, 1, "suppression")["method"])
    attack = results.frame(finished, 1, "forgery")
    assert list(zip(forgery["engine"], forgery["eps"], strict=True)) == [
        ("sat", 0.3),
        ("sat", 0.7),
        ("z3", 0.3),
        ("z3", 0.7),
    ]
    for row in forgery.to_dict("records"):
        cell = attack[(attack["engine"] == row["engine"]) & (attack["eps"] == row["eps"])]
        assert (row["signatures"], row["trigger_size"]) == (2, 7)
        assert row["mean_forged"] == pytest.approx(cell["forged"].mean())
        assert row["max_forged"] == cell["forged"].max()
        assert row["impossible"] == cell["impossible"].sum()


def test_the_demos_own_campaign_can_be_planned():
    text = (resources.files("orchestrator") / "demo.toml").read_text(encoding="utf-8")
    jobs = planned_jobs(parse_spec(text))
    assert {job.kind for job in jobs} == set(KINDS) - {
        JobKind.TUNE_FOLD,
        JobKind.TUNE,
        "calibration",
        "claims",
    }
