"""What the demo shows beside the report."""

from __future__ import annotations

from importlib import resources

import pytest

from orchestrator import results
from orchestrator.demo import tables, verify_exported
from orchestrator.launch import planned_jobs
from orchestrator.spec import parse_spec
from wm.claims.claim import read_claim
from wm.forest import Forest
from workers.jobs import KINDS, JobKind


def test_the_exported_forest_and_claim_verify(finished, tmp_path):
    evidence = verify_exported(finished, 1, tmp_path)
    assert (evidence.matched_bits, evidence.total_bits) == (84, 84)
    assert evidence.p_value < 0.01
    forest = Forest.load(tmp_path / "forest.npz")
    assert read_claim(tmp_path / "claim.json").model_hash == forest.content_hash


def test_tables_sum_up_the_frames(finished):
    accuracy, suppression, forgery = tables(finished, 1)
    (row,) = accuracy[2]
    frame = results.frame(finished, 1, "accuracy")
    assert accuracy[1] == ["trigger_share", "accuracy_standard", "accuracy_capped", "accuracy_watermarked"]
    assert row == [0.02, *(pytest.approx(frame[name].mean()) for name in accuracy[1][1:])]
    assert {row[0] for row in suppression[2]} == set(results.frame(finished, 1, "suppression")["method"])
    attack = results.frame(finished, 1, "forgery")
    assert [tuple(row[:2]) for row in forgery[2]] == [("sat", 0.3), ("sat", 0.7), ("z3", 0.3), ("z3", 0.7)]
    for row in forgery[2]:
        told = dict(zip(forgery[1], row, strict=True))
        cell = attack[(attack["engine"] == told["engine"]) & (attack["eps"] == told["eps"])]
        assert (told["signatures"], told["trigger_size"]) == (2, 7)
        assert told["mean_forged"] == pytest.approx(cell["forged"].mean())
        assert told["most_forged"] == cell["forged"].max()
        assert told["impossible"] == cell["impossible"].sum()


def test_the_demos_own_campaign_can_be_planned():
    text = (resources.files("orchestrator") / "demo.toml").read_text(encoding="utf-8")
    jobs = planned_jobs(parse_spec(text))
    assert {job.kind for job in jobs} == set(KINDS) - {JobKind.TUNE_FOLD, JobKind.TUNE, "calibration"}
