"""The page: well formed, self-contained, honest, and with the frames' own numbers."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator import results
from orchestrator.errors import OrchestratorError
from orchestrator.report.findings import gather
from orchestrator.report.html import report_html, write_report
from orchestrator.store.tables import CampaignState
from tests.report_page import Page, assert_column, assert_spread
from workers.jobs import KINDS, JobKind

_CONFIGURATION = ["scheme", "trigger_share", "ones_share"]
_BEYOND = ["leakage", "free-forgery", "modification", "calibration"]
_SHOWN = ["accuracy", "verification", "detection", "suppression", "forgery"]


@dataclass(frozen=True)
class _Whole:
    page: Page
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)


@pytest.fixture(scope="module")
def whole(make_campaign: Callable[..., Any]) -> _Whole:
    made = make_campaign()
    names = ("accuracy", "detection", "suppression", "forgery")
    return _Whole(
        Page(report_html(gather(made.store, made.record))),
        {name: results.frame(made.store, made.record.id, name) for name in names},
    )


def test_page_is_well_formed_and_accessible(whole: _Whole) -> None:
    page = whole.page
    assert page.all_of("html") == [{"lang": "en"}]
    ids = Counter(str(found["id"]) for _, found in page.attributes if "id" in found)
    assert max(ids.values()) == 1
    assert all(image["alt"] for image in page.all_of("img"))
    assert all(heading.get("scope") in ("col", "row") for heading in page.all_of("th"))
    assert len(page.all_of("caption")) == len(page.all_of("table"))
    labels = {found["aria-labelledby"] for _, found in page.attributes if "aria-labelledby" in found}
    targets = {str(link["href"]).removeprefix("#") for link in page.all_of("a")}
    assert labels | targets <= set(ids)
    assert set(_SHOWN) <= targets


def test_page_needs_nothing_from_outside(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign()
    text = report_html(gather(made.store, made.record))
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.attributes}
    for _, found in page.attributes:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert str(found.get(name) or "#").startswith(("#", "data:"))
        assert not [name for name in found if name.startswith("on")]
    without_pictures = re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "", text)
    assert "http" not in without_pictures
    assert "url(" not in without_pictures
    assert "@import" not in without_pictures
    pictures = [str(image["src"]).partition(",")[2] for image in page.all_of("img")]
    assert len(pictures) == 7
    for picture in pictures:
        svg = base64.b64decode(picture).decode()
        assert "<svg" in svg
        assert "<script" not in svg
        assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', svg))
        assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", svg))


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
        assert_column(shown[f"{title} (least)"], groups[name].min())


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
    assert_column(shown["Forged (most)"], forged.max())
    true_size = groups["trigger_size"].first().astype(float)
    assert_column(shown["True size"], true_size)
    assert_column(shown["Mean (% of true size)"], forged.mean() / true_size)
    assert_column(shown["Most (% of true size)"], forged.max() / true_size)
    assert_column(shown["Signatures"], groups["signature"].nunique())
    assert_column(shown["Repeats"], groups["repeat"].nunique())
    assert_column(shown["Queries"], groups["instances"].sum())
    for name in ("forged", "impossible", "timeout", "memout", "error"):
        assert_column(shown[name], groups[name].sum())
    assert (shown["pending"] == 0).all()
    assert_column(
        shown["Mean if all undecided were forged"],
        (frame["instances"] - frame["impossible"]).groupby([frame[c] for c in groups.keys]).mean(),
    )
    assert_column(shown["Followed from another eps"], groups["followed"].sum())
    assert_column(shown["Solving (s, total)"], groups["seconds"].sum())
    assert_column(shown["Solving of a signature (s, median)"], groups["seconds"].median())

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


def test_same_store_gives_the_same_bytes(make_campaign: Callable[..., Any], tmp_path: Path) -> None:
    made = make_campaign(repeats=2, is_small=True)
    paths = [tmp_path / "first.html", tmp_path / "second.html"]
    for path in paths:
        write_report(made.store, made.record, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["first.html", "second.html"]


def test_moment_of_making_is_told_only_when_given(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(unfinished=frozenset(KINDS))
    findings = gather(made.store, made.record)
    assert "Generated" not in report_html(findings)
    moment = datetime(2030, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    assert "Generated 2030-01-02 03:04:05 UTC" in report_html(findings, generated=moment)


def test_hostile_texts_are_shown_not_run(make_campaign: Callable[..., Any]) -> None:
    hostile = "</pre><script>alert(1)</script>\n<img src=x onerror=alert(1)> \"' & {{ 7 * 7 }}"
    made = make_campaign(
        is_small=True,
        failing={"detection": hostile},
        class_names=(hostile, "<b>yes</b>"),
        provenance={"<i>python": hostile},
        state=CampaignState.INCOMPLETE,
    )
    honest = len(Page(report_html(gather(made.store, made.record))).all_of("img"))
    record = replace(made.record, name=hostile)
    page = Page(report_html(gather(made.store, record)))
    assert not page.all_of("script")
    assert not page.all_of("b")
    assert not page.all_of("i")
    assert len(page.all_of("img")) == honest
    assert page.text.count(" ".join(hostile.split())) >= 4


def test_campaign_without_any_result_gets_a_sensible_page(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(unfinished=frozenset(KINDS), state=CampaignState.INTERRUPTED)
    page = Page(report_html(gather(made.store, made.record)))
    assert not page.all_of("img")
    assert "This campaign is interrupted." in page.text
    assert "No watermark of 12 planned" in page.text
    assert "Engine sat: no query has an outcome." in page.text
    forgery = page.table("forgery-table")
    assert (forgery["pending"] == forgery["Queries"]).all()
    assert (forgery["Forged (mean)"] == "\N{EN DASH}").all()
    assert set(page.tables) == {"forgery-table", "undecided-table"}


def test_campaign_without_attacks_says_so(make_campaign: Callable[..., Any]) -> None:
    text = """
        name = "bare"
        seed = 1
        [dataset]
        name = "breast-cancer"
        [forest]
        n_estimators = 20
        [embedding]
        repeats = {repeats}
        """
    made = make_campaign(text=text, repeats=1)
    page = Page(report_html(gather(made.store, made.record)))
    assert "Not part of this campaign" in page.text
    everything = "leakage, detection, suppression, forgery, free forgery, robustness and calibration."
    assert everything in page.text
    assert not {section["id"] for section in page.all_of("section")} & {*_BEYOND, "detection", "forgery"}
    assert set(page.tables) == {"accuracy-table", "embeddings-table", "verification-table"}
    assert len(page.all_of("img")) == 1


def test_incomplete_campaign_names_what_failed_and_what_that_blocks(
    make_campaign: Callable[..., Any],
) -> None:
    made = make_campaign(
        failing={JobKind.EMBED: "the watermark does not fit"}, repeats=1, state=CampaignState.INCOMPLETE
    )
    page = Page(report_html(gather(made.store, made.record)))
    assert "This campaign is incomplete. Of its" in page.text
    troubles = page.table("troubles-table")
    assert troubles.iloc[0].tolist()[:3] == ["embed", "failed", 4.0]
    assert troubles.iloc[0]["Reason"] == "the watermark does not fit"
    blocked = troubles[troubles["State"] == "blocked"]
    assert blocked["Reason"].str.match(r"needs embed job \d+ \(paper, .*\), which failed").all()
    jobs = results.frame(made.store, made.record.id, "jobs")
    assert troubles["Number"].sum() == jobs["state"].isin(["failed", "blocked"]).sum()


def test_single_repeat_is_said_to_have_no_spread(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(repeats=1, is_small=True)
    page = Page(report_html(gather(made.store, made.record)))
    assert "Each configuration was embedded only once" in page.text
    assert not [title for title in page.table("accuracy-table").columns if "sd" in title]
    several = make_campaign(repeats=2, unfinished=frozenset(KINDS))
    assert "embedded only once" not in report_html(gather(several.store, several.record))


def test_undecided_queries_are_counted_first_of_all(whole: _Whole) -> None:
    frame = whole.frames["forgery"]
    undecided = int(frame[["timeout", "memout", "error"]].to_numpy().sum())
    assert f"{undecided} of {frame['instances'].sum()} forgery queries have no decision" in whole.page.text


def test_unwritable_path_is_one_clear_line(make_campaign: Callable[..., Any], tmp_path: Path) -> None:
    made = make_campaign(unfinished=frozenset(KINDS))
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(OrchestratorError, match=r"report\.html: cannot be written \(No such file"):
        write_report(made.store, made.record, path)
