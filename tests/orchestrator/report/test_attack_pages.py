"""The page of a campaign of every attack: its sections, tables and words, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.report import tables
from orchestrator.report.calibrated import false_positives
from orchestrator.report.findings import Findings, gather
from orchestrator.report.headline import NOTHING_YET
from orchestrator.report.html import report_html
from orchestrator.report.sections import sections
from orchestrator.report.summaries import free_forgery_summaries
from orchestrator.store.tables import CampaignState
from tests.report_page import Page, assert_column, assert_spread
from workers.jobs import KINDS, JobKind

_CONFIGURATION = ["scheme", "trigger_share", "ones_share"]
_ATTACKS = [
    "leakage",
    "detection",
    "suppression",
    "forgery",
    "free-forgery",
    "modification",
    "calibration",
]
_KINDS = frozenset(KINDS) - {JobKind.SPLIT, JobKind.TUNE, JobKind.BASELINE, JobKind.EMBED}
_BY_CHANCE = "\N{LESS-THAN OR EQUAL TO} 0.05 by chance (false claims)"


@pytest.fixture(scope="module")
def page(attacked: Findings) -> Page:
    return Page(report_html(attacked))


def test_every_attack_has_its_section_in_order(page: Page) -> None:
    names = [str(section["id"]) for section in page.all_of("section")]
    shown = ["summary", "accuracy", "verification", *_ATTACKS, "troubles", "provenance", "reading"]
    assert names == shown
    assert {str(link["href"]) for link in page.all_of("a")} == {f"#{name}" for name in shown}
    assert NOTHING_YET not in page.text
    assert "Not part of this campaign" not in page.text
    assert all(image["alt"] for image in page.all_of("img"))


def test_pictures_of_calibration_stand_beside_their_p_values(page: Page) -> None:
    order = [str(found["id"]) for _, found in page.attributes if str(found.get("id")).startswith("figure-")]
    sections = [str(found["id"]) for _, found in page.attributes if "id" in found]
    for picture, section, following in (
        ("figure-calibration-verification", "verification", "leakage"),
        ("figure-calibration-detection", "detection", "suppression"),
    ):
        assert picture in order
        assert sections.index(section) < sections.index(picture) < sections.index(following)


def test_leakage_tables_are_the_frame(page: Page, attacked: Findings) -> None:
    each = attacked.leakage.drop_duplicates([*_CONFIGURATION, "repeat", "form"])
    groups = each.groupby([*_CONFIGURATION, "form"], sort=False)
    shown = page.table("leakage-table")
    assert len(shown) == len(groups) == 6
    assert_column(shown["Forests"], groups.size())
    assert_spread(page, "leakage-table", "Trigger rows found", groups["triggers_found"])
    assert_spread(page, "leakage-table", "Others marked", groups["others_found"])
    trained = each[each["form"] == "as trained"].groupby(_CONFIGURATION)
    given = page.spread("leakage-table", "Bits given (mean; least to most)").dropna()
    assert_column(given["middle"], trained["bits"].mean())
    assert set(shown["Form"]) == {"as trained", "released", "standard (honest control)"}
    findings = page.table("findings-table")
    assert "root-weights on as trained <b>says</b>" in set(findings["What it says (first such forest)"])
    assert set(findings["How to mend it"]) == {"scrub it", "\N{EN DASH}"}


def test_guesses_and_presence_are_the_frame(page: Page, attacked: Findings) -> None:
    for strategy, columns in (
        ("median split", (("Bits guessed", "bits", "mean"), ("p of the guess", "p_value_exact", "median"))),
        ("ranking", (("AUC", "auc", "mean"), ("p of the ranking", "p_value_exact", "median"))),
    ):
        rows = attacked.guesses[attacked.guesses["strategy"] == strategy]
        groups = rows.groupby([*_CONFIGURATION, "measure"], sort=False)
        for title, name, centre in columns:
            assert_spread(page, "guesses-table", title, groups[name], centre)
    assert set(page.table("guesses-table")["Unrelated guess (mean)"].round(9)) == {0.588}
    groups = attacked.presence.groupby([*_CONFIGURATION, "measure"], sort=False)
    assert_spread(page, "presence-table", "p", groups["p_value"], "median")
    assert_spread(page, "presence-table", "p, adjusted for all", groups["p_value_exact"], "median")
    statistics = page.table("presence-table")["Statistic"].tolist()
    assert statistics[:3] == ["all together", "spectrum strength", "mean leaves"]


def test_filter_and_budget_are_the_frame(page: Page, attacked: Findings) -> None:
    groups = attacked.suppression.groupby([*_CONFIGURATION, "method"])
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
    budget, points = page.table("budget-table"), attacked.budget_curves
    groups = points.groupby([*_CONFIGURATION, "method", "trigger_queries"])
    assert len(budget) == len(groups) == 48
    assert_column(budget["Bits known (mean)"], groups["bits"].mean())
    assert_column(budget["Bits known, any order (lowest)"], groups["low"].min())
    assert_column(budget["Bits known, any order (highest)"], groups["high"].max())


def test_sizes_at_every_eps_are_counts_of_the_frame(page: Page, attacked: Findings) -> None:
    shown = page.table("sizes-table")
    frame = attacked.distances
    assert shown["eps"].tolist() == [step / 10 for step in range(11)] * 2
    spreads = page.spread("sizes-table", "Forged (mean; least to most)")
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
        ("Least distance found", ["forged"]),
        ("Impossible at any", ["impossible"]),
        ("Stopped by a limit", ["timeout", "memout", "error"]),
    ):
        assert_column(searches[title], by.apply(lambda status, of=statuses: status.isin(of).sum()))


def test_free_forgery_table_names_the_rules(page: Page, attacked: Findings) -> None:
    shown = page.table("free-forgery-table").set_index("Forged set").iloc[:5]
    stopped, late = (
        shown[title] for title in ("Stopped by", "Stopped by, had its commitment been published in time")
    )
    assert stopped["all zeros"] == "commitment, quota of ones and p-value"
    assert late["all zeros"] == "quota of ones and p-value"
    assert (stopped["best pattern"], late["best pattern"]) == ("commitment", "nothing: it stands")
    assert late["clones"] == "distinct cells"
    assert stopped["local search"] == late["local search"] == "empty: no claim"
    groups = attacked.free_forgery.groupby([*_CONFIGURATION, "method"], sort=False)
    for title, name in (("Size / k", "size_over_k"), ("Size", "size"), ("Distinct cells", "distinct_cells")):
        assert_spread(page, "free-forgery-table", title, groups[name])


def test_rules_that_stop_some_sets_are_counted(attacked: Findings) -> None:
    frame = attacked.free_forgery.copy()
    is_one = (frame["method"] == "clones") & (frame["repeat"] == 0)
    frame.loc[is_one, ["stopped_by", "stopped_but_for_commitment"]] = ""
    table = tables.free_forgery_table(free_forgery_summaries(frame))
    clones = next(row for row in table.rows if row[3].text == "clones")
    stopped = clones[table.columns.index("Stopped by")]
    assert stopped.text == "commitment (2 of 3) and distinct cells (2 of 3); 1 of 3 stand"


def test_robustness_table_is_the_frame(page: Page, attacked: Findings) -> None:
    groups = attacked.modification.assign(points=100 * attacked.modification["accuracy_change"]).groupby(
        [*_CONFIGURATION, "modification", "strengths"], sort=False
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
    shown, frame = page.table("calibration-table"), attacked.calibration
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
        return false_positives(attacked.calibration, name)

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


def test_without_calibration_there_is_no_such_column(attacked: Findings) -> None:
    shown = sections(replace(attacked, calibration=attacked.calibration.iloc[:0]), ())
    titles = [title for section in shown for table in section.tables for title in table.columns]
    assert "Exact p" in titles
    assert not [title for title in titles if _BY_CHANCE in title]
    assert not [section for section in shown if "false claims" in section.lead]


def test_what_to_know_first_is_said_first(page: Page, attacked: Findings) -> None:
    open_ended = attacked.distances["status"].isin(["timeout", "memout", "error"]).sum()
    first = page.text[: page.text.index("Embedded")]
    assert (
        f"{open_ended} of {len(attacked.distances)} searches for a least distance have no decision" in first
    )
    assert "detect: depth A exact (honest: 20 of 20 at or below 0.05, that is 100.0%, 95% interval" in first


def test_attacks_asked_for_and_not_done_say_so(make_attacked: Callable[..., Any]) -> None:
    made = make_attacked(repeats=1, unfinished=_KINDS, state=CampaignState.INTERRUPTED)
    page = Page(report_html(gather(made.store, made.record)))
    # In each section, and in the summary, where least distances have a sentence of their own.
    assert page.text.count(NOTHING_YET) == 2 * len(_ATTACKS) - 1
    assert "Least distances: no instance has an answer." in page.text
    assert {section["id"] for section in page.all_of("section")} >= set(_ATTACKS)
    assert set(page.tables) == {"accuracy-table", "embeddings-table", "verification-table"}


def test_half_done_calibration_counts_what_is_missing(attacked: Findings) -> None:
    half = attacked.calibration.assign(trials=10)
    text = Page(report_html(replace(attacked, calibration=half))).text
    assert (
        "on false claims against 10 of 20 (honest), 10 of 20 (other owners) and 10 of 20 (presence)" in text
    )


def test_single_repeat_and_try_are_said_to_have_no_spread(make_attacked: Callable[..., Any]) -> None:
    made = make_attacked(repeats=1, is_small=True)
    findings = gather(made.store, made.record)
    one_try = findings.modification[findings.modification["attempt"] == 0]
    page = Page(report_html(replace(findings, modification=one_try)))
    assert page.text.count("One repeat only: there is no spread over seeds.") == 1
    assert "One repeat and one try: there is no spread." in page.text
    for name in ("leakage-table", "guesses-table", "filter-table", "modification-table"):
        assert not [title for title in page.table(name).columns if "least to most" in title]


def test_hostile_texts_in_results_are_shown_not_run(make_attacked: Callable[..., Any]) -> None:
    hostile = "<script>alert(1)</script> \"'&{{ 7 * 7 }}"
    made = make_attacked(repeats=1, is_small=True)
    found = gather(made.store, made.record)
    page = Page(
        report_html(
            replace(
                found,
                leakage=found.leakage.assign(detail=hostile, remedy=hostile, finding=hostile),
                guesses=found.guesses.assign(measure=hostile),
                free_forgery=found.free_forgery.assign(
                    method=hostile, stopped_by=hostile, stopped_but_for_commitment=hostile
                ),
                suppression=found.suppression.assign(method=hostile),
                modification=found.modification.iloc[:0],
                calibration=found.calibration.iloc[:0],
            )
        )
    )
    assert not page.all_of("script")
    assert page.text.count(hostile) > 15
    assert any(hostile in str(image["alt"]) for image in page.all_of("img"))
