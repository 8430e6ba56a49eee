"""Pages of jobs, on both stores: against all jobs, filtered and cut in Python."""

from __future__ import annotations

import itertools

import pytest
import sqlalchemy as sa

from orchestrator.errors import NotFoundError
from orchestrator.plan import GridPoint
from orchestrator.store import wanted as searching
from orchestrator.store.browse import coordinates, failed_by_kind, page_of_jobs
from orchestrator.store.details import job_details, witness_of
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import JobState, forgery_answer, job
from orchestrator.store.wanted import Wanted
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer

_KINDS = ("split", "detection", "forgery")
_STATES = (JobState.DONE, JobState.FAILED, JobState.READY)


@pytest.fixture
def browsed(workshop):
    """Two campaigns of 60 jobs of two kinds in three states; the second shares a third of the first's."""
    jobs = [workshop.job(f"{place:03}", kind=_KINDS[place % 2]) for place in range(100)]
    first, second = workshop.campaign(*jobs[:60]), workshop.campaign(*jobs[40:], name="second")
    with workshop.store.write() as connection:
        for row in connection.execute(sa.select(job.c.id)).all():
            connection.execute(sa.update(job).where(job.c.id == row.id).values(state=_STATES[row.id % 5 % 3]))
    return workshop.store, first, second


def _expected(store, campaign_id, kind, state):
    return [
        row.id
        for row in page_of_jobs(store, campaign_id, Wanted(_KINDS), limit=1000).jobs
        if kind in (None, row.kind) and state in (None, row.state)
    ]


@pytest.mark.parametrize("kind", [None, "split", "detection", "forgery"])
def test_pages_together_are_all_jobs_wanted(browsed, kind):
    store, *both = browsed
    for campaign_id, state in itertools.product(both, [None, *_STATES, JobState.BLOCKED]):
        wanted = Wanted((kind,), state, is_every_kind=False) if kind else Wanted(_KINDS, state)
        expected = _expected(store, campaign_id, kind, state)
        seen, after, pages = [], None, []
        while not seen or pages[-1].has_later:
            pages.append(page_of_jobs(store, campaign_id, wanted, after=after, limit=7))
            assert pages[-1].has_earlier == (after is not None)
            if not pages[-1].jobs:
                break
            seen += [one.id for one in pages[-1].jobs]
            after = seen[-1]
        assert seen == expected
        if len(pages) > 2:
            back = page_of_jobs(store, campaign_id, wanted, before=pages[-1].jobs[0].id, limit=7)
            assert (back.jobs, back.has_later) == (pages[-2].jobs, True)
            first = page_of_jobs(store, campaign_id, wanted, before=pages[1].jobs[0].id, limit=7)
            assert (first.jobs, first.has_earlier) == (pages[0].jobs, False)


def test_a_campaigns_pages_hold_no_others_jobs(browsed):
    store, first, second = browsed
    counts = [len(_expected(store, campaign_id, None, None)) for campaign_id in (first, second)]
    assert counts == [60, 60]
    assert len(set(_expected(store, first, None, None)) & set(_expected(store, second, None, None))) == 20


@pytest.mark.parametrize("analyzed", [False, True])
def test_a_page_is_found_without_reading_all_jobs(browsed, analyzed):
    """Whatever the database guesses of the numbers: walks along indexes, which end with the page."""
    store, first, _ = browsed
    if not store.is_sqlite:
        pytest.skip("PostgreSQL's plans depend on the size: research/benchmarks/pages.py has 10^6 jobs")
    statements = []

    def listen(_connection, _cursor, statement, parameters, *_rest):
        if "UNION ALL" in statement:
            statements.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    page_of_jobs(store, first, Wanted(_KINDS, JobState.FAILED), after=3)
    sa.event.remove(sa.Engine, "before_cursor_execute", listen)
    ((statement, parameters),) = statements
    with store.write() as connection:
        if analyzed:
            connection.exec_driver_sql("ANALYZE")
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    plan = "\n".join(str(row[-1]) for row in rows)
    assert "ix_job_kind_state_id" in plan, plan
    assert "SCAN job" not in plan, plan


@pytest.fixture
def gridded(workshop):
    """A campaign of 90 jobs at nine points of the grid, every third without an outcome."""
    points = [GridPoint(repeat=repeat, eps=eps) for repeat in range(3) for eps in (0.1, 0.3, 0.5)]
    jobs = [
        workshop.job(f"{place:03}", kind=_KINDS[place % 2], cell=points[place % 9]) for place in range(90)
    ]
    made = workshop.campaign(*jobs)
    for place in range(90):
        if place % 3:
            workshop.finish([f"{place:03}"], Outcome(OutcomeStatus.DONE, {}, {"job": place / 10}))
    return workshop.store, made


@pytest.mark.parametrize(
    "more",
    [
        {"place": {"eps": 0.3}},
        {"place": {"eps": 0.3, "repeat": 1}},
        {"place": {"repeat": 2}, "least_s": 4.0},
        {"least_s": 2.0, "most_s": 6.05},
        {"most_s": 0.05},
        {"place": {"eps": 0.5}, "kinds": ("detection",), "is_every_kind": False},
        {"place": {"eps": 0.1}, "state": JobState.READY},
    ],
)
def test_narrowed_pages_together_are_all_jobs_wanted(gridded, monkeypatch, more):
    store, made = gridded
    wanted = Wanted(**{"kinds": _KINDS} | more)

    def is_wanted(row):
        taken = row.seconds
        return (
            row.kind in wanted.kinds
            and wanted.state in (None, row.state)
            and all(getattr(row.cell, name) == value for name, value in wanted.place.items())
            and (wanted.least_s is None or (taken is not None and taken >= wanted.least_s))
            and (wanted.most_s is None or (taken is not None and taken <= wanted.most_s))
        )

    every = page_of_jobs(store, made, Wanted(_KINDS), limit=1000).jobs
    expected = [row.id for row in every if is_wanted(row)]
    ways = {"after": (0, 1), "before": (every[-1].id + 1, -1)}
    for window, (name, (at, step)) in itertools.product((5, 10, 1000), ways.items()):
        for constant, size in (("WINDOW", window), ("SCATTERED", window), ("AT_ONCE", 7)):
            monkeypatch.setattr(searching, constant, size)
        found = []
        while True:
            page = page_of_jobs(store, made, wanted, limit=4, **{name: at})
            ids = [row.id for row in page.jobs]
            found += ids[::step]
            is_more = page.has_later if step == 1 else page.has_earlier
            assert len(ids) <= 4
            assert not (is_more and page.looked_to is not None)
            if not is_more and page.looked_to is None:
                break
            at = page.looked_to if page.looked_to is not None else ids[::step][-1]
        assert found == expected[::step], (window, name)


def test_coordinates_have_their_values(gridded):
    store, made = gridded
    assert coordinates(store, made) == {"repeat": (0, 1, 2), "eps": (0.1, 0.3, 0.5)}


def test_failures_are_counted_by_kind_and_status(workshop):
    jobs = [workshop.job(f"{place}", kind="detection") for place in range(6)]
    campaign_id = workshop.campaign(*jobs[:4])
    workshop.campaign(*jobs[4:], name="other")
    ledger = StoreLedger(workshop.store)
    ids = [row.id for row in workshop.store.rows(sa.select(job.c.id).order_by(job.c.id))]
    statuses = (OutcomeStatus.ERROR, OutcomeStatus.ERROR, OutcomeStatus.TIMEOUT, OutcomeStatus.DONE)
    for job_id, status in zip(ids, (*statuses, *[OutcomeStatus.ERROR] * 2), strict=True):
        ledger.record(job_id, "me", Outcome(status, None, {}, "why"), {})
    found = failed_by_kind(workshop.store, campaign_id, ["detection", "split"])
    assert found == {("detection", "error"): 2, ("detection", "timeout"): 1}
    assert failed_by_kind(workshop.store, campaign_id, ["split"]) == {}


def test_details_have_needs_attempts_and_answers(workshop):
    need = workshop.job("need", kind="split")
    campaign_id = workshop.campaign(need, workshop.job("job", "need"))
    first, second = (row.id for row in workshop.store.rows(sa.select(job.c.id).order_by(job.c.id)))
    ledger = StoreLedger(workshop.store)
    ledger.record(first, "me", Outcome(OutcomeStatus.DONE, {"a": 1}, {"job": 1.0}), {})
    ledger.lease(second, "worker")
    ledger.save(second, [ForgeryAnswer(3, 7, "forged", 0.5, 0.1, "solver", b"1234")])
    found = job_details(workshop.store, second)
    assert [(one.id, one.kind, one.state, one.result) for one in found.needs] == [
        (first, "split", JobState.DONE, {"a": 1})
    ]
    assert (found.owner, found.status, found.recorded_at) == ("worker", None, None)
    assert found.campaigns[0][0] == campaign_id
    assert [(one.instance, one.row, one.has_witness) for one in found.answers] == [(3, 7, True)]
    assert witness_of(workshop.store, second, 3) == (7, 0.5, b"1234")
    with pytest.raises(NotFoundError, match="no witness of instance 4"):
        witness_of(workshop.store, second, 4)
    with pytest.raises(NotFoundError, match="no job 99"):
        job_details(workshop.store, 99)
    assert workshop.store.rows(sa.select(forgery_answer.c.job_id))[0].job_id == second
