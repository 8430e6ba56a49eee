"""Sentences of each section have the frames' own numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.data import Findings
from orchestrator.report.sections import NOTHING, NOTHING_YET, SECTIONS, shown_of
from orchestrator.report.sections.calibration import false_positives
from orchestrator.report.sections.detection import parts_of
from orchestrator.report.sections.free_forgery import free_answer
from orchestrator.report.sections.section import Grade
from orchestrator.report.wording import across, p_value, p_value_of_log10, percent_of, signed, times
from tests.orchestrator.report.conftest import MakeCampaign
from tests.report_page import Page

_BY_CHANCE = "\N{LESS-THAN OR EQUAL TO} 0.05 by chance (false claims)"


def _said(findings: Findings, topic: str) -> str:
    """Return what the summary says of a topic, from its section alone."""
    title = {"Embedded": "Accuracy", "Cost in accuracy": "Accuracy"}
    (section,) = [one for one in SECTIONS if one.title == title.get(topic, topic)]
    return dict(shown_of(section, findings).headline)[topic]


def test_texts_of_numbers_are_their_values_rounded(paper_page: Page) -> None:
    for cell in (
        cell for row in paper_page.tables["accuracy-table"][1:] for cell in row if cell.value is not None
    ):
        text = cell.text.replace("\N{MINUS SIGN}", "-").replace(",", "")
        if text.endswith("%"):
            assert float(text[:-1]) == pytest.approx(100 * cell.value, abs=0.0051)
        else:
            assert float(text) == pytest.approx(cell.value, abs=0.0051)


def test_undecided_queries_are_counted_first_of_all(paper: Findings, paper_page: Page) -> None:
    frame = paper.frame("forgery")
    undecided = int(frame[["timeout", "memout", "error"]].to_numpy().sum())
    assert f"{undecided} of {frame['instances'].sum()} forgery queries have no decision" in paper_page.text


def test_counted_false_positives_are_next_to_p_values(attacked_page: Page, attacked: Findings) -> None:
    def counts(name: str) -> str | None:
        return false_positives(attacked.frame("calibration"), name)

    verification = attacked_page.table("verification-table")[f"p-value {_BY_CHANCE}"]
    assert set(verification) == {counts("verify: votes")}
    by_strategy = attacked_page.table("detection-table").set_index(["Measure", "Strategy"]).sort_index()
    strategies = by_strategy[f"Exact p {_BY_CHANCE}"]
    assert set(strategies["depth", "A"]) == {counts("detect: depth A exact")}
    assert str(strategies["depth", "A"].iloc[0]) == "20 of 20 (honest), 0 of 20 (other owners): too many"
    assert set(strategies["depth", "B"]) == {"\N{EN DASH}"}, "it was not counted"
    guesses = attacked_page.table("guesses-table").set_index("Measure")[f"p of the ranking {_BY_CHANCE}"]
    assert set(guesses["spectrum, sample"]) == {counts("detect: spectrum")}
    assert set(guesses["spectrum, leaf-probe"]) == {"\N{EN DASH}"}
    presence = attacked_page.table("presence-table").set_index("Statistic")[
        f"p, adjusted for all {_BY_CHANCE}"
    ]
    assert set(presence["all together"]) == {counts("presence: maximum")}
    assert set(presence["mean leaves"]) == {counts("presence: Holm")}
    assert f"p of an alignment: {counts('verify: aligned')}" in attacked_page.text


def test_caveats_come_first(attacked_page: Page, attacked: Findings) -> None:
    open_ended = attacked.frame("distances")["status"].isin(["timeout", "memout", "error"]).sum()
    first, total = (
        attacked_page.text[: attacked_page.text.index("planned watermark")],
        len(attacked.frame("distances")),
    )
    assert f"{open_ended} of {total} searches for a smallest distance have no decision" in first
    assert "detect: depth A exact (honest: 20 of 20 at or below 0.05, that is 100.0%, 95% interval" in first


def test_half_done_calibration_counts_what_is_missing(attacked: Findings) -> None:
    half = attacked.with_frames(calibration=attacked.frame("calibration").assign(trials=10))
    sizes = "10 of 20 (honest), 10 of 20 (other owners) and 10 of 20 (presence)"
    assert f"on false claims against {sizes}" in _said(half, "Calibration")


def test_what_was_embedded_and_verified(paper: Findings) -> None:
    said, frame = _said(paper, "Embedded"), paper.frame("accuracy")
    assert "12 of 12 planned watermarks on data set breast-cancer (398 training and 171" in said
    assert "trigger sets of 4 to 8 rows (1% and 2% of the training rows)" in said
    said = _said(paper, "Verification")
    assert "In 12 of 12 watermarked forests every bit matches" in said
    assert f"weakest evidence is p = {p_value_of_log10(frame['log10_p'].max())}" in said
    significant = int((frame["log10_p"] <= -6).sum())
    assert (
        f"; {significant} of 12 claims are significant (p \N{LESS-THAN OR EQUAL TO} {p_value(1e-6)}); "
        in said
    )
    assert f"smallest p = {p_value_of_log10(frame['log10_p_standard'].min())}" in said


def test_forest_that_misses_a_bit_is_not_counted_as_matching(paper: Findings) -> None:
    frame = paper.frame("accuracy").copy()
    frame.loc[0, "matched_bits"] -= 1
    assert "In 11 of 12 watermarked forests" in _said(paper.with_frames(accuracy=frame), "Verification")


def test_matching_bits_are_no_verdict(small: Findings) -> None:
    """The headline "Verified" stood beside a card that said that no claim is."""
    for log10_p, verdict in ((-3.0, "not significant"), (-9.0, "significant")):
        claims = small.frame("accuracy").assign(log10_p=log10_p)
        said = _said(small.with_frames(accuracy=claims), "Verification")
        assert f" bits match, p = {p_value_of_log10(log10_p)}: {verdict} (p " in said


def test_cost_is_the_mean_difference(paper: Findings) -> None:
    frame = paper.frame("accuracy")
    for name in ("standard", "capped"):
        difference = 100 * (frame["accuracy_watermarked"] - frame[f"accuracy_{name}"]).mean()
        assert f"{signed(difference)} points against the {name} forest" in _said(paper, "Cost in accuracy")


def test_best_guess_is_corrected_for_the_number_of_guesses(paper: Findings) -> None:
    frame, said = paper.frame("detection"), _said(paper, "Detection")
    best = frame.sort_values("p_value_exact").iloc[0]
    assert f"reads {best['correct']} of 20 bits right" in said
    assert f"best of {len(frame)} guesses" in said
    assert said.endswith(f"p = {p_value(min(1.0, len(frame) * best['p_value_exact']))}.")


def test_of_guesses_with_one_exact_p_the_smaller_other_p_is_the_strongest(paper: Findings) -> None:
    """It was the first, which may have guessed nothing."""
    frame = paper.frame("detection").assign(p_value_exact=1.0, p_value=1.0, correct=0, wrong=0, uncertain=20)
    place = frame.index[5]
    frame.loc[place, ["p_value", "correct", "uncertain"]] = [0.25, 12, 8]
    said = _said(paper.with_frames(detection=frame), "Detection")
    assert "reads 12 of 20 bits right, 0 wrong and leaves 8 open: p = 0.250, exact 1.000." in said


def test_forgery_names_the_most_successful_signature(paper: Findings) -> None:
    frame, said = paper.frame("forgery"), _said(paper, "Forgery")
    for engine, part in frame.groupby("engine"):
        share = (part["forged"] / part["trigger_size"].astype(float)).max()
        undecided = part[["timeout", "memout", "error"]].to_numpy().sum()
        assert f"Engine {engine}: the most successful of 9 signatures" in said
        assert f"({share:.0%})" in said
        assert f"{undecided} of {part['instances'].sum()} queries undecided" in said


def test_suppression_gives_the_range_over_configurations(paper: Findings) -> None:
    frame, said = paper.frame("suppression"), _said(paper, "Suppression")
    means = frame.groupby(["method", "trigger_share", "ones_share"])["auc"].mean()
    for method in frame["method"].unique():
        low, high = np.min(means[method]), np.max(means[method])
        assert f"(AUC {low:.3f} to {high:.3f})" in said


def test_missing_parts_are_distinguished_from_those_not_asked_for(make_campaign: MakeCampaign) -> None:
    made = make_campaign(unfinished=frozenset({"detection"}))
    assert _said(made.findings, "Detection") == NOTHING_YET
    assert NOTHING_YET not in _said(made.findings, "Suppression")
    without = made.findings.with_frames(suppression=made.findings.frame("suppression")[:0])
    assert _said(without, "Suppression") == NOTHING


def test_bits_are_counted_where_schemes_have_them(paper: Findings) -> None:
    frame = paper.frame("accuracy")
    assert "every bit matches" in _said(paper, "Verification")
    for scheme in ("lineup", "boosted"):
        other = _said(paper.with_frames(accuracy=frame.assign(scheme=scheme)), "Verification")
        assert "every bit matches" not in other
        assert f" of {len(frame)} claims are significant" in other


def test_leakage_gives_each_form_with_its_interval(attacked: Findings) -> None:
    said, frame = _said(attacked, "Leakage"), attacked.frame("leakage")
    trained = frame[frame["form"] == "as trained"].drop_duplicates(["trigger_share", "repeat"])
    assert "As trained, a secret leaks from 6 of 6 files (95% interval 54% to 100%)" in said
    assert "the right number of trigger rows in 3 of 6 files" in said, "the file tells 8, true is 4 or 8"
    assert f"they give {across(trained['bits'], percent_of)} of the signature" in said
    found, others = trained["triggers_found"].sum(), trained["others_found"].sum()
    assert f"mark {found} of 36 trigger rows and {others} others" in said
    assert "As released, a secret leaks from 0 of 6 files (95% interval 0% to 46%)." in said
    assert "From the honest control, a secret leaks from 0 of 6 files" in said


def test_detection_beyond_the_paper_is_corrected_for_all_tests(attacked: Findings) -> None:
    said, frame = _said(attacked, "Detection"), parts_of(attacked.frame("detection"))[1]
    best = frame.loc[frame["p_value_exact"].idxmin()]
    own = frame[frame["measure"] == best["measure"]]
    guessed = across(own["bits"].dropna(), percent_of)
    assert f"Beyond the paper, {best['measure']} is the strongest: it guesses {guessed} of the bits" in said
    assert f"with AUC {own['auc'].mean():.3f} (" in said
    assert "unrelated guesses get 58.8%" in said
    corrected = p_value(min(1.0, len(frame) * best["p_value_exact"]))
    assert f"corrected for {len(frame)} tests (Bonferroni), is {corrected}." in said
    overall = parts_of(attacked.frame("detection"))[2][
        parts_of(attacked.frame("detection"))[2]["measure"] == "presence"
    ]["p_value"]
    stands_out = times(int((overall <= 0.05).sum()), 6, "watermarked forest")
    assert f"against 19 honest forests, p \N{LESS-THAN OR EQUAL TO} 0.05 in {stands_out}" in said
    assert said.endswith("so few honest forests allow none below 0.050).")


def test_files_that_give_no_number_of_trigger_rows(attacked: Findings) -> None:
    """Training per-tree writes none: it was printed as <NA>."""
    frame = attacked.frame("leakage")
    none = frame.assign(trigger_size=pd.array([pd.NA] * len(frame), dtype="Int64"), bits=np.nan)
    said = _said(attacked.with_frames(leakage=none), "Leakage")
    assert "they give no bit of the signature, no number of trigger rows, and mark" in said


def test_engine_that_forges_nothing(paper: Findings) -> None:
    """It was "forges 0 of 4 (0%), first at eps 0.1"."""
    frame = paper.frame("forgery")
    none = frame.assign(impossible=frame["impossible"] + frame["forged"], forged=0)
    said = _said(paper.with_frames(forgery=none), "Forgery")
    assert "Engine sat: none of 9 signatures forges any instance, at eps 0.1 to 0.5;" in said
    assert "forges 0" not in said


def test_suppression_gives_filter_and_budget(attacked: Findings) -> None:
    said, frame = _said(attacked, "Suppression"), attacked.frame("suppression")
    # All queries at once may tell more, as the filter's table says.
    assert (
        " In the mean over random orders of the queries, at least 99% of the signature is known by " in said
    )
    for method, part in frame.groupby("method"):
        after = across(part["log10_p_after"], p_value_of_log10, "median")
        assert f"{method} leaves p = {after} and touches " in said
        curves = attacked.frame("budget-curves")[attacked.frame("budget-curves")["method"] == method]
        needed = curves[curves["bits"] >= 0.99].groupby(["trigger_share", "repeat"])["trigger_queries"].min()
        known = times(len(needed), 6, "forest")
        mean = f"{needed.mean():.0f}" if float(needed.mean()).is_integer() else f"{needed.mean():.2f}"
        assert f"{method} in {known}, after {mean}" in said


def test_one_trigger_query_is_no_queries(attacked: Findings) -> None:
    at_once = attacked.frame("budget-curves").assign(bits=1.0)
    said = _said(attacked.with_frames(budget_curves=at_once), "Suppression")
    assert "after 1 trigger query" in said
    assert "after 1 trigger queries" not in said


def test_method_that_never_knows_the_signature(attacked: Findings) -> None:
    low = attacked.frame("budget-curves").assign(bits=0.9)
    said = _said(attacked.with_frames(budget_curves=low), "Suppression")
    assert "repeats in 0 of 6 forests (95% interval 0% to 46%) and shadow" in said
    assert "trigger queries and" not in said


def test_smallest_distances_count_signatures_that_reach_the_true_size(attacked: Findings) -> None:
    said, frame = _said(attacked, "Forgery"), attacked.frame("distances")
    known = frame.groupby(["trigger_share", "repeat", "signature"])["distance"].count()
    sizes = np.where(known.index.get_level_values("trigger_share") == 0.01, 4, 8)
    reached = int((known.to_numpy() >= sizes).sum())
    undecided = frame["status"].isin(["timeout", "memout", "error"]).sum()
    forged = (frame["status"] == "forged").sum()
    assert f"{forged} of {len(frame)} instances can be forged within eps 1, {undecided} undecided" in said
    assert f"its whole size for {times(reached, 24, 'signature')}" in said
    share = across(known.to_numpy() / sizes, percent_of)
    assert f"a signature's set reaches {share} of the true one's size" in said


def test_set_of_just_the_true_size_reaches_it(attacked: Findings) -> None:
    frame = attacked.frame("distances").assign(status="forged", distance=0.25)
    planned = attacked.frame("forgery")
    exactly = planned.assign(trigger_size=planned["instances"])
    said = _said(attacked.with_frames(distances=frame, forgery=exactly), "Forgery")
    assert "its whole size for 24 of 24 signatures" in said
    assert said.endswith("from eps 0.25 on.")


def test_refused_forgeries_are_no_good_news_where_true_claims_are_refused_too(attacked: Findings) -> None:
    frame, accuracy = attacked.frame("free-forgery"), attacked.frame("accuracy")
    frame = frame.assign(stopped_by="p-value")
    assert free_answer(frame, accuracy.assign(log10_p=-9.0)).grade is Grade.GOOD
    weak = free_answer(frame, accuracy.assign(log10_p=-5.0))
    assert weak.grade is Grade.OPEN
    assert f"; also not significant: {len(accuracy)} of {len(accuracy)} true claim" in weak.spread
    assert free_answer(frame.assign(stopped_by=""), accuracy).grade is Grade.BAD


def test_free_forgery_names_sets_that_only_the_commitment_stops(attacked: Findings) -> None:
    said, frame = _said(attacked, "Free forgery"), attacked.frame("free-forgery")
    largest = frame.loc[frame["size_over_k"].idxmax()]
    assert "Of 30 sets of 5 kinds, 24 have rows" in said
    assert f"the largest ({largest['method']}) is {largest['size_over_k']:.2f} times the true one" in said
    assert "Verification refuses 24 of these 24; the commitment alone stops 12 of them" in said
    assert said.endswith("(best pattern and recovered signature).")
    safe = frame.assign(stopped_but_for_commitment="p-value")
    assert "none depends on the commitment" in _said(attacked.with_frames(free_forgery=safe), "Free forgery")
    empty = _said(attacked.with_frames(free_forgery=frame.assign(size=0)), "Free forgery")
    assert empty == "None of 30 sets has any row: nothing was forged."


def test_robustness_names_the_cheapest_way_to_break_the_claim(attacked: Findings) -> None:
    frame = attacked.frame("modification")
    attacked = attacked.with_frames(accuracy=attacked.frame("accuracy").assign(log10_p=-9.0))
    said = _said(attacked, "Robustness")
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
    broken = _said(attacked.with_frames(modification=lost), "Robustness")
    assert "all of its runs (6) is noise at 0.1 (paper, 2% trigger rows, 50% ones), with" in broken
    assert f"{signed(-0.5)} points of accuracy. At no more than 1 point: 1 modification." in broken


def test_claim_that_one_run_keeps_is_not_broken(attacked: Findings) -> None:
    frame = attacked.frame("modification").assign(log10_p=-2.0, log10_p_shares=-2.0)
    frame.loc[frame["attempt"] == 0, "log10_p_shares"] = -7.0
    said = _said(attacked.with_frames(modification=frame), "Robustness")
    assert said.endswith("None brings both p-values above that in all of its runs.")


def test_runs_on_forests_without_evidence_are_no_losses(attacked: Findings) -> None:
    claims = attacked.frame("accuracy")
    claims = claims.assign(log10_p=np.where(claims["trigger_share"] == 0.02, -9.0, -2.9))
    changed = attacked.frame("modification").assign(log10_p=-2.0, log10_p_shares=-2.0)
    said = _said(attacked.with_frames(accuracy=claims, modification=changed), "Robustness")
    assert f" in 0 of the {len(changed) // 2} on forests that had such evidence." in said
    assert "(paper, 2% trigger rows, 50% ones)" in said
    weak = attacked.with_frames(accuracy=claims.assign(log10_p=-2.9), modification=changed)
    assert _said(weak, "Robustness").endswith("before: there is none to lose.")
    # Vote shares may tell where votes do not.
    told = changed["repeat"].eq(0) & changed["attempt"].eq(0)
    changed = changed.assign(log10_p_shares=changed["log10_p_shares"].mask(told, -7.0))
    said = _said(weak.with_frames(modification=changed), "Robustness")
    assert f" in {told.sum()} of the {len(changed) // 3} on forests that had such evidence." in said


def test_calibration_names_anti_conservative_p_values(attacked: Findings) -> None:
    said, frame = _said(attacked, "Calibration"), attacked.frame("calibration")
    assert "7 p-values on false claims against 20 (honest), 20 (other owners) and 20 (presence)" in said
    assert "anti-conservative: detect: depth A exact." in said
    assert "leaves rates of up to 16.8% open: so few forests cannot confirm level 0.001." in said
    calm = frame[frame["p_value"] == "verify: votes"]
    text = _said(attacked.with_frames(calibration=calm), "Calibration")
    assert "no rate is above its level beyond what chance explains" in text
