"""Whether the orchestrator's time and memory stay within bounds as campaigns grow to 10^6 jobs.

    python -m research.benchmarks.scale [--jobs N,N,...] [--store sqlite|postgresql|both] [--seconds S] [-o FILE]

For each size a forgery campaign of the usual batches is planned and stored, as `wm campaign launch` does
it, in a process of its own; then a real `wm orchestrate` feeds it for some seconds to a worker that answers
at once. Reported are seconds, the peak of resident memory of both processes, and the rate of jobs. Planning
10^6 queries is 10,000 of these jobs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa

from orchestrator.plan import plan
from orchestrator.spec import BATCH, CampaignSpec, parse_spec
from orchestrator.store import campaigns, launched
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, job, outcome
from research.benchmarks import filled
from research.benchmarks.empty_worker import empty_worker
from research.benchmarks.results import opened
from tests import servers
from workers.jobs import JobKind

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
_POINTS = 2 * 5 * 2 * 20 * 5


@dataclass(frozen=True)
class Row:
    """One size on one store; memory in MB."""

    store: str
    jobs: int
    queries: int
    plan_s: float
    plan_mb: float
    loop_mb: float
    jobs_per_s: float


def spec_of(jobs: int) -> CampaignSpec:
    """Return a campaign of about so many forgery jobs, each of the usual number of queries."""
    return parse_spec(SPEC.format(jobs=jobs, instances=BATCH * max(1, round(jobs / _POINTS))))


def plan_alone(store_url: str, jobs: int) -> None:
    """Plan and store a campaign; print seconds and peak memory as JSON."""
    spec = spec_of(jobs)
    store = Store(store_url)
    started = time.perf_counter()
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


def peak_mb(pid: int) -> float:
    """Return the peak of a process's resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} tells no VmHWM")


def feed(store: Store, store_url: str, broker_url: str, seconds: float) -> tuple[float, float]:
    """Let a real orchestrator feed the campaign for some seconds; return its peak in MB and jobs a second."""
    with empty_worker(store, store_url, broker_url, slots=2):
        environment = os.environ | {"WM_STORE_URL": store_url, "WM_BROKER_URL": broker_url}
        orchestrator = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", "orchestrate"],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            done = 0
            while not done:
                time.sleep(0.1)
                done = _done(store)
            started = time.perf_counter()
            time.sleep(seconds)
            rate = (_done(store) - done) / (time.perf_counter() - started)
            return peak_mb(orchestrator.pid), rate
        finally:
            orchestrator.send_signal(signal.SIGTERM)
            orchestrator.wait(timeout=60)


def _done(store: Store) -> int:
    """Return how many jobs have an outcome, those left out that `make_ready` took for done."""
    query = sa.select(sa.func.count()).where(outcome.c.recorded_at > 0)
    with store.read() as connection:
        return int(connection.execute(query).scalar_one())


def measure(kind: str, broker: servers.Valkey, jobs: int, seconds: float) -> Row:
    """Measure one size on an empty store."""
    broker.client().flushall()
    with opened(kind) as store:
        url = store._url.render_as_string(hide_password=False)
        planned = json.loads(
            subprocess.check_output([sys.executable, __file__, "--plan", url, "--jobs", str(jobs)])  # noqa: S603
        )
        campaign_id = planned.pop("campaign_id")
        make_ready(store, campaign_id)
        progress = campaigns.progress(store, campaign_id)
        loop_mb, rate = feed(store, url, broker.url, seconds)
        return Row(
            kind,
            sum(progress.jobs.values()),
            progress.total_weight,
            **planned,
            loop_mb=loop_mb,
            jobs_per_s=rate,
        )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="10000,100000,1000000")
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--plan", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.jobs.split(",")]
    if arguments.plan is not None:
        plan_alone(arguments.plan, sizes[0])
        return
    broker = servers.Valkey()
    found = []
    print("store            jobs      queries  plan s  plan MB  loop MB  jobs/s")
    for kind in ("sqlite", "postgresql") if arguments.store == "both" else (arguments.store,):
        for size in sizes:
            row = measure(kind, broker, size, arguments.seconds)
            found.append(row)
            print(
                f"{row.store:<11} {row.jobs:>9,}  {row.queries:>11,}  {row.plan_s:>6.1f}  {row.plan_mb:>7.0f}"
                f"  {row.loop_mb:>7.0f}  {row.jobs_per_s:>6.0f}",
                flush=True,
            )
    broker.close()
    if arguments.output is not None:
        arguments.output.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
