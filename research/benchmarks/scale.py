"""Whether the orchestrator's time and memory stay within bounds as campaigns grow to 10^6 jobs.

    python -m research.benchmarks.scale [--jobs N ...] [--store sqlite postgresql] [--seconds S] [-o FILE]

For each size a forgery campaign of the usual batches is planned and stored, as `wm campaign launch` does
it, in a process of its own; then a real `wm orchestrate` feeds it for some seconds to a worker that answers
at once. Reported are seconds, the peak of resident memory of both processes, and the rate of jobs. Planning
10^6 queries is 10,000 of these jobs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.plan import plan
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns, launched
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, job, outcome
from research.benchmarks import common, filled
from research.benchmarks.stores import empty_worker, opened, process, url_of
from tests import servers
from wm.attacks.forgery import BATCH
from workers.jobs.kinds import JobKind

SPEC = """
name = "scale-{jobs}"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
embedding = {{ trigger_share = [0.01, 0.02], repeats = 5 }}

[[attack]]
kind = "forgery"
engine = ["portfolio", "z3"]
signatures = 20
eps = [0.1, 0.3, 0.5, 0.7, 0.9]
instances = {instances}
"""
POINTS = 2 * 5 * 2 * 20 * 5
"""Of the grid; each has a job for each batch of its instances."""


@dataclass(frozen=True)
class Row:
    """One size on one store; memory in MiB."""

    store: str
    jobs: int
    queries: int
    plan_s: float
    plan_mb: float
    loop_mb: float
    jobs_per_s: float


def plan_alone(store_url: str, jobs: int) -> None:
    """Plan and store a campaign of about so many jobs; print seconds and peak memory as JSON."""
    spec = parse_spec(SPEC.format(jobs=jobs, instances=BATCH * max(1, round(jobs / POINTS))))
    started = time.perf_counter()
    with closing(Store(store_url)) as store:
        campaign_id = create_campaign(store, spec, plan(spec, filled.facts(spec)), {})
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"campaign_id": campaign_id, "plan_s": seconds, "plan_mb": peak}))


def make_ready(store: Store, campaign_id: int) -> None:
    """Have every job but forgery done, so that forgery is ready, and hand the campaign over."""
    with store.write() as connection:
        others = sa.select(job.c.id).where(job.c.kind != JobKind.FORGERY)
        done = {"status": "done", "result": {}, "timings": {}, "error": "", "owner": "", "recorded_at": 0.0}
        rows = [{"job_id": job_id, **done} for job_id in connection.execute(others).scalars()]
        store.insert_new(connection, outcome, rows)
        connection.execute(sa.update(job).values(state=JobState.READY))
        connection.execute(sa.update(job).where(job.c.id.in_(others)).values(state=JobState.DONE))
    launched.hand_over(store, campaign_id)


def feed(store: Store, broker_url: str, seconds: float) -> tuple[float, float]:
    """Let a real orchestrator feed the campaign for some seconds; return its peak in MiB and jobs a second."""
    # Without those that `make_ready` took for done.
    query = sa.select(sa.func.count()).where(outcome.c.recorded_at > 0)

    def done() -> int:
        with store.read() as connection:
            return int(connection.execute(query).scalar_one())

    with (
        empty_worker(store, broker_url, slots=2),
        process(store, broker_url, "orchestrator.cli", "orchestrate") as orchestrator,
    ):
        while not (before := done()):
            time.sleep(0.1)
        started = time.perf_counter()
        time.sleep(seconds)
        rate = (done() - before) / (time.perf_counter() - started)
        return common.peak_mb(orchestrator.pid), rate


def measure(kind: str, broker: servers.Valkey, jobs: int, seconds: float) -> Row:
    """Measure one size on an empty store."""
    broker.client().flushall()
    with opened(kind) as store:
        words = ("research.benchmarks.scale", "--plan", url_of(store), "--jobs", str(jobs))
        printed = subprocess.check_output([sys.executable, "-m", *words], cwd=common.ROOT)  # noqa: S603 - ours
        planned = json.loads(printed)
        campaign_id = planned.pop("campaign_id")
        make_ready(store, campaign_id)
        found = campaigns.progress(store, campaign_id)
        loop_mb, rate = feed(store, broker.url, seconds)
        total = sum(found.jobs.values())
        return Row(kind, total, found.total_weight, **planned, loop_mb=loop_mb, jobs_per_s=rate)


def main() -> None:
    """Measure and print a table."""
    parser = common.parser(__doc__, seed=None)
    common.add_store(parser)
    parser.add_argument("--jobs", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--plan", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.plan is not None:
        plan_alone(arguments.plan, arguments.jobs[0])
        return
    common.end_what_was_started()
    with closing(servers.Valkey()) as broker:
        sizes = [(kind, jobs) for kind in arguments.store for jobs in arguments.jobs]
        rows = [measure(kind, broker, jobs, arguments.seconds) for kind, jobs in sizes]
    print(
        common.table(
            "store | jobs | queries | plan s | plan MB | loop MB | jobs/s",
            rows,
            lambda row: (
                f"{row.store} | {row.jobs:,} | {row.queries:,} | {row.plan_s:.1f} | {row.plan_mb:.0f} "
                f"| {row.loop_mb:.0f} | {row.jobs_per_s:.0f}"
            ),
        )
    )
    common.save_results(arguments, rows)


if __name__ == "__main__":
    main()
