"""The summary in words of the attacks beyond the paper has the frames' numbers and says how sure it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.findings import Findings
from orchestrator.report.headline import headline
from orchestrator.report.headline.statement import across, percent_of, times
from orchestrator.report.summaries import Spread
from orchestrator.report.wording import p_value, p_value_of_log10, signed


def _said(findings: Findings) -> dict[str, str]:
    return {statement.topic: statement.text for statement in headline(findings)}


def test_every_attack_is_told_of_in_the_order_of_the_page(attacked: Findings) -> None:
    topics = list(_said(attacked))
    assert topics[3:] == [
        "Leakage",
        "Detection",
        "Suppression",
        "Forgery",
        "Free forgery",
        "Robustness",
        "Calibration",
    ]


def test_leakage_tells_each_form_and_how_sure_that_is(attacked: Findings) -> None:
    said, frame = _said(attacked)["Leakage"], attacked.leakage
    trained = frame[frame["form"] == "as trained"].drop_duplicates(["trigger_share", "repeat"])
    assert "As trained, a secret leaks from 6 of 6 files (95% interval 54% to 100%)" in said
    assert "the right number of trigger rows in 3 of 6 files" in said, "the file tells 8, true is 4 or 8"
    assert f"they give {across(Spread.of(trained['bits']), percent_of)} of the signature" in said
    found, others = trained["triggers_found"].sum(), trained["others_found"].sum()
    assert f"mark {found} of 36 trigger rows and {others} others" in said
    assert "As released, a secret leaks from 0 of 6 files (95% interval 0% to 46%)." in said
    assert "From the honest control, a secret leaks from 0 of 6 files" in said


def test_detection_beyond_the_paper_is_corrected_for_all_that_was_tried(attacked: Findings) -> None:
    said, frame = _said(attacked)["Detection"], attacked.guesses
    best = frame.loc[frame["p_value_exact"].idxmin()]
    own = frame[frame["measure"] == best["measure"]]
    guessed = across(Spread.of(own["bits"].dropna()), percent_of)
    assert f"Beyond the paper, {best['measure']} tells most: it guesses {guessed} of the bits" in said
    assert f"with AUC {own['auc'].mean():.3f} (" in said
    assert "unrelated guesses get 58.8%" in said
    corrected = p_value(min(1.0, len(frame) * best["p_value_exact"]))
    assert f"corrected for {len(frame)} tests (Bonferroni), is {corrected}." in said
    overall = attacked.presence[attacked.presence["measure"] == "presence"]["p_value"]
    stands_out = times(int((overall <= 0.05).sum()), 6, "watermarked forest")
    assert f"against 19 honest forests, p \N{LESS-THAN OR EQUAL TO} 0.05 in {stands_out}" in said
    assert said.endswith("so few honest forests allow none below 0.050).")


def test_suppression_tells_of_filter_and_budget(attacked: Findings) -> None:
    said, frame = _said(attacked)["Suppression"], attacked.suppression
    for method, part in frame.groupby("method"):
        after = across(Spread.of(part["log10_p_after"]), p_value_of_log10, "median")
        assert f"{method} leaves p = {after} and touches " in said
        curves = attacked.budget_curves[attacked.budget_curves["method"] == method]
        needed = curves[curves["bits"] >= 0.99].groupby(["trigger_share", "repeat"])["trigger_queries"].min()
        known = times(len(needed), 6, "forest")
        mean = f"{needed.mean():.0f}" if float(needed.mean()).is_integer() else f"{needed.mean():.2f}"
        assert f"{method} in {known}, after {mean}" in said


def test_method_that_never_knows_the_signature_is_said_not_to(attacked: Findings) -> None:
    low = attacked.budget_curves.assign(bits=0.9)
    said = _said(replace(attacked, budget_curves=low))["Suppression"]
    assert "repeats in 0 of 6 forests (95% interval 0% to 46%) and shadow" in said
    assert "trigger queries and" not in said


def test_least_distances_tell_how_many_signatures_reach_the_true_size(attacked: Findings) -> None:
    said, frame = _said(attacked)["Forgery"], attacked.distances
    known = frame.groupby(["trigger_share", "repeat", "signature"])["distance"].count()
    sizes = np.where(known.index.get_level_values("trigger_share") == 0.01, 4, 8)
    reached = int((known.to_numpy() >= sizes).sum())
    undecided = frame["status"].isin(["timeout", "memout", "error"]).sum()
    forged = (frame["status"] == "forged").sum()
    assert f"{forged} of {len(frame)} instances can be forged within eps 1, {undecided} undecided" in said
    assert f"its whole size for {times(reached, 24, 'signature')}" in said
    share = across(Spread.of(known.to_numpy() / sizes), percent_of)
    assert f"a signature's set reaches {share} of the true one's size" in said


def test_set_of_just_the_true_size_reaches_it(attacked: Findings) -> None:
    frame = attacked.distances.assign(status="forged", distance=0.25)
    planned = attacked.least_forgery
    exactly = planned.assign(trigger_size=planned["instances"])
    said = _said(replace(attacked, distances=frame, least_forgery=exactly))["Forgery"]
    assert "its whole size for 24 of 24 signatures" in said
    assert said.endswith("from eps 0.25 on.")


def test_free_forgery_tells_what_only_the_commitment_stops(attacked: Findings) -> None:
    said, frame = _said(attacked)["Free forgery"], attacked.free_forgery
    largest = frame.loc[frame["size_over_k"].idxmax()]
    assert "Of 30 sets of 5 kinds, 24 have rows" in said
    assert f"the largest ({largest['method']}) is {largest['size_over_k']:.2f} times the true one" in said
    assert "Verification refuses 24 of these 24; the commitment alone stops 12 of them" in said
    assert said.endswith("(best pattern and recovered signature).")
    safe = frame.assign(stopped_but_for_commitment="p-value")
    assert "none depends on the commitment" in _said(replace(attacked, free_forgery=safe))["Free forgery"]
    empty = _said(replace(attacked, free_forgery=frame.assign(size=0)))["Free forgery"]
    assert empty == "None of 30 sets has any row: nothing was forged."


def test_robustness_names_the_cheapest_way_to_break_the_claim(attacked: Findings) -> None:
    frame = attacked.modification
    said = _said(attacked)["Robustness"]
    assert f"the exact match survives in {frame['exact_match'].sum()} of {len(frame)} runs" in said
    kept = ((frame["log10_p"] <= -6) | (frame["log10_p_shares"] <= -6)).sum()
    assert f"stays at or below 1.0 × 10⁻⁶ in {kept}." in said  # noqa: RUF001 - as it is written
    lost = frame.assign(log10_p=-9.0, log10_p_shares=-9.0)
    cheap = (
        (frame["modification"] == "noise") & (frame["strengths"] == "0.1") & (frame["trigger_share"] == 0.02)
    )
    dear = (frame["modification"] == "drop+noise") & (frame["trigger_share"] == 0.01)
    lost.loc[cheap | dear, ["log10_p", "log10_p_shares"]] = -2.0
    lost.loc[dear, "accuracy_change"] = -0.2
    lost.loc[cheap, "accuracy_change"] = -0.005
    told = _said(replace(attacked, modification=lost))["Robustness"]
    assert "all of its runs (6) is noise at 0.1 (paper, 2% trigger rows, 50% ones), with" in told
    assert f"{signed(-0.5)} points of accuracy. At no more than 1 point: 1 modification." in told


def test_claim_that_one_run_keeps_is_not_broken(attacked: Findings) -> None:
    frame = attacked.modification.assign(log10_p=-2.0, log10_p_shares=-2.0)
    frame.loc[frame["attempt"] == 0, "log10_p_shares"] = -7.0
    said = _said(replace(attacked, modification=frame))["Robustness"]
    assert said.endswith("None brings both p-values above that in all of its runs.")


def test_calibration_calls_out_what_is_anti_conservative(attacked: Findings) -> None:
    said, frame = _said(attacked)["Calibration"], attacked.calibration
    assert "7 p-values on false claims against 20 (honest), 20 (other owners) and 20 (presence)" in said
    assert "anti-conservative: detect: depth A exact (honest: 20 of 20 at or below 0.05" in said
    assert "(other owners:" not in said
    assert "leaves rates of up to 16.8% open: so few forests cannot vouch for level 0.001." in said
    calm = frame[frame["p_value"] == "verify: votes"]
    text = _said(replace(attacked, calibration=calm))["Calibration"]
    assert "no rate is above its level beyond what chance explains" in text


@pytest.mark.parametrize(
    ("values", "text"), [([0.5], "50%"), ([0.5, 0.5], "50%"), ([0.25, 0.75], "50% (25% to 75%)")]
)
def test_samples_are_told_with_their_ends(values: list[float], text: str) -> None:
    assert across(Spread.of(values), percent_of) == text


def test_missing_values_are_left_out_of_a_sample() -> None:
    assert Spread.of_known(pd.Series([None, 1.0, np.nan], dtype=float)) == Spread.of([1.0])
    assert Spread.of_known(pd.Series([None, np.nan], dtype=float)) is None
