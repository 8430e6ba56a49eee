"""`wm report` and `wm demo`: what they write and print."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.spec import parse_spec
from tests.report_page import leave_undrawn


@pytest.mark.system
def test_report_names_the_files_it_wrote(wm, tiny) -> None:
    detection_alone = "[[attack]]".join(tiny.text.split("[[attack]]")[:2])  # every chart takes half a second
    Path("tiny.toml").write_text(detection_alone.replace("[0.01, 0.02]", "0.02"))
    assert wm("campaign", "run", "tiny.toml", "--workers", 1).code == 0
    ran = wm("report", "1", "--figures", "figures")
    assert (ran.code, ran.err) == (0, "")
    page, *figures = map(Path, ran.out.splitlines())
    assert page == Path("tiny.html"), "named after the campaign"
    assert {figure.suffix for figure in figures} >= {".png", ".svg", ".pdf"}
    assert sorted(figures) == sorted(Path("figures").iterdir())
    assert all(file.stat().st_size for file in (page, *figures))
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", text), "opens without network"


def test_markdown_is_written_by_ending_and_of_several_campaigns(wm, tiny) -> None:
    ran = wm("report", "tiny", "1", "--store", tiny.url, "-o", "both.MD")
    assert (ran.code, ran.out, ran.err) == (0, "both.MD\n", "")
    text = Path("both.MD").read_text(encoding="utf-8")
    assert text.startswith("# Watermark report: tiny and tiny\n")
    assert text.count("\n### tiny\n") == 2 * text.count("\n## ")


@pytest.mark.parametrize("more", [[], ["-o", "page.html"], ["-o", "page.md", "--figures", "figures"]])
def test_html_and_figures_are_of_one_campaign(wm, tiny, more: list[str]) -> None:
    ran = wm("report", "tiny", "tiny", "--store", tiny.url, *more)
    assert (ran.code, ran.out) == (2, "")
    assert "a page and figures show one campaign: for several give -o FILE.md alone" in ran.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["r.pdf", "r.csv", "r"])
def test_another_ending_is_refused(wm, tiny, name: str) -> None:
    ran = wm("report", "tiny", "--store", tiny.url, "-o", name)
    assert (ran.code, ran.out) == (2, "")
    assert f"{name}: a report's ending must be .html or .htm or .md" in ran.err


@pytest.fixture
def small_demo(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with the tests' own campaign for its own, which takes a minute."""

    leave_undrawn(monkeypatch)

    def parse(text: str, *, what: str):
        assert parse_spec(text, what=what).name == "demo", "the file that is shipped is valid"
        return parse_spec(tiny.text, what=what)

    monkeypatch.setattr("orchestrator.cli.demo.parse_spec", parse)


@pytest.mark.system
def test_demo_does_the_main_job_and_again_computes_nothing(wm, small_demo: None) -> None:
    ran = wm("demo", "-o", "demo", "--workers", 1)
    assert ran.code == 0, ran.err
    assert sorted(file.name for file in Path("demo").iterdir() if "wm.db" not in file.name) == [
        "claim.json",
        "forest.npz",
        "report.html",
    ]
    assert "bits match, p = " in ran.out
    for title in ("Accuracy", "Suppression", "Forgery"):
        assert f"\n{title}" in ran.out
    assert ran.out.splitlines()[-1] == "Report: demo/report.html"
    assert ran.err.splitlines()[-1] == "tiny: finished"
    assert wm("verify", "demo/claim.json", "--model", "demo/forest.npz").code == 5, "an indication"
    with closing(sqlite3.connect("demo/wm.db")) as connection:
        before = connection.execute("SELECT job_id, owner, recorded_at FROM outcome").fetchall()
        again = wm("demo", "-o", "demo", "--workers", 1)
        assert connection.execute("SELECT job_id, owner, recorded_at FROM outcome").fetchall() == before
    assert (again.code, again.out) == (0, ran.out)
