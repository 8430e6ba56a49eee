"""The page: well formed, self-contained, honest, readable by all, and the same as the golden one."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import wm
from orchestrator import results
from orchestrator.errors import OrchestratorError
from orchestrator.report import write_figures, write_report
from orchestrator.report.data import CONFIGURATION, Findings
from orchestrator.report.page import figures_of
from orchestrator.report.sections import NOTHING_YET, SECTIONS, sections
from orchestrator.report.wording import p_value_of_log10
from orchestrator.store.tables import CampaignState, job, outcome
from tests.orchestrator.report.conftest import Made, MakeCampaign
from tests.report_page import Page, undrawn
from workers.jobs.kinds import KINDS, JobKind

_GOLDEN = Path(__file__).with_name("golden_page.txt")
_ATTACKS = [
    *(
        "leakage",
        "detection",
        "suppression",
        "forgery",
        "free-forgery",
        "modification",
        "calibration",
        "claims",
    )
]
_STEPS = {JobKind.SPLIT, JobKind.TUNE_FOLD, JobKind.TUNE, JobKind.BASELINE, JobKind.EMBED}
_BARE = """
    name = "bare"
    seed = 1
    [dataset]
    {dataset}
    [forest]
    n_estimators = 20
    [embedding]
    repeats = {{repeats}}
    {attack}
    """
_NO_VALUE = re.compile(r"<NA>|\b(nan|NaN|NaT)\b|^None$")


def _bare(attack: str = "", dataset: str = 'name = "breast-cancer"') -> str:
    return _BARE.format(attack=attack, dataset=dataset)


def _normalised(page: Page) -> str:
    """Return all that a page says, a table's row on each line, without what differs from run to run."""
    lines = [" ".join(text.split()) for text in page.texts if "\n" in text or len(text) > 25]
    for name, rows in page.tables.items():
        lines += [f"table {name}", *(" | ".join(cell.text for cell in row) for row in rows)]
    lines += [f"alt: {text}" for text in page.charts]
    for pattern in (r"[0-9a-f]{64}", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", re.escape(wm.__version__)):
        lines = [re.sub(pattern, "*", line) for line in lines]
    return "\n".join(line for line in lines if line) + "\n"


def test_page_says_what_the_golden_one_says(small_page: Page) -> None:
    """After a change that is meant: WM_GOLDEN=write, and read the difference."""
    said = _normalised(small_page)
    if os.environ.get("WM_GOLDEN") == "write":
        _GOLDEN.write_text(said, encoding="utf-8")
    assert said.splitlines() == _GOLDEN.read_text(encoding="utf-8").splitlines()


def test_page_is_well_formed_and_accessible(attacked_page: Page) -> None:
    page = attacked_page
    assert page.all_of("html") == [{"lang": "en"}]
    ids = Counter(str(found["id"]) for _, found in page.attributes if "id" in found)
    assert max(ids.values()) == 1
    assert all(heading.get("scope") in ("col", "row") for heading in page.all_of("th"))
    assert len(page.all_of("caption")) == len(page.all_of("table"))
    labels = {found["aria-labelledby"] for _, found in page.attributes if "aria-labelledby" in found}
    targets = {str(link["href"]).removeprefix("#") for link in page.all_of("a")}
    assert labels | targets <= set(ids)
    headings = [tag for tag, _ in page.attributes if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}


def test_every_section_is_in_order_and_linked(attacked_page: Page) -> None:
    page = attacked_page
    names = [str(section["id"]) for section in page.all_of("section")]
    shown = ["overview", "accuracy", "verification", *_ATTACKS, "cost", "failures", "provenance"]
    assert names == shown
    assert {str(link["href"]) for link in page.all_of("a")} == {f"#{name}" for name in shown}
    assert NOTHING_YET not in page.text
    assert "Not part of this campaign" not in page.text


def test_every_chart_has_alt_text_with_its_content(attacked_page: Page, attacked: Findings) -> None:
    page = attacked_page
    figures = figures_of(attacked)
    assert page.charts == [figure.alt_text for figure in figures]
    assert len(figures) == 17
    for figure in figures:
        assert figure.alt_text.endswith(".")
        assert re.search(r"\d", figure.alt_text)
        assert figure.draw().to_dict()
        assert "Data set breast-cancer; campaign attacked, seed 7" in figure.caption
        assert not re.search(r"(^|\s)/\w", figure.caption)


def test_every_chart_of_data_tells_the_values_of_its_marks(small_html: str, small: Findings) -> None:
    charts = re.findall(r"<svg.*?</svg>", small_html, re.DOTALL)
    figures = figures_of(small)
    assert len(charts) == len(figures)
    tooltips = {figure.name: Page(chart).tooltips for figure, chart in zip(figures, charts, strict=True)}
    assert [name for name, texts in tooltips.items() if not texts and "image" not in name] == []
    assert not [
        text for texts in tooltips.values() for text in texts if re.search(r"\b(nan|None|undefined)\b", text)
    ]
    (row,) = small.frame("accuracy").itertuples()
    assert any(f"mean accuracy {100 * row.accuracy_watermarked:.2f}%, n = 1 repeat" in text
               for text in tooltips["accuracy-over-trigger-share"])  # fmt: skip
    assert any(
        text.endswith(f"watermarked: p = {p_value_of_log10(row.log10_p)}") for text in tooltips["evidence"]
    )
    files = small.frame("leakage").groupby("form")["repeat"].nunique()
    assert len(tooltips["leakage"]) == 2 * len(files)
    assert len(tooltips["cost"]) == small.frame("costs")["kind"].nunique()
    claims = small.frame("claims")
    verified = int((claims["verdict"] == "verified").sum())
    counts = [re.search(r": verified ([\d,]+) of", text) for text in tooltips["claims"]]
    assert sum(int(count[1].replace(",", "")) for count in counts if count) == verified


def test_page_needs_nothing_from_outside(small_page: Page, small_html: str) -> None:
    page, html = small_page, small_html
    assert not {"link", "iframe", "object", "base"} & {tag for tag, _ in page.attributes}
    for _, found in page.attributes:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert str(found.get(name) or "#").startswith(("#", "data:"))
        assert not [name for name in found if name.startswith("on")]
    for outside in ("http:", "https:", "@import", "fetch(", "XMLHttpRequest"):
        assert outside not in html
    links = re.findall(r'href="([^"]*)"', html) + re.findall(r"url\(([^)]*)\)", html)
    assert all(link.startswith(("#", "data:")) for link in links)


def test_only_the_pages_own_script_may_run(attacked_html: str, attacked_page: Page) -> None:
    html, page = attacked_html, attacked_page
    (own,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    policies = [meta["content"] for meta in page.all_of("meta") if meta.get("http-equiv")]
    assert policies == [
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    ]


def test_page_says_which_treeproof_wrote_it(attacked_page: Page) -> None:
    page = attacked_page
    assert page.text.count(f"treeproof {wm.__version__}") == 2


def test_same_store_gives_the_same_bytes(
    make_attacked: MakeCampaign, small_html: str, tmp_path: Path
) -> None:
    made = make_attacked(repeats=1, is_small=True)
    write_report(made.store, made.record, tmp_path / "page.html")
    moments = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
    again = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert moments.sub("", again) == moments.sub("", small_html)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_hostile_texts_are_shown_not_run(make_campaign: MakeCampaign) -> None:
    hostile = "</pre><script>alert(1)</script>\n<img src=x onerror=alert(1)> \"' & {{ 7 * 7 }}"
    made = make_campaign(
        is_small=True,
        failing={"detection": hostile},
        class_names=(hostile, "<b>yes</b>"),
        provenance={"<i>python": hostile},
        state=CampaignState.INCOMPLETE,
    )
    findings = Findings(made.store, replace(made.record, name=hostile))
    assert all(figure.draw().to_dict() for figure in figures_of(findings))
    page = Page(undrawn(findings))
    assert len(page.all_of("script")) == 1
    assert not page.all_of("b")
    assert not page.all_of("i")
    assert len(page.charts) == len(figures_of(made.findings))
    assert page.text.count(" ".join(hostile.split())) >= 4


def test_hostile_texts_in_results_are_shown_not_run(small: Findings) -> None:
    hostile = "<script>alert(1)</script> \"'&{{ 7 * 7 }}"
    columns = {
        "leakage": ("detail", "remedy", "finding"),
        "free-forgery": ("method", "stopped_by", "stopped_but_for_commitment"),
        "suppression": ("method",),
        "modification": ("modification",),
        "calibration": ("p_value",),
    }
    frames = {
        kind.replace("-", "_"): small.frame(kind).assign(**dict.fromkeys(names, hostile))
        for kind, names in columns.items()
    }
    findings = small.with_frames(**frames)
    assert all(figure.draw().to_dict() for figure in figures_of(findings))
    page = Page(undrawn(findings))
    assert len(page.all_of("script")) == 1
    assert page.text.count(hostile) > 15
    assert any(hostile in text for text in page.charts)


_KEYS = {
    *(*CONFIGURATION, "repeat", "measure", "strategy", "method", "form", "finding", "severity"),
    *("modification", "strength", "strengths", "attempt", "size", "size_over_k", "distinct_cells"),
    "exact_match",
}
"""Columns that are never missing: they name rows, or count."""


@pytest.mark.parametrize("seed", range(3))
def test_missing_values_are_dashes(attacked: Findings, small: Findings, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def holes(frame: pd.DataFrame) -> pd.DataFrame:
        share = rng.choice([0.3, 1.0])
        made = frame.copy()
        for name in set(frame) - _KEYS:
            if rng.uniform() < 0.5:
                made[name] = made[name].where(rng.uniform(size=len(made)) > share)
        return made

    names = ("accuracy", "leakage", "suppression", "free_forgery", "modification")
    whole = small if seed == 0 else attacked
    found = whole.with_frames(**{name: holes(whole.frame(name)) for name in names})
    for section, shown in sections(found):
        texts = [text for pair in (*shown.headline, *shown.facts) for text in pair]
        texts += [shown.lead, *shown.caveats, *(figure.alt_text for figure in shown.figures)]
        for figure in shown.figures if seed == 0 else ():
            assert figure.draw().to_dict()
        cells = [cell for table in shown.tables for row in table.rows for cell in row]
        cells += [cell for table in shown.tables for _, cell in table.same]
        for text in [
            *texts,
            *(cell.text for cell in cells),
            *(str(cell.value) for cell in cells if cell.value),
        ]:
            assert not _NO_VALUE.search(text), (section.name, text)


def test_file_of_rows_is_named_without_its_folder(make_campaign: MakeCampaign) -> None:
    made = make_campaign(text=_bare(dataset='path = "/home/someone/rows.csv"\nlabel = "y"'), repeats=1)
    figures = figures_of(made.findings)
    assert [figure.name for figure in figures] == ["accuracy-over-trigger-share", "evidence", "cost"]
    assert all("Data set rows.csv;" in figure.caption for figure in figures)
    page = made.page
    assert page.text.count("/home/someone") == 1, "in the specification alone"


def test_campaign_without_any_result_gets_a_sensible_page(nothing: Made) -> None:
    page = nothing.page
    assert not page.charts
    assert "This campaign is interrupted." in page.text
    assert "No watermark of 12 planned" in page.text
    assert "Engine sat: no query has an outcome." in page.text
    queries, sizes = page.table("queries-table"), page.table("forgery-table")
    assert (queries["pending"] == queries["Queries"]).all()
    assert (sizes["Forged (mean)"] == "\N{EN DASH}").all()
    assert set(page.tables) == {"forgery-table", "queries-table"}


def test_campaign_without_attacks_says_so(make_campaign: MakeCampaign) -> None:
    made = make_campaign(text=_bare(), repeats=1)
    page = made.page
    everything = "leakage, detection, suppression, forgery, free forgery, robustness, calibration and claims."
    assert "Not part of this campaign" in page.text
    assert everything in page.text
    assert not {section["id"] for section in page.all_of("section")} & set(_ATTACKS)
    assert set(page.tables) == {"accuracy-table", "embeddings-table", "verification-table", "cost-table"}
    assert len(page.charts) == 3


def test_attacks_asked_for_and_not_done_say_so(make_attacked: MakeCampaign) -> None:
    made = make_attacked(repeats=1, unfinished=frozenset(KINDS) - _STEPS, state=CampaignState.INTERRUPTED)
    page = made.page
    # In each section; smallest distances have a sentence of their own.
    assert page.text.count(NOTHING_YET) == len(_ATTACKS) - 1
    assert "Smallest distances: no instance has an answer." in page.text
    assert {section["id"] for section in page.all_of("section")} >= set(_ATTACKS)
    assert set(page.tables) == {"accuracy-table", "embeddings-table", "verification-table", "cost-table"}


def test_incomplete_campaign_names_what_failed_and_what_that_blocks(
    make_campaign: MakeCampaign,
) -> None:
    made = make_campaign(
        failing={JobKind.EMBED: "the watermark does not fit"}, repeats=1, state=CampaignState.INCOMPLETE
    )
    page = made.page
    assert "This campaign is incomplete. Of its" in page.text[: page.text.index("planned, on data set")]
    shown = page.table("failures-table")
    assert shown.iloc[0][["Job", "State", "Number"]].tolist() == ["embed", "failed", 4.0]
    assert shown.iloc[0]["Reason"] == "the watermark does not fit"
    blocked = shown[shown["State"] == "blocked"]
    assert blocked["Reason"].str.match(r"needs embed job \d+ \(paper, .*\), which failed").all()
    jobs = results.frame(made.store, made.record.id, "jobs")
    assert shown["Number"].sum() == jobs["state"].isin(["failed", "blocked"]).sum()


def test_single_repeat_is_said_to_have_no_spread(small: Findings, small_page: Page, nothing: Made) -> None:
    assert small_page.text.count("Each configuration was embedded only once") == 1
    captions = [
        figure.caption for figure in figures_of(small) if not figure.name.startswith(("calibration", "cost"))
    ]
    assert all(text.endswith("n = 1 repeat: there is no spread over seeds.") for text in captions)
    assert not [title for title in small_page.table("accuracy-table").columns if "sd" in title]
    assert "embedded only once" not in nothing.page.text
    frame = small.frame("modification")
    one_try = Page(undrawn(small.with_frames(modification=frame[frame["attempt"] == 0])))
    assert "One repeat and one try: there is no spread." in one_try.text
    for name in ("leakage-table", "guesses-table", "filter-table", "modification-table"):
        assert not [title for title in one_try.table(name).columns if "min to max" in title]


def test_headings_carry_the_documentation_of_their_columns(attacked_page: Page) -> None:
    notes = {str(heading["title"]) for heading in attacked_page.all_of("th") if "title" in heading}
    for kind, name in (("leakage", "severity"), ("detection", "auc"), ("accuracy", "seconds")):
        assert results.COLUMNS[kind][name].replace("``", "") in notes


def test_attack_without_a_section_is_shown_row_by_row(make_campaign: MakeCampaign) -> None:
    """An attack that is registered elsewhere needs no code of the report."""
    made = make_campaign(text=_bare('[[attack]]\nkind = "leakage"'), repeats=2)
    rows = [{"method": "<toy>", "hits": number, "score": number / 8, "curve": [1, 2]} for number in range(3)]
    with made.store.write() as connection:
        toys = sa.select(job.c.id).where(job.c.kind == "leakage")
        connection.execute(sa.update(outcome).where(outcome.c.job_id.in_(toys)).values(result={"rows": rows}))
        connection.execute(sa.update(job).where(job.c.kind == "leakage").values(kind="toy-attack"))
    page = made.page
    names = [str(section["id"]) for section in page.all_of("section")]
    assert names[names.index("verification") + 1] == "toy-attack"
    assert "Toy attack" in page.text
    assert "6 rows on 2 forests. Means: hits 1 and score 0.125." in page.text
    shown = page.table("toy-attack-table")
    assert shown["hits"].tolist() == [0, 1, 2] * 2
    assert shown["repeat"].tolist() == [0, 0, 0, 1, 1, 1]
    assert set(shown["method"]) == {"<toy>"}
    assert "curve" not in shown


def test_sections_have_names_of_their_own() -> None:
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)


def test_unwritable_path_is_one_clear_line(nothing: Made, tmp_path: Path) -> None:
    with pytest.raises(OrchestratorError, match=r"report\.html: cannot be written \(No such file"):
        write_report(nothing.store, nothing.record, tmp_path / "missing" / "report.html")


_MAGIC = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}


def test_figures_are_written_in_each_format_twice_the_same(
    make_campaign: MakeCampaign, tmp_path: Path
) -> None:
    made = make_campaign(text=_bare('[[attack]]\nkind = "detection"\nmethods = ["strategies"]'), repeats=2)
    first = write_figures(made.store, made.record, tmp_path / "new" / "first")
    second = write_figures(made.store, made.record, tmp_path / "second")
    drawn = ("accuracy-over-trigger-share", "evidence", "detection", "cost")
    names = [f"{name}.{ending}" for name in drawn for ending in _MAGIC]
    assert [path.name for path in first] == [*names, "captions.txt"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(_MAGIC.get(one.suffix.removeprefix("."), b"accuracy"))
    assert sorted((tmp_path / "second").iterdir()) == sorted(second)


def test_faulty_requests_for_figures_are_one_clear_line(nothing: Made, tmp_path: Path) -> None:
    assert write_figures(nothing.store, nothing.record, tmp_path / "none") == []
    (tmp_path / "file").touch()
    with pytest.raises(OrchestratorError, match="file: cannot be made"):
        write_figures(nothing.store, nothing.record, tmp_path / "file")
