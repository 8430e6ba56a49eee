"""Time the pages of `wm web` on a store of 10^6 jobs with outcomes: every page must be there within 100 ms.

The jobs are stored by plain inserts: 99.9% of them done, a thousand failed, a thousand cancelled; steps of other
kinds come first, so that some filters match few jobs, others nearly all. Two more campaigns surround the large
one. Times are those of whole requests to the application, without a network and without looks at the store in
the background; the first request of each page, which fills caches, is shown beside the median and the slowest of
the others. Counting all jobs, which the page leaves to its background, is timed on its own.

Usage: python -m research.benchmarks.pages [--jobs 1000000] [--store sqlite postgresql] [-o FILE]
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import sqlalchemy as sa

from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState, campaign_job, cell, job, outcome
from orchestrator.web.app import make_app
from orchestrator.web.guard import Access
from research.benchmarks.common import add_store, end_what_was_started, markdown, parser, save_results
from research.benchmarks.stores import opened, planned
from wm.attacks.forgery import BATCH
from workers.jobs.forging import ForgeryParameters

SPEC = """
name = "{name}"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
[[attack]]
kind = "forgery"
eps = [0.1, 0.3]
[[attack]]
kind = "detection"
"""

_ROWS_AT_ONCE = 20_000
REQUESTS = 15
_LIMIT_S = 0.1
_RARE = 1000
"""One job in so many has failed, one in as many is cancelled."""


@dataclass(frozen=True)
class Row:
    """Times of one page in seconds."""

    store: str
    page: str
    first: float
    median: float
    slowest: float


def fill(store: Store, jobs: int) -> int:
    """Store a campaign of so many jobs with outcomes between two small ones; return its id."""
    _small(store, "before")
    made = create_campaign(store, parse_spec(SPEC.format(name="large")), iter(()), {"python": "3"})
    with store.read() as connection:
        start = connection.execute(sa.select(sa.func.max(job.c.id))).scalar_one() + 1
    with store.write() as connection:
        cells = [
            connection.execute(
                sa.insert(cell)
                .values(campaign_id=made, scheme="paper", trigger_share=0.02, repeat=repeat, eps=eps)
                .returning(cell.c.id)
            ).scalar_one()
            for repeat in range(100)
            for eps in (0.1, 0.3)
        ]
    for table, rows in (
        (job, _jobs(start, jobs)),
        (campaign_job, _places(start, jobs, made, cells)),
        (outcome, _outcomes(start, jobs)),
    ):
        _insert(store, table, rows)
    if not store.is_sqlite:  # ids were given by hand
        with store.write() as connection:
            connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('job', 'id'), max(id)) FROM job")
    campaigns.mark(store, made, CampaignState.INCOMPLETE)
    _small(store, "after")
    if not store.is_sqlite:  # as autovacuum would within minutes; SQLite does nothing of the kind
        with store.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    return made


def _insert(store: Store, table: sa.Table, rows: Iterator[dict[str, Any]]) -> None:
    if store.is_sqlite:
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            with store.write() as connection:
                connection.execute(sa.insert(table), some)
        return
    first = next(rows)
    command = f"COPY {table.name} ({', '.join(first)}) FROM STDIN"
    with store.write() as connection:
        cursor: Any = connection.connection.cursor()  # psycopg's own: SQLAlchemy has no COPY
        with cursor.copy(command) as copy:
            for row in itertools.chain([first], rows):
                copy.write_row([json.dumps(one) if isinstance(one, dict) else one for one in row.values()])


def _small(store: Store, name: str) -> None:
    create_campaign(store, parse_spec(SPEC.format(name=name)), planned(100, name), {})


def _kind(place: int) -> str:
    return (
        "split" if place == 0 else "embed" if place < 100 else "detection" if place % 100 == 0 else "forgery"
    )


def _state(place: int) -> str:
    return {7: "failed", 13: "cancelled"}.get(place % _RARE, "done")


def _jobs(start: int, count: int) -> Iterator[dict[str, Any]]:
    given = ForgeryParameters(
        **{"engine": "sat", "ones_share": 0.5, "repeat": 0, "signature": 0, "eps": 0.5},
        first=0,
        count=BATCH,
        seed=1,
        timeout_s=1.0,
    ).model_dump(mode="json")
    for place in range(count):
        yield {
            "id": start + place,
            "key": f"{place:064x}",
            "kind": _kind(place),
            "parameters": given,
            "weight": BATCH,
            "state": _state(place),
            "failures": 0,
        }


def _places(start: int, count: int, campaign_id: int, cells: list[int]) -> Iterator[dict[str, Any]]:
    for place in range(count):
        yield {
            "campaign_id": campaign_id,
            "job_id": start + place,
            "cell_id": cells[place % len(cells)],
            "position": place,
        }


def _outcomes(start: int, count: int) -> Iterator[dict[str, Any]]:
    log = "Traceback (most recent call last):\n" + "  in a function\n" * 20 + "ValueError: made up"
    for place in range(count):
        state = _state(place)
        if state != "cancelled":
            yield {
                "job_id": start + place,
                "status": "done" if state == "done" else "error",
                "result": {"instances": BATCH} if state == "done" else None,
                "timings": {"job": 1.0},
                "error": "" if state == "done" else log,
                "owner": "host:1:2:0",
                "recorded_at": 1.7e9 + place,
            }


def pages(campaign_id: int, start: int, jobs: int) -> dict[str, str]:
    """Return what is asked for: description and address."""
    at = f"/campaigns/{campaign_id}"
    middle, end = start + jobs // 2, start + jobs - 60
    return {
        "all campaigns": "/",
        "campaign, its first jobs": at,
        "jobs in the middle": f"{at}?after={middle}",
        "last jobs": f"{at}?after={end}",
        "back from the last jobs": f"{at}?before={end}",
        "done (nearly all), in the middle": f"{at}?state=done&after={middle}",
        "failed (1 in 1,000)": f"{at}?state=failed",
        "failed, in the middle": f"{at}?state=failed&after={middle}",
        "running (none)": f"{at}?state=running",
        "detection (1 in 100)": f"{at}?kind=detection&after={middle}",
        "embed (99, at the beginning)": f"{at}?kind=embed",
        "embed, after its last": f"{at}?kind=embed&after={middle}",
        "embed, failed (1 in all)": f"{at}?kind=embed&state=failed",
        "forgery, done (nearly all)": f"{at}?kind=forgery&state=done&after={middle}",
        "detection, failed (none)": f"{at}?kind=detection&state=failed",
        "eps 0.1 (half of all), in the middle": f"{at}?eps=0.1&after={middle}",
        "one place of the grid (1 in 200)": f"{at}?eps=0.1&repeat=7",
        "the same, failed (1 in 200,000)": f"{at}?eps=0.1&repeat=7&state=failed",
        "the same, at least 2 s (none)": f"{at}?eps=0.1&repeat=7&least_s=2",
        "at most 2 s (all), in the middle": f"{at}?most_s=2&after={middle}",
        "at least 2 s (none), its first look": f"{at}?least_s=2",
        "one job": f"/jobs/{middle}",
    }


async def timed(store: Store, asked: dict[str, str]) -> list[tuple[str, list[float]]]:
    """Return the seconds of several requests of each page, after one look at the store."""
    app = make_app(store, Access(frozenset({"127.0.0.1"}), token=None))
    app.state.live.look()
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        found = []
        for name, address in asked.items():
            times = []
            for _ in range(REQUESTS):
                started = time.perf_counter()
                answer = await client.get(address)
                times.append(time.perf_counter() - started)
                answer.raise_for_status()
            found.append((name, times))
    return found


def table(rows: Sequence[Row]) -> str:
    """Return the times in milliseconds, a line for each page and a pair of columns for each store."""
    found = {(row.page, row.store): row for row in rows}
    stores = list(dict.fromkeys(row.store for row in rows))
    titles = ["page", *(f"{store}: {what}" for store in stores for what in ("first", "median", "slowest"))]
    lines = [
        [
            page,
            *(
                f"{1e3 * getattr(found[page, store], what):.0f}"
                for store in stores
                for what in ("first", "median", "slowest")
            ),
        ]
        for page in dict.fromkeys(row.page for row in rows)
    ]
    return markdown(titles, lines)


def main() -> int:
    """Run the benchmark; return 1 if a page takes longer than it may, at the median."""
    made = parser(__doc__, seed=None)
    made.add_argument("--jobs", type=int, default=1_000_000)
    add_store(made)
    given = made.parse_args()
    end_what_was_started()
    rows, counts = [], {}
    for kind in given.store:
        with opened(kind) as store:
            started = time.perf_counter()
            campaign_id = fill(store, given.jobs)
            print(f"{kind}: {given.jobs:,} jobs stored in {time.perf_counter() - started:.0f} s", flush=True)
            started = time.perf_counter()
            campaigns.progress(store, campaign_id)
            counts[kind] = time.perf_counter() - started
            print(f"{kind}: all jobs counted in {counts[kind]:.2f} s, in the background", flush=True)
            start = store.rows(
                sa.select(sa.func.min(campaign_job.c.job_id)).where(campaign_job.c.campaign_id == campaign_id)
            )[0][0]
            for name, times in asyncio.run(timed(store, pages(campaign_id, start, given.jobs))):
                first, *others = times
                row = Row(kind, name, first, float(np.median(others)), max(others))
                rows.append(row)
                print(
                    f"{kind:10}  {name:34}  first {1e3 * row.first:6.1f} ms  "
                    f"median {1e3 * row.median:6.1f} ms  slowest {1e3 * row.slowest:6.1f} ms",
                    flush=True,
                )
    save_results(given, rows, count_s=counts)
    return int(any(row.median > _LIMIT_S for row in rows))


if __name__ == "__main__":
    sys.exit(main())
