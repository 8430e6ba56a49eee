"""What the pages show, held against the store."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.errors import StoreUnavailableError
from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.report.data import Findings
from orchestrator.report.sections import cards, sections
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns, launched
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.services import beat_orchestrator
from orchestrator.store.tables import CampaignState, JobState, forgery_answer, job
from orchestrator.web import app as application
from orchestrator.web.live import Live
from tests.orchestrator.web.conftest import ACTIVE, MakeSite, Site
from tests.report_page import Page, leave_undrawn
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.kinds import JobKind

SPEC = """
name = "{name}"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
[[attack]]
kind = "detection"
"""
HOSTILE = "<script>alert(1)</script> \"'&{{ 7 * 7 }}"


def add_campaign(store, *, name: str = "half", failing: int = 3, ready: int = 120) -> int:
    """Store a running campaign of a split that is done, detections that failed, and others that are ready."""
    kinds = [JobKind.SPLIT, *["detection"] * (failing + ready)]
    planned = [
        PlannedJob(f"{name} {place}", kind, {}, (), GridPoint(scheme="paper", repeat=place), 1)
        for place, kind in enumerate(kinds)
    ]
    made = campaigns.create_campaign(store, parse_spec(SPEC.format(name=name)), iter(planned), {})
    campaigns.mark(store, made, CampaignState.RUNNING)
    ledger = StoreLedger(store)
    ids = [row.id for row in store.rows(sa.select(job.c.id).order_by(job.c.id))][-len(planned) :]
    ledger.record(ids[0], "me", Outcome(OutcomeStatus.DONE, {"a": 1}, {"job": 2.0}), {})
    for job_id in ids[1 : 1 + failing]:
        error = f"Traceback (most recent call last):\n  in f\nValueError: {HOSTILE}"
        ledger.record(job_id, "me", Outcome(OutcomeStatus.ERROR, None, {"job": 1.0}, error), {})
    return made


def rows_of(page: Page, table: str) -> list[list[str]]:
    return [[" ".join(cell.text.split()) for cell in row] for row in page.tables.get(table, [])[1:]]


def test_home_of_an_empty_store_says_what_to_do(store, site_of: MakeSite) -> None:
    assert "wm campaign run FILE" in site_of(store).page("/").text


def test_home_lists_campaigns_with_state_progress_and_errors(finished, site_of: MakeSite) -> None:
    add_campaign(finished)
    newest, oldest = rows_of(site_of(finished).page("/"), "campaigns")
    progress = campaigns.progress(finished, 1)
    assert newest[:3] == ["half id 2", "\N{BLACK RIGHT-POINTING TRIANGLE} running", "4 of 124"]
    assert newest[5].startswith("3 error")
    assert oldest[1:3] == [
        "\N{CHECK MARK} finished",
        f"{progress.done_weight:,} of {progress.total_weight:,}",
    ]
    assert oldest[5] == "none"


def test_a_page_before_the_first_look_says_so(finished, site_of: MakeSite) -> None:
    site = site_of(finished)
    site.live.forget(1)
    assert "counting" in site.page("/").text
    assert "are being counted" in site.page("/campaigns/1").text


def test_campaign_shows_jobs_by_kind_and_state(finished, site_of: MakeSite) -> None:
    page = site_of(finished).page("/campaigns/1")
    expected = results.frame(finished, 1, "jobs").groupby("kind").size()
    assert {row[0]: int(row[1]) for row in rows_of(page, "kinds")} == expected.to_dict()


def test_campaign_shows_first_errors_with_their_log(store, site_of: MakeSite) -> None:
    made = add_campaign(store, failing=8)
    page = site_of(store).page(f"/campaigns/{made}")
    assert page.text.count("Traceback (most recent call last):") == 5
    assert f"ValueError: {HOSTILE}" in page.text
    assert len(page.all_of("script")) == 3, "only those of every page"


def test_campaign_shows_running_queries_and_workers(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    ready = store.rows(sa.select(job.c.id).where(job.c.state == JobState.READY))[0].id
    StoreLedger(store).lease(ready, "host:1:2:0")
    page = site_of(store).page(f"/campaigns/{made}")
    ((name, _, seconds, owner, place),) = rows_of(page, "running")
    assert (name, seconds, owner) == (f"detection {ready}", "0", "host:1:2:0")
    assert place == "scheme paper, repeat 4"


def test_pages_of_jobs_follow_one_another(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    site, seen, path = site_of(store), [], f"/campaigns/{made}"
    while path:
        page = site.page(path)
        seen.append([int(row[0]) for row in rows_of(page, "jobs-table")])
        later = [str(link["href"]) for link in page.all_of("a") if link.get("rel") == "next"]
        path = f"/campaigns/{made}{later[0]}" if later else ""
    assert [len(part) for part in seen] == [50, 50, 24]
    assert [one for part in seen for one in part] == [
        row.id for row in store.rows(sa.select(job.c.id).order_by(job.c.id))
    ]
    (earlier,) = [str(link["href"]) for link in page.all_of("a") if link.get("rel") == "prev"]
    back = site.page(f"/campaigns/{made}{earlier}")
    assert [int(row[0]) for row in rows_of(back, "jobs-table")] == seen[1]


def test_pages_are_the_same_on_postgresql(store, postgres_url, site_of: MakeSite) -> None:
    with closing(Store(postgres_url)) as other:
        other.upgrade()
        shown = []
        for each in (store, other):
            made = add_campaign(each)
            site = site_of(each)
            addresses = ("", "?state=failed", "?kind=detection&after=50", "?state=ready&before=90")
            pages = [site.page(f"/campaigns/{made}{query}") for query in addresses]
            shown.append([rows_of(page, "jobs-table") for page in pages])
            shown[-1] += [rows_of(pages[0], "kinds"), rows_of(site.page("/jobs/2"), "nothing")]
        assert shown[0] == shown[1]
        assert [len(rows) for rows in shown[0]] == [50, 3, 50, 50, 2, 0]


def test_filters_are_in_the_address(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    page = site_of(store).page(f"/campaigns/{made}?kind=detection&state=failed")
    listed = rows_of(page, "jobs-table")
    assert len(listed) == 3
    assert all(row[1] == "detection" and row[2].endswith("failed") for row in listed)
    chosen = [found for tag, found in page.attributes if tag == "option" and "selected" in found]
    assert len(chosen) == 2
    nothing = site_of(store).page(f"/campaigns/{made}?kind=split&state=failed")
    assert "No job of this campaign is so." in nothing.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("state=nope", "state=nope: a job is one of waiting, ready"),
        ("kind=nope", "kind=nope: this campaign has split"),
        ("after=x", "after=x: not a whole number"),
        ("repeat=7", "repeat=7: this campaign has 0"),
        ("least_s=-1", "least_s=-1: not a number of seconds"),
        ("most_s=long", "most_s=long: not a number of seconds"),
        ("after=1&before=2", "give after or before, not both"),
        ("after=99999999999999999999", "not a whole number"),
    ],
)
def test_an_address_that_makes_no_sense_is_explained(finished, site_of: MakeSite, query, said) -> None:
    answer = site_of(finished).get(f"/campaigns/1?{query}")
    assert answer.status_code == 400
    assert said in Page(answer.text).text


@pytest.mark.parametrize(
    "path",
    [
        *("/campaigns/9", "/jobs/9999", "/campaigns/1/figures/nope.svg", "/static/nope", "/nope"),
        "/campaigns/1/figures/accuracy-over-trigger-share.gif",
        *("/jobs/1/witnesses/0.svg", "/compare?first=1&second=9", "/static/..%2fapp.py"),
    ],
)
def test_what_is_not_there_is_not_found(finished, site_of: MakeSite, path: str) -> None:
    answer = site_of(finished).get(path)
    assert answer.status_code == 404
    assert "There is no such page" in Page(answer.text).text


def test_a_browser_finds_the_icon_where_it_looks_unasked(finished, site_of: MakeSite) -> None:
    site = site_of(finished)
    answer = site.get("/favicon.ico")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.content == site.get("/static/icon.svg").content


def test_a_store_that_does_not_answer_is_said_so(finished, site_of: MakeSite, monkeypatch) -> None:
    site = site_of(finished)

    def away(*_: object) -> None:
        raise StoreUnavailableError("store: gone")

    monkeypatch.setattr(campaigns, "list_campaigns", away)
    assert site.get("/").status_code == 503
    site.live.look()
    assert "The store does not answer, trying again: store: gone" in site.page("/campaigns/1").text


def test_job_shows_parameters_inputs_and_outcome(finished, site_of: MakeSite) -> None:
    site = site_of(finished)
    detection = finished.rows(sa.select(job).where(job.c.kind == "detection"))[0]
    page = site.page(f"/jobs/{detection.id}")
    assert json.dumps(detection.parameters["seed"]) in page.text
    assert re.search(r"embed \d+ ?: \N{CHECK MARK} done", page.text)
    assert detection.key in page.text
    frame = results.frame(finished, 1, "detection")
    assert str(frame["p_value_exact"].iloc[0])[:8] in page.text


def test_job_shows_answers_and_a_picture_of_each_witness(finished, site_of: MakeSite) -> None:
    with finished.write() as connection:
        at = connection.execute(sa.select(forgery_answer).limit(1)).one()
        connection.execute(
            sa.update(forgery_answer)
            .where(forgery_answer.c.job_id == at.job_id, forgery_answer.c.instance == at.instance)
            .values(status="forged", witness=b"\0\0\0?" * 30, distance=0.25)
        )
    site = site_of(finished)
    page = site.page(f"/jobs/{at.job_id}")
    answers = finished.rows(sa.select(forgery_answer).where(forgery_answer.c.job_id == at.job_id))
    assert len(rows_of(page, "answers")) == len(answers)
    picture = f"/jobs/{at.job_id}/witnesses/{at.instance}.svg"
    assert picture in [image["src"] for image in page.all_of("img")]
    answer = site.get(picture)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "worst radius" in answer.text


def test_results_so_far_are_the_cards_of_the_report(finished, site_of: MakeSite) -> None:
    site = site_of(finished)
    assert "Being read" in site.page("/campaigns/1").text
    site.live.draw()
    page = site.page("/campaigns/1")
    findings = Findings(finished, campaigns.get_campaign(finished, 1))
    for card in cards(sections(findings)):
        for _, answer in card.answers:
            assert f"{answer.number} {answer.of}" in page.text
    findings_tooltips = [text for text in page.tooltips if "mean accuracy" in text]
    assert len(findings_tooltips) == 3 * findings.frame("accuracy")["trigger_share"].nunique()
    figures = [str(link["href"]) for link in page.all_of("a") if "/figures/" in str(link["href"])]
    magic = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for link in figures[:3]:
        assert site.get(link).content.startswith(magic[link.rpartition(".")[2]])
    site.live.draw()  # nothing has changed: nothing is drawn


def test_report_is_the_one_of_the_command(finished, site_of: MakeSite, monkeypatch) -> None:
    leave_undrawn(monkeypatch)
    answer = site_of(finished).get("/campaigns/1/report")
    page = Page(answer.text)
    assert "Watermark report: small" in page.text
    (policy,) = (meta["content"] for meta in page.all_of("meta") if meta.get("http-equiv"))
    assert answer.headers["content-security-policy"] == policy


def _events(site: Site, page: str) -> list[dict[str, str]]:
    answer = site.get("/events", params={"page": page})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]


def test_events_bring_the_blocks_that_change(store, site_of: MakeSite, monkeypatch) -> None:
    made = add_campaign(store)
    monkeypatch.setattr(application, "LOOK_EVERY_S", 0.001)
    turns = iter(range(3))

    def is_stopping() -> bool:
        turn = next(turns)
        if turn == 1:
            ready = store.rows(sa.select(job.c.id).where(job.c.state == JobState.READY))[0].id
            StoreLedger(store).record(ready, "me", Outcome(OutcomeStatus.DONE, {}, {}), {})
            site.live.forget(made)
            site.live.look()
        return turn == 2

    site = site_of(store, is_stopping=is_stopping)
    first, second = _events(site, f"/campaigns/{made}?state=ready")
    assert set(first) == {"problem", "progress", "actions", "overview", "running", "errors", "jobs"}
    assert "<strong>4</strong> of 124" in first["progress"]
    assert set(second) == {"progress", "jobs"}
    assert "<strong>5</strong> of 124" in second["progress"]


def test_events_of_each_page_are_its_own_blocks(finished, site_of: MakeSite) -> None:
    site = site_of(finished)
    for path in ("/", "/campaigns/1", "/jobs/5"):
        (event,) = _events(site, path)
        page = site.get(path).text
        assert set(event) <= set(re.findall(r'data-block="(\w+)"', page)) | {"actions"}
        assert all(html in page for name, html in event.items() if name not in ("overview", "actions"))
    assert site.get("/events", params={"page": "/nope"}).status_code == 404


def _act(site: Site, what: str, one: int = 1, *, of: str = "campaigns", **more: str):
    given = {"form_token": site.access.form_token} | more
    return site.ask("POST", f"/{of}/{one}/{what}", data=given)


def test_forms_are_there_only_with_the_right(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    assert not [
        form for form in site_of(store).page(f"/campaigns/{made}").all_of("form") if form["method"] == "post"
    ]
    page = site_of(store, ACTIVE).page(f"/campaigns/{made}")
    actions = [str(form["action"]) for form in page.all_of("form") if form["method"] == "post"]
    assert actions == [f"/campaigns/{made}/retry", f"/campaigns/{made}/cancel"]


def test_a_form_of_another_site_does_nothing(store, site_of: MakeSite) -> None:
    add_campaign(store)
    site = site_of(store, ACTIVE)
    assert _act(site, "cancel", **{"form_token": "guess"}).status_code == 403
    assert site.ask("POST", "/campaigns/1/cancel").status_code == 403
    elsewhere = site.ask(
        "POST",
        "/campaigns/1/cancel",
        data={"form_token": site.access.form_token},
        headers={"sec-fetch-site": "cross-site"},
    )
    assert elsewhere.status_code == 403
    assert site.get("/campaigns/1/cancel").status_code == 405
    assert campaigns.get_campaign(store, 1).state is CampaignState.RUNNING


def test_cancel_cancels(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    site = site_of(store, ACTIVE)
    answer = _act(site, "cancel", made)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/campaigns/{made}")
    assert campaigns.progress(store, made).jobs[JobState.CANCELLED] == 120
    assert campaigns.get_campaign(store, made).state is CampaignState.CANCELLED
    site.live.look()
    assert "cancelled" in site.page(f"/campaigns/{made}").text
    refused = _act(site, "retry", made)
    assert refused.status_code == 409
    assert "wm campaign resume" in refused.text


def test_a_finished_campaign_cannot_be_cancelled(finished, site_of: MakeSite) -> None:
    assert _act(site_of(finished, ACTIVE), "cancel").status_code == 409
    assert campaigns.get_campaign(finished, 1).state is CampaignState.FINISHED


@pytest.mark.parametrize("has_orchestrator", [False, True])
def test_retry_queues_failed_jobs_and_hands_an_ended_campaign_over(
    store, site_of: MakeSite, has_orchestrator: bool
) -> None:
    made = add_campaign(store, ready=0)
    campaigns.mark(store, made, CampaignState.INCOMPLETE)
    if has_orchestrator:
        beat_orchestrator(store, "one", "1")
    site = site_of(store, ACTIVE)
    assert _act(site, "retry", made).status_code == 303
    assert campaigns.progress(store, made).jobs[JobState.READY] == 3
    assert launched.unfinished(store) == ([made] if has_orchestrator else [])
    site.live.look()
    text = site.page(f"/campaigns/{made}").text
    assert ("no worker is alive" if has_orchestrator else "not running: wm campaign resume") in text


def test_a_single_job_is_queued_again_while_its_campaign_goes_on(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    site = site_of(store, ACTIVE)
    failed = store.rows(sa.select(job.c.id).where(job.c.state == JobState.FAILED))[0].id

    def offered() -> list[str]:
        forms = site.page(f"/jobs/{failed}").all_of("form")
        return [str(form["action"]).rpartition("/")[2] for form in forms]

    assert offered() == ["retry"]
    assert _act(site, "retry", failed, of="jobs").headers["location"] == f"/jobs/{failed}"
    assert campaigns.progress(store, made).jobs[JobState.FAILED] == 2
    assert campaigns.get_campaign(store, made).state is CampaignState.RUNNING
    assert offered() == ["cancel"]
    assert _act(site, "cancel", failed, of="jobs").status_code == 303
    assert offered() == ["retry"]
    refused = _act(site, "cancel", failed, of="jobs")
    assert (refused.status_code, "is cancelled: only jobs" in refused.text) == (409, True)
    assert not site_of(store).page(f"/jobs/{failed}").all_of("form")
    assert site_of(store).ask("POST", f"/jobs/{failed}/retry").status_code == 403


def test_jobs_are_filtered_by_place_and_duration(store, site_of: MakeSite) -> None:
    made = add_campaign(store)
    site = site_of(store)
    page = site.page(f"/campaigns/{made}?repeat=2&kind=detection")
    (row,) = rows_of(page, "jobs-table")
    assert row[3] == "scheme paper, repeat 2"
    shown = [str(found["name"]) for found in page.all_of("select")]
    assert shown == ["kind", "state", "repeat"], "scheme has one value"
    assert [len(rows_of(site.page(f"/campaigns/{made}?{query}"), "jobs-table")) for query in (
        "least_s=1", "least_s=1.5", "most_s=1.5", "least_s=3"
    )] == [4, 1, 3, 0]  # fmt: skip


def test_campaigns_that_are_over_are_looked_at_once(finished, monkeypatch) -> None:
    live = Live(finished)
    live.look()
    first = live.seen(1)
    live.look()
    assert live.seen(1) is first
    campaigns.mark(finished, 1, CampaignState.RUNNING)
    live.look()
    assert live.seen(1) is not first


def test_a_campaign_deleted_meanwhile_ends_no_views(finished, monkeypatch) -> None:
    live = Live(finished)
    gone = replace(campaigns.get_campaign(finished, 1), id=7)
    known = campaigns.list_campaigns(finished)
    monkeypatch.setattr(campaigns, "list_campaigns", lambda _store: [gone, *known])
    live.look()
    assert (live.seen(7), live.problem) == (None, "")
    assert live.seen(1) is not None


def test_results_that_cannot_be_shown_are_said_so(finished, site_of: MakeSite, monkeypatch) -> None:
    site = site_of(finished)
    site.live.overview(1)

    def broken(_findings: Findings) -> None:
        raise ValueError("odd results")

    monkeypatch.setattr("orchestrator.web.live.answering", broken)
    site.live.draw()
    assert "Not yet: ValueError: odd results." in site.page("/campaigns/1").text


def test_every_page_is_well_formed_and_labelled(finished, site_of: MakeSite) -> None:
    add_campaign(finished)
    site = site_of(finished, replace(ACTIVE))
    site.live.overview(1)
    site.live.draw()
    for path in ("/", "/campaigns/1", "/campaigns/2", "/jobs/6", "/compare", "/compare?first=1&second=2"):
        page = site.page(path)
        ids = [str(found["id"]) for _, found in page.attributes if "id" in found]
        assert len(ids) == len(set(ids)), path
        labels = {str(found["aria-labelledby"]) for _, found in page.attributes if "aria-labelledby" in found}
        assert labels <= set(ids)
        assert not [
            name for _, found in page.attributes for name in found if name.startswith("on") or name == "style"
        ]
        assert all(image["alt"] for image in page.all_of("img"))
