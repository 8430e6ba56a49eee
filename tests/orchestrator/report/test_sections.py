"""Tables and sentences of each section have the frames' own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.data import Findings
from orchestrator.report.page import report_html
from orchestrator.report.sections import SECTIONS, shown_of
from orchestrator.report.sections.calibration import false_positives
from orchestrator.report.sections.detection import parts_of
from orchestrator.report.wording import across, p_value, p_value_of_log10, percent_of, signed, times
from tests.report_page import Page, assert_column, assert_spread

_CONFIGURATION = ["scheme", "trigger_share", "ones_share"]
_BY_CHANCE = "\N{LESS-THAN OR EQUAL TO} 0.05 by chance (false claims)"
_NAMES = ("accuracy", "detection", "suppression", "forgery")


@pytest.fixture(autouse=True, scope="module")
def _undrawn() -> Any:
    """Draw no charts: they take most of a page's time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("orchestrator.report.page.render", lambda *_, **__: b"<svg></svg>")
        yield


@dataclass(frozen=True)
class _Whole:
    page: Page
    frames: dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def whole(make_campaign: Callable[..., Any]) -> _Whole:
    made = make_campaign()
    found = Findings(made.store, made.record)
    return _Whole(Page(report_html(found)), {name: found.frame(name) for name in _NAMES})


@pytest.fixture(scope="module")
def page(attacked: Findings) -> Page:
    return Page(report_html(attacked))


@pytest.fixture(scope="module")
def made_up(make_campaign: Callable[..., Any]) -> Findings:
    made = make_campaign()
    return Findings(made.store, made.record)


class _Said(dict[str, str]):
    """What the summary says of a topic, of its section alone."""

    def __init__(self, findings: Findings) -> None:
        super().__init__()
        self.findings = findings

    def __missing__(self, topic: str) -> str:
        title = {"Embedded": "Accuracy", "Cost in accuracy": "Accuracy", "Verified": "Verification"}
        (section,) = [one for one in SECTIONS if one.title == title.get(topic, topic)]
        return dict(shown_of(section, self.findings).headline)[topic]


_said = _Said


def test_accuracy_table_is_the_frame_summed_up(whole: _Whole) -> None:
    frame, shown = whole.frames["accuracy"], whole.page.table("accuracy-table")
    groups = frame.groupby(_CONFIGURATION)
    assert len(shown) == len(groups) == 4
    for title in ("standard", "capped", "watermarked"):
        column = groups[f"accuracy_{title}"]
        assert_column(shown[f"{title.capitalize()} (mean, %)"], column.mean())
        assert_column(shown[f"{title.capitalize()} (sd, points)"], 100 * column.std())
    for baseline in ("standard", "capped"):
        points = 100 * (frame["accuracy_watermarked"] - frame[f"accuracy_{baseline}"])
        by = points.groupby([frame[name] for name in _CONFIGURATION])
        assert_column(shown[f"Minus {baseline} (mean, points)"], by.mean())
        assert_column(shown[f"Minus {baseline} (sd, points)"], by.std())
    assert_column(shown["n (repeats)"], groups.size())
    assert_column(shown["Trigger rows"], groups["trigger_size"].first())
    assert_column(shown["Rounds (mean)"], groups["rounds"].mean())
    assert_column(shown["Embedding (s, mean)"], groups["seconds"].mean())


def test_every_embedding_and_its_evidence_are_the_frame(whole: _Whole) -> None:
    frame = whole.frames["accuracy"]
    embeddings, evidence = whole.page.table("embeddings-table"), whole.page.table("verification-table")
    columns = {
        "Trigger share": "trigger_share",
        "Ones share": "ones_share",
        "Repeat": "repeat",
        "Watermarked": "accuracy_watermarked",
        "Standard": "accuracy_standard",
        "Capped": "accuracy_capped",
        "Watermarked, mean rule": "accuracy_watermarked_mean_rule",
        "Standard, mean rule": "accuracy_standard_mean_rule",
        "Trees": "n_estimators",
        "Depth, tuned or given": "max_depth",
        "Depth limit": "cap_depth",
        "Leaves limit": "cap_leaves",
        "Rounds, right trees": "rounds_right",
        "Rounds, wrong trees": "rounds_wrong",
        "Weight, right trees": "weight_right",
        "Weight, wrong trees": "weight_wrong",
        "Embedding (s)": "seconds",
    }
    assert set(embeddings.columns) == {"Scheme", *columns}
    for title, name in columns.items():
        assert_column(embeddings[title], frame[name])
    for title, name in {
        "Repeat": "repeat",
        "Trigger rows": "trigger_size",
        "Bits matched": "matched_bits",
        "Bits in all": "total_bits",
        "p-value": "log10_p",
        "p-value, honest standard forest": "log10_p_standard",
    }.items():
        assert_column(evidence[title], frame[name])


def test_detection_tables_are_the_frame(whole: _Whole) -> None:
    frame = whole.frames["detection"]
    single, shown = whole.page.table("detections-table"), whole.page.table("detection-table")
    for title, name in {
        "Mean of measure": "mean",
        "sd of measure": "std",
        "Correct": "correct",
        "Wrong": "wrong",
        "Uncertain": "uncertain",
        "p": "p_value",
        "Exact p": "p_value_exact",
    }.items():
        assert_column(single[title], frame[name])
    groups = frame.groupby([*_CONFIGURATION, "measure", "strategy"])
    assert len(shown) == len(groups) == 16
    for name in ("correct", "wrong", "uncertain"):
        assert_column(shown[f"{name.capitalize()} (mean)"], groups[name].mean())
    for title, name in (("p", "p_value"), ("Exact p", "p_value_exact")):
        assert_column(shown[f"{title} (median)"], groups[name].median())
        assert_column(shown[f"{title} (min)"], groups[name].min())


def test_suppression_table_is_the_frame_summed_up(whole: _Whole) -> None:
    shown = whole.page.table("suppression-table")
    groups = whole.frames["suppression"].groupby([*_CONFIGURATION, "method"])
    assert len(shown) == len(groups) == 8
    for title, name in (("AUC", "auc"), ("Spotted at 1% FPR", "tpr_at_1pct_fpr")):
        assert_spread(whole.page, "suppression-table", title, groups[name])


def test_forgery_tables_are_the_frame(whole: _Whole) -> None:
    frame, shown = whole.frames["forgery"], whole.page.table("forgery-table")
    groups = frame.groupby([*_CONFIGURATION, "engine", "eps"])
    assert len(shown) == len(groups) == 8
    forged = groups["forged"]
    assert_column(shown["Forged (mean)"], forged.mean())
    assert_column(shown["Forged (sd)"], forged.std())
    assert_column(shown["Forged (median)"], forged.median())
    assert_column(shown["Forged (max)"], forged.max())
    true_size = groups["trigger_size"].first().astype(float)
    assert_column(shown["True size"], true_size)
    assert_column(shown["Mean (% of true size)"], forged.mean() / true_size)
    assert_column(shown["Max (% of true size)"], forged.max() / true_size)
    assert_column(shown["Signatures"], groups["signature"].nunique())
    assert_column(shown["Repeats"], groups["repeat"].nunique())
    queries = whole.page.table("queries-table")
    assert_column(queries["Queries"], groups["instances"].sum())
    for name in ("forged", "impossible", "timeout", "memout", "error"):
        assert_column(queries[name], groups[name].sum())
    assert (queries["pending"] == 0).all()
    assert_column(
        shown["Mean if all undecided were forged"],
        (frame["instances"] - frame["impossible"]).groupby([frame[c] for c in groups.keys]).mean(),
    )
    assert_column(queries["Followed from another eps"], groups["followed"].sum())
    assert_column(queries["Solving (s, total)"], groups["seconds"].sum())
    assert_column(queries["Solving of a signature (s, median)"], groups["seconds"].median())

    undecided = frame[frame[["timeout", "memout", "error"]].sum(axis=1) > 0]
    listed = whole.page.table("undecided-table")
    assert len(listed) == len(undecided) > 0
    for title, name in {
        "Repeat": "repeat",
        "eps": "eps",
        "Signature": "signature",
        "Queries": "instances",
        "timeout": "timeout",
        "memout": "memout",
        "error": "error",
        "Slowest (s)": "slowest_seconds",
    }.items():
        assert_column(listed[title], undecided[name])


def test_texts_of_numbers_are_their_values_rounded(whole: _Whole) -> None:
    for cell in (
        cell for row in whole.page.tables["accuracy-table"][1:] for cell in row if cell.value is not None
    ):
        text = cell.text.replace("\N{MINUS SIGN}", "-").replace(",", "")
        if text.endswith("%"):
            assert float(text[:-1]) == pytest.approx(100 * cell.value, abs=0.0051)
        else:
            assert float(text) == pytest.approx(cell.value, abs=0.0051)


def test_undecided_queries_are_counted_first_of_all(whole: _Whole) -> None:
    frame = whole.frames["forgery"]
    undecided = int(frame[["timeout", "memout", "error"]].to_numpy().sum())
    assert f"{undecided} of {frame['instances'].sum()} forgery queries have no decision" in whole.page.text


def test_leakage_tables_are_the_frame(page: Page, attacked: Findings) -> None:
    each = attacked.frame("leakage").drop_duplicates([*_CONFIGURATION, "repeat", "form"])
    groups = each.groupby([*_CONFIGURATION, "form"], sort=False)
    shown = page.table("leakage-table")
    assert len(shown) == len(groups) == 6
    assert_column(shown["Forests"], groups.size())
    assert_spread(page, "leakage-table", "Trigger rows found", groups["triggers_found"])
    assert_spread(page, "leakage-table", "Others marked", groups["others_found"])
    trained = each[each["form"] == "as trained"].groupby(_CONFIGURATION)
    given = page.spread("leakage-table", "Bits given (mean; min to max)").dropna()
    assert_column(given["middle"], trained["bits"].mean())
    assert set(shown["Form"]) == {"as trained", "released", "standard (honest control)"}
    findings = page.table("findings-table")
    assert "root-weights on as trained <b>says</b>" in set(findings["What it says (first such forest)"])
    assert set(findings["How to prevent it"]) == {"scrub it", "\N{EN DASH}"}


def test_guesses_and_presence_are_the_frame(page: Page, attacked: Findings) -> None:
    for strategy, columns in (
        ("median split", (("Bits guessed", "bits", "mean"), ("p of the guess", "p_value_exact", "median"))),
        ("ranking", (("AUC", "auc", "mean"), ("p of the ranking", "p_value_exact", "median"))),
    ):
        rows = parts_of(attacked.frame("detection"))[1][
            parts_of(attacked.frame("detection"))[1]["strategy"] == strategy
        ]
        groups = rows.groupby([*_CONFIGURATION, "measure"], sort=False)
        for title, name, centre in columns:
            assert_spread(page, "guesses-table", title, groups[name], centre)
    assert set(page.table("guesses-table")["Unrelated guess (mean)"].round(9)) == {0.588}
    groups = parts_of(attacked.frame("detection"))[2].groupby([*_CONFIGURATION, "measure"], sort=False)
    assert_spread(page, "presence-table", "p", groups["p_value"], "median")
    assert_spread(page, "presence-table", "p, adjusted for all", groups["p_value_exact"], "median")
    statistics = page.table("presence-table")["Statistic"].tolist()
    assert statistics[:3] == ["all together", "spectrum strength", "mean leaves"]


def test_filter_and_budget_are_the_frame(page: Page, attacked: Findings) -> None:
    groups = attacked.frame("suppression").groupby([*_CONFIGURATION, "method"])
    for title, name, centre in (
        ("Triggers spotted", "triggers_spotted", "mean"),
        ("Ordinary queries touched", "ordinary_touched", "mean"),
        ("Ordinary votes changed", "ordinary_votes_changed", "mean"),
        ("p before", "log10_p_before", "median"),
        ("p after", "log10_p_after", "median"),
    ):
        assert_spread(page, "filter-table", title, groups[name], centre)
    shown = page.table("filter-table")
    assert_column(shown["Forests with queries spotted"], groups["bits"].count())
    budget, points = page.table("budget-table"), attacked.frame("budget-curves")
    groups = points.groupby([*_CONFIGURATION, "method", "trigger_queries"])
    assert len(budget) == len(groups) == 48
    assert_column(budget["Bits known (mean)"], groups["bits"].mean())
    assert_column(budget["Bits known, any order (min)"], groups["low"].min())
    assert_column(budget["Bits known, any order (max)"], groups["high"].max())


def test_sizes_at_every_eps_are_counts_of_the_frame(page: Page, attacked: Findings) -> None:
    shown = page.table("sizes-table")
    frame = attacked.frame("distances")
    assert shown["eps"].tolist() == [step / 10 for step in range(11)] * 2
    spreads = page.spread("sizes-table", "Forged (mean; min to max)")
    at = iter(zip(shown["eps"], spreads.itertuples(index=False), strict=True))
    for _, part in frame.groupby(_CONFIGURATION):
        for _ in range(11):
            eps, found = next(at)
            counts = part.groupby(["repeat", "signature"])["distance"].apply(
                lambda least, eps=eps: int((least <= eps).sum())
            )
            assert tuple(found) == (pytest.approx(counts.mean()), counts.min(), counts.max())
    searches = page.table("distances-table")
    by = frame.groupby(_CONFIGURATION)["status"]
    for title, statuses in (
        ("Smallest distance found", ["forged"]),
        ("Impossible at any", ["impossible"]),
        ("Stopped by a limit", ["timeout", "memout", "error"]),
    ):
        assert_column(searches[title], by.apply(lambda status, of=statuses: status.isin(of).sum()))


def test_free_forgery_table_names_the_rules(page: Page, attacked: Findings) -> None:
    shown = page.table("rules-table").set_index("Forged set").iloc[:5]
    stopped, late = (shown[title] for title in ("Stopped by", "Stopped by, had it been committed in time"))
    assert stopped["all zeros"] == "commitment, quota of ones and p-value"
    assert late["all zeros"] == "quota of ones and p-value"
    assert (stopped["best pattern"], late["best pattern"]) == ("commitment", "no rule: it stands")
    assert late["clones"] == "distinct cells"
    assert stopped["local search"] == late["local search"] == "empty: no claim"
    groups = attacked.frame("free-forgery").groupby([*_CONFIGURATION, "method"], sort=False)
    for title, name in (("Size / k", "size_over_k"), ("Size", "size"), ("Distinct cells", "distinct_cells")):
        assert_spread(page, "rules-table" if "/" in title else "free-forgery-table", title, groups[name])


def test_robustness_table_is_the_frame(page: Page, attacked: Findings) -> None:
    groups = (
        attacked.frame("modification")
        .assign(points=100 * attacked.frame("modification")["accuracy_change"])
        .groupby([*_CONFIGURATION, "modification", "strengths"], sort=False)
    )
    for title, name, centre in (
        ("Accuracy change, points", "points", "mean"),
        ("Fidelity", "fidelity", "mean"),
        ("Bits", "bits", "mean"),
        ("p, votes", "log10_p", "median"),
        ("p, vote shares", "log10_p_shares", "median"),
    ):
        assert_spread(page, "modification-table", title, groups[name], centre)
    shown = page.table("modification-table")
    assert_column(shown["Exact matches"], groups["exact_match"].sum())
    assert set(shown["n (forests)"]) == {6}


def test_calibration_table_is_the_frame(page: Page, attacked: Findings) -> None:
    shown, frame = page.table("calibration-table"), attacked.frame("calibration")
    for title, name in {
        "Level": "level",
        "False positives": "hits",
        "False claims": "trials",
        "Rate": "rate",
        "95% interval from": "low",
        "to": "high",
    }.items():
        assert_column(shown[title], frame[name])
    assert (shown["Anti-conservative"] == np.where(frame["anti_conservative"], "yes", "no")).all()


def test_counted_false_positives_stand_beside_p_values(page: Page, attacked: Findings) -> None:
    def counts(name: str) -> str | None:
        return false_positives(attacked.frame("calibration"), name)

    verification = page.table("verification-table")[f"p-value {_BY_CHANCE}"]
    assert set(verification) == {counts("verify: votes")}
    strategies = page.table("detection-table").set_index(["Measure", "Strategy"])[f"Exact p {_BY_CHANCE}"]
    assert set(strategies["depth", "A"]) == {counts("detect: depth A exact")}
    assert str(strategies["depth", "A"].iloc[0]) == "20 of 20 (honest), 0 of 20 (other owners): too many"
    assert set(strategies["depth", "B"]) == {"\N{EN DASH}"}, "it was not counted"
    guesses = page.table("guesses-table").set_index("Measure")[f"p of the ranking {_BY_CHANCE}"]
    assert set(guesses["spectrum, sample"]) == {counts("detect: spectrum")}
    assert set(guesses["spectrum, leaf-probe"]) == {"\N{EN DASH}"}
    presence = page.table("presence-table").set_index("Statistic")[f"p, adjusted for all {_BY_CHANCE}"]
    assert set(presence["all together"]) == {counts("presence: maximum")}
    assert set(presence["mean leaves"]) == {counts("presence: Holm")}
    assert f"p of an alignment: {counts('verify: aligned')}" in page.text


def test_what_to_know_first_is_said_first(page: Page, attacked: Findings) -> None:
    open_ended = attacked.frame("distances")["status"].isin(["timeout", "memout", "error"]).sum()
    first, total = page.text[: page.text.index("Embedded")], len(attacked.frame("distances"))
    assert f"{open_ended} of {total} searches for a smallest distance have no decision" in first
    assert "detect: depth A exact (honest: 20 of 20 at or below 0.05, that is 100.0%, 95% interval" in first


def test_half_done_calibration_counts_what_is_missing(attacked: Findings) -> None:
    half = attacked.frame("calibration").assign(trials=10)
    text = Page(report_html(attacked.with_frames(calibration=half))).text
    assert (
        "on false claims against 10 of 20 (honest), 10 of 20 (other owners) and 10 of 20 (presence)" in text
    )


def test_single_repeat_and_try_are_said_to_have_no_spread(make_attacked: Callable[..., Any]) -> None:
    made = make_attacked(repeats=1, is_small=True)
    findings = Findings(made.store, made.record)
    one_try = findings.frame("modification")[findings.frame("modification")["attempt"] == 0]
    page = Page(report_html(findings.with_frames(modification=one_try)))
    assert page.text.count("One repeat only: there is no spread over seeds.") == 1
    assert "One repeat and one try: there is no spread." in page.text
    for name in ("leakage-table", "guesses-table", "filter-table", "modification-table"):
        assert not [title for title in page.table(name).columns if "min to max" in title]


def test_what_was_embedded_and_verified(made_up: Findings) -> None:
    said, frame = _said(made_up), made_up.frame("accuracy")
    assert "12 of 12 planned watermarks on data set breast-cancer (398 training and 171" in said["Embedded"]
    assert "trigger sets of 4 to 8 rows (1% and 2% of the training rows)" in said["Embedded"]
    assert "In 12 of 12 watermarked forests every bit matches" in said["Verified"]
    assert f"weakest evidence is p = {p_value_of_log10(frame['log10_p'].max())}" in said["Verified"]
    assert f"smallest p = {p_value_of_log10(frame['log10_p_standard'].min())}" in said["Verified"]


def test_forest_that_misses_a_bit_is_not_counted_as_matching(made_up: Findings) -> None:
    frame = made_up.frame("accuracy").copy()
    frame.loc[0, "matched_bits"] -= 1
    assert "In 11 of 12 watermarked forests" in _said(made_up.with_frames(accuracy=frame))["Verified"]


def test_cost_is_the_mean_difference(made_up: Findings) -> None:
    frame = made_up.frame("accuracy")
    for name in ("standard", "capped"):
        difference = 100 * (frame["accuracy_watermarked"] - frame[f"accuracy_{name}"]).mean()
        assert f"{signed(difference)} points against the {name} forest" in _said(made_up)["Cost in accuracy"]


def test_best_guess_is_corrected_for_the_number_of_guesses(made_up: Findings) -> None:
    frame, said = made_up.frame("detection"), _said(made_up)["Detection"]
    best = frame.sort_values("p_value_exact").iloc[0]
    assert f"reads {best['correct']} of 20 bits right" in said
    assert f"best of {len(frame)} guesses" in said
    assert said.endswith(f"p = {p_value(min(1.0, len(frame) * best['p_value_exact']))}.")


def test_forgery_names_the_most_successful_signature(made_up: Findings) -> None:
    frame, said = made_up.frame("forgery"), _said(made_up)["Forgery"]
    for engine, part in frame.groupby("engine"):
        share = (part["forged"] / part["trigger_size"].astype(float)).max()
        undecided = part[["timeout", "memout", "error"]].to_numpy().sum()
        assert f"Engine {engine}: the most successful of 9 signatures" in said
        assert f"({share:.0%})" in said
        assert f"{undecided} of {part['instances'].sum()} queries undecided" in said


def test_suppression_gives_the_range_over_configurations(made_up: Findings) -> None:
    frame, said = made_up.frame("suppression"), _said(made_up)["Suppression"]
    means = frame.groupby(["method", "trigger_share", "ones_share"])["auc"].mean()
    for method in frame["method"].unique():
        low, high = np.min(means[method]), np.max(means[method])
        assert f"(AUC {low:.3f} to {high:.3f})" in said


def test_missing_parts_are_told_apart_from_those_not_asked_for(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(unfinished=frozenset({"detection"}))
    said = _said(Findings(made.store, made.record))
    assert said["Detection"] == "No such job has a result yet."
    assert "Nothing" not in said["Suppression"]


def test_leakage_tells_each_form_and_how_sure_that_is(attacked: Findings) -> None:
    said, frame = _said(attacked)["Leakage"], attacked.frame("leakage")
    trained = frame[frame["form"] == "as trained"].drop_duplicates(["trigger_share", "repeat"])
    assert "As trained, a secret leaks from 6 of 6 files (95% interval 54% to 100%)" in said
    assert "the right number of trigger rows in 3 of 6 files" in said, "the file tells 8, true is 4 or 8"
    assert f"they give {across(trained['bits'], percent_of)} of the signature" in said
    found, others = trained["triggers_found"].sum(), trained["others_found"].sum()
    assert f"mark {found} of 36 trigger rows and {others} others" in said
    assert "As released, a secret leaks from 0 of 6 files (95% interval 0% to 46%)." in said
    assert "From the honest control, a secret leaks from 0 of 6 files" in said


def test_detection_beyond_the_paper_is_corrected_for_all_that_was_tried(attacked: Findings) -> None:
    said, frame = _said(attacked)["Detection"], parts_of(attacked.frame("detection"))[1]
    best = frame.loc[frame["p_value_exact"].idxmin()]
    own = frame[frame["measure"] == best["measure"]]
    guessed = across(own["bits"].dropna(), percent_of)
    assert f"Beyond the paper, {best['measure']} says most: it guesses {guessed} of the bits" in said
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


def test_suppression_tells_of_filter_and_budget(attacked: Findings) -> None:
    said, frame = _said(attacked)["Suppression"], attacked.frame("suppression")
    for method, part in frame.groupby("method"):
        after = across(part["log10_p_after"], p_value_of_log10, "median")
        assert f"{method} leaves p = {after} and touches " in said
        curves = attacked.frame("budget-curves")[attacked.frame("budget-curves")["method"] == method]
        needed = curves[curves["bits"] >= 0.99].groupby(["trigger_share", "repeat"])["trigger_queries"].min()
        known = times(len(needed), 6, "forest")
        mean = f"{needed.mean():.0f}" if float(needed.mean()).is_integer() else f"{needed.mean():.2f}"
        assert f"{method} in {known}, after {mean}" in said


def test_method_that_never_knows_the_signature_is_said_not_to(attacked: Findings) -> None:
    low = attacked.frame("budget-curves").assign(bits=0.9)
    said = _said(attacked.with_frames(budget_curves=low))["Suppression"]
    assert "repeats in 0 of 6 forests (95% interval 0% to 46%) and shadow" in said
    assert "trigger queries and" not in said


def test_least_distances_tell_how_many_signatures_reach_the_true_size(attacked: Findings) -> None:
    said, frame = _said(attacked)["Forgery"], attacked.frame("distances")
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
    said = _said(attacked.with_frames(distances=frame, forgery=exactly))["Forgery"]
    assert "its whole size for 24 of 24 signatures" in said
    assert said.endswith("from eps 0.25 on.")


def test_free_forgery_tells_what_only_the_commitment_stops(attacked: Findings) -> None:
    said, frame = _said(attacked)["Free forgery"], attacked.frame("free-forgery")
    largest = frame.loc[frame["size_over_k"].idxmax()]
    assert "Of 30 sets of 5 kinds, 24 have rows" in said
    assert f"the largest ({largest['method']}) is {largest['size_over_k']:.2f} times the true one" in said
    assert "Verification refuses 24 of these 24; the commitment alone stops 12 of them" in said
    assert said.endswith("(best pattern and recovered signature).")
    safe = frame.assign(stopped_but_for_commitment="p-value")
    assert "none depends on the commitment" in _said(attacked.with_frames(free_forgery=safe))["Free forgery"]
    empty = _said(attacked.with_frames(free_forgery=frame.assign(size=0)))["Free forgery"]
    assert empty == "None of 30 sets has any row: nothing was forged."


def test_robustness_names_the_cheapest_way_to_break_the_claim(attacked: Findings) -> None:
    frame = attacked.frame("modification")
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
    told = _said(attacked.with_frames(modification=lost))["Robustness"]
    assert "all of its runs (6) is noise at 0.1 (paper, 2% trigger rows, 50% ones), with" in told
    assert f"{signed(-0.5)} points of accuracy. At no more than 1 point: 1 modification." in told


def test_claim_that_one_run_keeps_is_not_broken(attacked: Findings) -> None:
    frame = attacked.frame("modification").assign(log10_p=-2.0, log10_p_shares=-2.0)
    frame.loc[frame["attempt"] == 0, "log10_p_shares"] = -7.0
    said = _said(attacked.with_frames(modification=frame))["Robustness"]
    assert said.endswith("None brings both p-values above that in all of its runs.")


def test_calibration_calls_out_what_is_anti_conservative(attacked: Findings) -> None:
    said, frame = _said(attacked)["Calibration"], attacked.frame("calibration")
    assert "7 p-values on false claims against 20 (honest), 20 (other owners) and 20 (presence)" in said
    assert "anti-conservative: detect: depth A exact (honest: 20 of 20 at or below 0.05" in said
    assert "(other owners:" not in said
    assert "leaves rates of up to 16.8% open: so few forests cannot vouch for level 0.001." in said
    calm = frame[frame["p_value"] == "verify: votes"]
    text = _said(attacked.with_frames(calibration=calm))["Calibration"]
    assert "no rate is above its level beyond what chance explains" in text
