"""Tables have the frames' own numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.data import CONFIGURATION, Findings
from orchestrator.report.sections.detection import parts_of
from orchestrator.report.table import frame_table
from orchestrator.report.wording import declared
from orchestrator.results import COLUMNS
from tests.report_page import Page, assert_column, assert_spread

_UNDECIDED = ["timeout", "memout", "error"]


@pytest.mark.parametrize(
    ("table", "frame"),
    [
        ("embeddings-table", "accuracy"),
        ("verification-table", "accuracy"),
        ("detections-table", "detection"),
        ("calibration-table", "calibration"),
    ],
)
def test_tables_of_single_rows_are_the_frame(
    paper: Findings, paper_page: Page, attacked: Findings, attacked_page: Page, table: str, frame: str
) -> None:
    """Each number is in a column of its own, and none differs."""
    findings, page = (attacked, attacked_page) if frame == "calibration" else (paper, paper_page)
    rows, shown = findings.frame(frame), page.table(table)
    columns = [one for one in declared()["tables"][table]["columns"] if len(one) > 1]
    assert len(shown) == len(rows)
    assert {title for _, _, title, *_ in columns} <= set(shown)
    assert len({name for _, name, *_ in columns}) == len(columns)
    for _, name, title, *_ in columns:
        if pd.api.types.is_numeric_dtype(rows[name]) and not pd.api.types.is_bool_dtype(rows[name]):
            assert_column(shown[title], rows[name])
    if frame == "calibration":
        assert (shown["Anti-conservative"] == np.where(rows["anti_conservative"], "yes", "no")).all()
    else:
        assert_column(shown["Trigger share"], rows["trigger_share"])
        assert_column(shown["Repeat"], rows["repeat"])


def test_declared_tables_document_their_headings() -> None:
    for name, table in declared()["tables"].items():
        if table["results"]:
            assert any(column[1] in COLUMNS[table["results"]] for column in table["columns"][1:]), name


def test_accuracy_table_aggregates_the_frame(paper: Findings, paper_page: Page) -> None:
    frame, shown = paper.frame("accuracy"), paper_page.table("accuracy-table")
    groups = frame.groupby(CONFIGURATION)
    assert len(shown) == len(groups) == 4
    for title in ("standard", "capped", "watermarked"):
        column = groups[f"accuracy_{title}"]
        assert_column(shown[f"{title.capitalize()} (mean, %)"], column.mean())
        assert_column(shown[f"{title.capitalize()} (sd, points)"], 100 * column.std())
    for baseline in ("standard", "capped"):
        points = 100 * (frame["accuracy_watermarked"] - frame[f"accuracy_{baseline}"])
        by = points.groupby([frame[name] for name in CONFIGURATION])
        assert_column(shown[f"Minus {baseline} (mean, points)"], by.mean())
        assert_column(shown[f"Minus {baseline} (sd, points)"], by.std())
    assert_column(shown["n (repeats)"], groups.size())
    assert_column(shown["Trigger rows"], groups["trigger_size"].first())
    assert_column(shown["Rounds (mean)"], groups["rounds"].mean())
    assert_column(shown["Embedding (s, mean)"], groups["seconds"].mean())


def test_detection_table_aggregates_the_frame(paper: Findings, paper_page: Page) -> None:
    shown = paper_page.table("detection-table")
    groups = paper.frame("detection").groupby([*CONFIGURATION, "measure", "strategy"])
    assert len(shown) == len(groups) == 16
    for name in ("correct", "wrong", "uncertain"):
        assert_column(shown[f"{name.capitalize()} (mean)"], groups[name].mean())
    for title, name in (("p", "p_value"), ("Exact p", "p_value_exact")):
        assert_column(shown[f"{title} (median)"], groups[name].median())
        assert_column(shown[f"{title} (min)"], groups[name].min())


def test_forgery_tables_aggregate_the_frame(paper: Findings, paper_page: Page) -> None:
    frame, shown = paper.frame("forgery"), paper_page.table("forgery-table")
    keys = [*CONFIGURATION, "engine", "eps"]
    groups = frame.groupby(keys)
    assert len(shown) == len(groups) == 8
    forged, true_size = groups["forged"], groups["trigger_size"].first().astype(float)
    possible = (frame["instances"] - frame["impossible"]).groupby([frame[name] for name in keys])
    for title, expected in {
        "Forged (mean)": forged.mean(),
        "Forged (sd)": forged.std(),
        "Forged (median)": forged.median(),
        "Forged (max)": forged.max(),
        "True size": true_size,
        "Mean (% of true size)": forged.mean() / true_size,
        "Max (% of true size)": forged.max() / true_size,
        "Signatures": groups["signature"].nunique(),
        "Repeats": groups["repeat"].nunique(),
        "Mean if all undecided were forged": possible.mean(),
    }.items():
        assert_column(shown[title], expected)
    queries = paper_page.table("queries-table")
    for title, name in {
        **{name: name for name in ("forged", "impossible", *_UNDECIDED)},
        "Queries": "instances",
        "Followed from another eps": "followed",
        "Solving (s, total)": "seconds",
    }.items():
        assert_column(queries[title], groups[name].sum())
    assert (queries["pending"] == 0).all()
    assert_column(queries["Solving of a signature (s, median)"], groups["seconds"].median())
    assert_column(queries["Slowest query (s)"], groups["slowest_seconds"].max())


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("suppression-table", {"AUC": "auc", "Spotted at 1% FPR": "tpr_at_1pct_fpr"}),
        (
            "filter-table",
            {
                "Triggers spotted": "triggers_spotted",
                "Ordinary queries touched": "ordinary_touched",
                "Ordinary votes changed": "ordinary_votes_changed",
                "p before": "log10_p_before",
                "p after": "log10_p_after",
            },
        ),
        ("rules-table", {"Size / k": "size_over_k"}),
        ("free-forgery-table", {"Size": "size", "Distinct cells": "distinct_cells"}),
        (
            "modification-table",
            {
                "Accuracy change (points)": "points",
                "Fidelity": "fidelity",
                "Bits": "bits",
                "p from votes": "log10_p",
                "p from vote shares": "log10_p_shares",
            },
        ),
        ("leakage-table", {"Trigger rows found": "triggers_found", "Others marked": "others_found"}),
    ],
)
def test_samples_are_shown_with_their_ends(
    attacked: Findings, attacked_page: Page, table: str, columns: dict[str, str]
) -> None:
    frame = attacked.frame(declared()["tables"][table]["results"])
    if table == "leakage-table":
        frame = frame.drop_duplicates([*CONFIGURATION, "repeat", "form"])
    keys = [name for name in ("form", "method", "modification", "strengths") if name in frame]
    if "accuracy_change" in frame:
        frame = frame.assign(points=100 * frame["accuracy_change"])
    groups = frame.groupby([*CONFIGURATION, *keys], sort=False)
    assert len(attacked_page.table(table)) == len(groups)
    for title, name in columns.items():
        centre = "median" if name.startswith("log10") else "mean"
        assert_spread(attacked_page, table, title, groups[name], centre)


def test_leakage_tables_aggregate_the_frame(attacked: Findings, attacked_page: Page) -> None:
    each = attacked.frame("leakage").drop_duplicates([*CONFIGURATION, "repeat", "form"])
    shown = attacked_page.table("leakage-table")
    assert_column(shown["Forests"], each.groupby([*CONFIGURATION, "form"], sort=False).size())
    trained = each[each["form"] == "as trained"].groupby(CONFIGURATION)
    given = attacked_page.spread("leakage-table", "Bits given (mean; min to max)").dropna()
    assert_column(given["middle"], trained["bits"].mean())
    assert set(shown["Form"]) == {"as trained", "released", "standard (honest control)"}
    findings = attacked_page.table("findings-table")
    assert "root-weights on as trained <b>says</b>" in set(findings["What it says (first such forest)"])
    assert set(findings["How to prevent it"]) == {"scrub it", "\N{EN DASH}"}


def test_guesses_and_presence_aggregate_the_frame(attacked: Findings, attacked_page: Page) -> None:
    _, guesses, presence = parts_of(attacked.frame("detection"))
    for strategy, columns in (
        ("median split", (("Bits guessed", "bits", "mean"), ("p of the guess", "p_value_exact", "median"))),
        ("ranking", (("AUC", "auc", "mean"), ("p of the ranking", "p_value_exact", "median"))),
    ):
        rows = guesses[guesses["strategy"] == strategy]
        groups = rows.groupby([*CONFIGURATION, "measure"], sort=False)
        for title, name, centre in columns:
            assert_spread(attacked_page, "guesses-table", title, groups[name], centre)
    assert set(attacked_page.table("guesses-table")["Unrelated guess (mean)"].round(9)) == {0.588}
    groups = presence.groupby([*CONFIGURATION, "measure"], sort=False)
    assert_spread(attacked_page, "presence-table", "p", groups["p_value"], "median")
    assert_spread(attacked_page, "presence-table", "p, adjusted for all", groups["p_value_exact"], "median")
    statistics = attacked_page.table("presence-table")["Statistic"].tolist()
    assert statistics[:3] == ["all together", "spectrum strength", "mean leaves"]


def test_budget_and_counts_aggregate_the_frame(attacked: Findings, attacked_page: Page) -> None:
    groups = attacked.frame("suppression").groupby([*CONFIGURATION, "method"])
    spotted = attacked_page.table("filter-table")["Forests with queries spotted"]
    assert_column(spotted, groups["bits"].count())
    budget = attacked_page.table("budget-table")
    groups = attacked.frame("budget-curves").groupby([*CONFIGURATION, "method", "trigger_queries"])
    assert len(budget) == len(groups) == 48
    assert_column(budget["Bits known (mean)"], groups["bits"].mean())
    assert_column(budget["Bits known, any order (min)"], groups["low"].min())
    assert_column(budget["Bits known, any order (max)"], groups["high"].max())
    modified = attacked_page.table("modification-table")
    groups = attacked.frame("modification").groupby([*CONFIGURATION, "modification", "strengths"], sort=False)
    assert_column(modified["Exact matches"], groups["exact_match"].sum())
    assert set(modified["n (forests)"]) == {6}


def test_sizes_at_every_eps_are_counts_of_the_frame(attacked: Findings, attacked_page: Page) -> None:
    shown, frame = attacked_page.table("sizes-table"), attacked.frame("distances")
    assert shown["eps"].tolist() == [step / 10 for step in range(11)] * 2
    expected = []
    for _, part in frame.groupby(CONFIGURATION):
        for eps in (step / 10 for step in range(11)):
            within = (part["distance"] <= eps).groupby([part["repeat"], part["signature"]]).sum()
            expected.append((within.mean(), within.min(), within.max()))
    spreads = attacked_page.spread("sizes-table", "Forged (mean; min to max)")
    np.testing.assert_allclose(spreads.astype(float), expected)
    searches, by = attacked_page.table("distances-table"), frame.groupby(CONFIGURATION)["status"]
    for title, statuses in (
        ("Smallest distance found", ["forged"]),
        ("Impossible at any", ["impossible"]),
        ("Stopped by a limit", _UNDECIDED),
    ):
        assert_column(searches[title], by.apply(lambda status, of=statuses: status.isin(of).sum()))


def test_an_empty_text_in_every_row_is_not_said() -> None:
    """It was "In every row: What ." """
    rows = pd.DataFrame({"kind": ["a", "b"], "what": ["", ""], "who": ["me", "me"]})
    assert [(title, cell.text) for title, cell in frame_table("t", "T", rows).same] == [("who", "me")]
