"""The live page and the report in a real browser: load, sort, filter, live, keyboard only, accessible."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests import ending, forked
from tests.sharing import copy_store, made_once
from tests.small_campaign import small_campaign
from tests.system import browsing
from tests.system.browsing import ROOT, bounded, tab
from tests.system.conftest import Place

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing.browser() as opened:
        yield opened


@dataclass
class Web:
    """A `wm web` that runs."""

    link: str
    process: forked.Process

    @property
    def base(self) -> str:
        return self.link.partition("/?")[0]

    def go(self, page: Page, path: str = "/") -> None:
        """Open a page, with the token that the first page needs."""
        token = self.link.partition("?")[2]
        page.goto(f"{self.base}{path}{'&' if '?' in path else '?'}{token}")
        assert "token" not in page.url


@contextmanager
def served(place: Place, *options: str) -> Iterator[Web]:
    with place.running("web", "--port", "0", "--json", *options) as process:
        assert process.stdout is not None
        lines: list[str] = []
        with bounded(120):
            while not lines or lines[-1].strip() != "}":
                lines.append(process.stdout.readline())
                assert lines[-1], process.communicate(timeout=30)[1]
        yield Web(json.loads("".join(lines))["address"], process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert said.splitlines()[-1] == "wm: stopped"
    assert "Traceback" not in said


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory to read: a store of two finished campaigns, and the report on the first."""

    def make(directory: Path) -> None:
        place = Place(directory)
        text = small_campaign(name="deeper", engines=("sat",), signatures=1, instances=60)
        (directory / "deeper.toml").write_text(text.replace("max_depth = 4", "max_depth = 6"))
        for words in (
            ("campaign", "run", "c.toml", "deeper.toml", "--workers", "1"),
            ("report", "small", "-o", "report.html"),
        ):
            done = place.wm(*words)
            assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "browsed", make)


@pytest.fixture(scope="module")
def web(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    place = Place(tmp_path_factory.mktemp("web"))
    copy_store(made / "wm.db", place.database)
    with served(place) as one:
        yield one


@pytest.fixture(scope="module")
def report(made: Path) -> Path:
    return made / "report.html"


def column(page: Page, table: str, place: int) -> list[str]:
    """Return the texts of a column from 0."""
    cells = page.locator(f"#{table} tbody tr > :nth-child({place + 1})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_home_loads_and_is_sorted_by_a_heading(browser: Browser, web: Web) -> None:
    with tab(browser) as opened:
        web.go(opened.page)
        expect(opened.page.locator("#connection")).to_have_text("live")
        names = [text.split()[0] for text in column(opened.page, "campaigns", 0)]
        assert names == ["deeper", "small"]
        opened.page.get_by_role("button", name="Campaign", exact=True).click()
        opened.page.get_by_role("button", name="Campaign", exact=True).click()
        heading = opened.page.locator("#campaigns th").first
        expect(heading).to_have_attribute("aria-sort", "descending")
        assert [text.split()[0] for text in column(opened.page, "campaigns", 0)] == ["small", "deeper"]
        opened.page.wait_for_timeout(2500)  # blocks that were sent meanwhile keep the order
        assert [text.split()[0] for text in column(opened.page, "campaigns", 0)] == ["small", "deeper"]


def test_without_the_link_there_is_nothing(browser: Browser, web: Web) -> None:
    with tab(browser, expected="status of 401") as opened:
        answer = opened.page.goto(web.base)
        assert answer is not None
        assert answer.status == 401
        opened.page.goto(web.link)
        assert opened.page.evaluate("document.cookie") == "", "scripts cannot read the cookie"


def test_jobs_are_filtered_and_the_address_keeps_it(browser: Browser, web: Web) -> None:
    with tab(browser) as opened:
        web.go(opened.page, "/campaigns/1")
        opened.page.get_by_role("combobox", name="Kind").select_option("forgery")
        opened.page.get_by_role("combobox", name="State").select_option("done")
        opened.page.get_by_role("combobox", name="Engine").select_option("sat")
        opened.page.get_by_role("spinbutton", name="Seconds, at least").fill("0")
        opened.page.get_by_role("button", name="Filter").click()
        expect(opened.page).to_have_url(re.compile(r"kind=forgery&state=done&.*engine=sat&.*least_s=0"))
        assert set(column(opened.page, "jobs-table", 1)) == {"forgery"}
        opened.page.reload()
        assert set(column(opened.page, "jobs-table", 1)) == {"forgery"}
        assert all("engine sat" in place for place in column(opened.page, "jobs-table", 3))
        expect(opened.page.get_by_role("combobox", name="Engine")).to_have_value("sat")
        seconds = opened.page.get_by_role("button", name="Seconds", exact=True)
        seconds.click()
        values = opened.page.locator("#jobs-table td data").evaluate_all(
            "found => found.map(one => +one.value)"
        )
        assert len(values) > 3
        assert values == sorted(values)


def test_results_and_a_forged_instance_are_drawn(browser: Browser, web: Web) -> None:
    with tab(browser) as opened:
        web.go(opened.page, "/campaigns/1")
        expect(opened.page.locator(".card .number").first).to_be_visible(timeout=60_000)
        figure = opened.page.locator("[data-block=overview] .chart svg").first
        expect(figure).to_be_visible()
        assert figure.evaluate("one => one.getBoundingClientRect().width") > 100
        _points_at_marks(opened.page, opened.page.locator("[data-block=overview] .chart").first)
        opened.page.locator("#jobs-table a").last.click()
        expect(opened.page.locator("h1")).to_contain_text("forgery job")


def _points_at_marks(page: Page, chart: Locator) -> None:
    """Point at each fifth mark of a chart, and reach others by keys: its text must be shown, beside it."""
    marks, tooltip = chart.locator("[role=graphics-symbol]"), chart.locator(".tooltip")
    texts = marks.evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(texts) > 2
    for place in range(0, len(texts), 5):
        marks.nth(place).scroll_into_view_if_needed()
        box = marks.nth(place).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(tooltip).to_be_visible()
        assert tooltip.inner_text() in texts
    page.mouse.move(0, 0)
    expect(tooltip).to_be_hidden()
    marks.first.focus()
    expect(tooltip).to_have_text(texts[0])
    page.keyboard.press("ArrowRight")
    expect(tooltip).to_have_text(texts[1])
    page.keyboard.press("End")
    expect(tooltip).to_have_text(texts[-1])
    page.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()


def test_everything_can_be_done_with_the_keyboard(browser: Browser, web: Web) -> None:
    with tab(browser) as opened:
        page = opened.page
        web.go(page)
        expect(page.locator("#connection")).to_have_text("live")

        def focused() -> str:
            return str(page.evaluate("document.activeElement.textContent.trim()"))

        def tab_to(text: str) -> None:
            for _ in range(60):
                page.keyboard.press("Tab")
                if focused() == text:
                    return
            raise AssertionError(f"{text} cannot be reached")

        page.keyboard.press("Tab")
        assert focused() == "Skip to content"
        assert page.locator(".skip").bounding_box()["x"] >= 0, "it is seen while it has the focus"
        tab_to("Pause updates")
        page.keyboard.press("Enter")
        expect(page.locator("#connection")).to_have_text("paused")
        page.keyboard.press("Enter")
        expect(page.locator("#connection")).to_have_text("live")
        tab_to("Errors")
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Errors")
        page.wait_for_timeout(2500)
        assert focused() == "Errors", "a block that is replaced keeps the focus"
        tab_to("small")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("small")
        outline = page.locator("nav a").first
        outline.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert outline.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "path", ["/", "/campaigns/1?state=done", "/jobs/8", "/compare?first=1&second=2", "/campaigns/99"]
)
def test_pages_are_accessible_and_fit_a_phone(browser: Browser, web: Web, path: str, dark: bool) -> None:
    with tab(browser, dark=dark, expected="status of 404" if "99" in path else "") as opened:
        web.go(opened.page, path)
        if "campaigns/1" in path:
            expect(opened.page.locator(".card .number").first).to_be_visible(timeout=60_000)
        assert opened.not_accessible(colours_only=dark) == []
        assert opened.width() == 1280
        opened.page.set_viewport_size({"width": 390, "height": 844})
        assert opened.width() == 390


def test_a_running_campaign_fills_in(browser: Browser, place: Place) -> None:
    (place.directory / "c.toml").write_text(small_campaign(signatures=6, instances=100))
    assert place.wm("db", "upgrade").returncode == 0
    with served(place) as web, tab(browser) as opened:
        web.go(opened.page)
        expect(opened.page.get_by_text("This store has no campaign yet")).to_be_visible()
        with place.running("campaign", "run", "c.toml", "--workers", "1") as running:
            opened.page.get_by_role("link", name="small").click(timeout=60_000)
            bar = opened.page.locator("[data-block=progress] progress")
            seen, end = set(), time.monotonic() + 200
            while running.poll() is None:
                assert time.monotonic() < end
                seen.add(bar.get_attribute("value"))
                opened.page.wait_for_timeout(200)
            assert running.returncode == 0, running.communicate(timeout=30)[1]
        assert len(seen) > 2, "it grew without a reload"
        expect(opened.page.locator(".state-finished").first).to_be_visible()
        expect(bar).to_have_attribute("value", str(bar.get_attribute("max")))
        expect(opened.page.locator(".card.good, .card.bad").first).to_be_visible(timeout=60_000)
        drawn = opened.page.locator("[data-block=overview] .chart svg").first
        expect(drawn).to_have_attribute("aria-label", re.compile("sat"), timeout=60_000)


def test_actions_ask_for_the_right(browser: Browser, finished: Place) -> None:
    with finished.store() as store, store.write() as connection:
        connection.exec_driver_sql("UPDATE campaign SET state = 'interrupted', finished_at = NULL")
        connection.exec_driver_sql("UPDATE job SET state = 'ready' WHERE id = (SELECT max(id) FROM job)")
    with served(finished, "--allow-actions") as web, tab(browser) as opened:
        web.go(opened.page, "/campaigns/1")
        opened.page.get_by_role("button", name="Cancel campaign").click()
        expect(opened.page.locator(".state-cancelled").first).to_be_visible()
        expect(opened.page.get_by_role("button", name="Cancel campaign")).to_have_count(0)
    assert finished.record().state.value == "cancelled"


def test_a_page_that_never_answers_ends_its_test() -> None:
    """In a process of its own, as the other tests' browser is driven from this one."""
    script = """
from tests.system import browsing

with browsing.browser() as opened, browsing.bounded(5):
    opened.new_page().evaluate("() => { for (;;); }")
"""
    done = ending.run([sys.executable, "-c", script], code=1, cwd=ROOT)
    assert "TimeoutError: nothing came of it within 5 s" in done.stderr


def test_report_tells_what_its_marks_show(browser: Browser, report: Path) -> None:
    for width in (1280, 390):
        with tab(browser, width=width, height=900) as opened:
            opened.page.goto(report.as_uri())
            _points_at_marks(opened.page, opened.page.locator("#accuracy .chart").first)
            marks = opened.page.locator("[role=graphics-symbol][tabindex='0']")
            assert marks.count() <= opened.page.locator(".chart svg").count(), "one stop for each chart"


def test_report_sorts_filters_and_saves(browser: Browser, report: Path) -> None:
    with tab(browser) as opened:
        page = opened.page
        page.goto(report.as_uri())
        table = page.locator("details:has(#detections-table)")
        table.locator("summary").click()
        table.get_by_role("button", name="Correct").click()
        place = table.locator("thead th").evaluate_all("all => all.findIndex(one => one.ariaSort)")
        cells = table.locator(f"tbody tr > :nth-child({place + 1}) data")
        values = cells.evaluate_all("all => all.map(one => +one.value)")
        assert len(set(values)) > 1
        assert values == sorted(values)
        with page.expect_download() as download:
            table.get_by_role("button", name="Save as csv").click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert download.value.suggested_filename == "detections-table.csv"
        assert len(lines) == 1 + page.locator("#detections-table tbody tr").count()


def test_report_is_accessible_with_everything_open(browser: Browser, report: Path) -> None:
    for dark in (False, True):
        with tab(browser, dark=dark) as opened:
            opened.page.goto(report.as_uri())
            opened.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert opened.not_accessible(colours_only=dark) == []
    with tab(browser, width=390, height=844) as opened:
        opened.page.goto(report.as_uri())
        assert opened.width() == 390


def test_cards_are_told_apart_without_colour(browser: Browser, report: Path) -> None:
    with tab(browser) as opened:
        opened.page.goto(report.as_uri())
        cards = opened.page.locator(".card")
        assert cards.count() == 5
        styles = cards.evaluate_all(
            "all => all.map(one => [one.classList[1], getComputedStyle(one).borderTopStyle])"
        )
        expected = {"good": "solid", "mixed": "dashed", "open": "dotted", "bad": "double"}
        assert all(expected[grade] == style for grade, style in styles)


def test_report_prints_all_tables_on_white(browser: Browser, report: Path) -> None:
    with tab(browser, dark=True) as opened:
        opened.page.goto(report.as_uri())
        opened.page.emulate_media(media="print")
        body = opened.page.locator("body")
        assert body.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
        assert body.evaluate("one => getComputedStyle(one).color") == "rgb(0, 0, 0)"
        closed = opened.page.locator("#accuracy details table").first
        assert closed.evaluate("one => one.getBoundingClientRect().height") > 20


def test_screens_look_as_they_should(browser: Browser, report: Path) -> None:
    """Loosely: as much ink as a page of text and cards has, and five cards of equal height in one row."""
    matplotlib = pytest.importorskip("matplotlib.image")
    for dark in (False, True):
        with tab(browser, dark=dark) as opened:
            opened.page.goto(report.as_uri())
            picture = matplotlib.imread(io.BytesIO(opened.page.screenshot()))[..., :3].mean(axis=2)
            paper = np.median(picture)
            assert (paper < 0.2) == dark
            assert 0.02 < (np.abs(picture - paper) > 0.2).mean() < 0.3
            boxes = [card.bounding_box() for card in opened.page.locator(".card").all()]
            assert len({(round(box["y"]), round(box["height"])) for box in boxes if box}) == 1
