"""A store as a large finished campaign leaves it: planned jobs, outcomes, and 10^6 forgery answers.

The jobs are planned and stored as `wm campaign launch` does it. Results of the other kinds are those of a
small campaign that is really run; forgery answers are made up, with witnesses of 30 features.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.plan import DataFacts, plan
from orchestrator.spec import CampaignSpec, parse_spec
from orchestrator.store import campaigns
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, JobState, forgery_answer, job, outcome
from research.benchmarks.stores import opened
from workers.jobs.kinds import JobKind

SPEC = """
name = "filled"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
embedding = {{ trigger_share = {shares}, repeats = {repeats} }}
attack = [
  {{ kind = "leakage" }},
  {{ kind = "detection" }},
  {{ kind = "suppression" }},
  {{ kind = "free-forgery", methods = ["all zeros", "clones"] }},
  {{ kind = "modification", modifications = ["drop", "noise"] }},
  {{ kind = "calibration", honest = 20, other_owners = 2, batch = 10 }},
  {{ kind = "forgery", engine = {engines}, signatures = {signatures}, eps = [0.1, 0.3, 0.5, 0.7, 0.9], instances = {instances} }},
  {{ kind = "forgery", engine = "sat", signatures = {signatures}, eps = "minimal", instances = {instances} }},
]
"""

GRID = {"shares": [0.01, 0.02], "repeats": 5, "engines": '["portfolio", "z3"]', "signatures": 10}
SMALL = {"shares": [0.01], "repeats": 1, "engines": '["sat"]', "signatures": 1}

_POINTS = 2 * 5 * 10 * 2 * 5
"""Points of the grid with forgery at a distance; a tenth as many seek the least one."""

_FEATURES = 30
_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Filled:
    """A finished campaign, its rows, and the seconds to plan and store the jobs and to store their results."""

    campaign_id: int
    jobs: int
    answers: int
    plan_s: float
    fill_s: float


def facts(spec: CampaignSpec) -> DataFacts:
    """Return a data set with rows enough for a campaign."""
    instances = max(getattr(attack, "instances", None) or 1 for attack in spec.attack)
    return DataFacts(rows_train=2_000, rows_test=max(1_000, instances), file_sha256=None)


def real_results() -> dict[str, list[tuple[dict[str, Any], dict[str, float]]]]:
    """Run a small campaign; return results and timings of its jobs by kind."""
    with opened("sqlite") as store:
        campaign_id = launch(store, parse_spec(SPEC.format(**SMALL, instances=5)))
        with closing(LocalExecutor(StoreLedger(store), workers=1)) as executor:
            state = run_campaign(store, campaign_id, executor, lambda _progress: None)
        if state is not CampaignState.FINISHED:
            raise RuntimeError(f"the small campaign is {state}")
        query = sa.select(job.c.kind, outcome.c.result, outcome.c.timings).join(outcome).order_by(job.c.id)
        found: dict[str, list[tuple[dict[str, Any], dict[str, float]]]] = {}
        with store.read() as connection:
            for kind, result, timings in connection.execute(query):
                found.setdefault(kind, []).append((result, timings))
        return found


def fill(store: Store, answers: int) -> Filled:
    """Fill an empty store with a finished campaign of so many forgery answers, and a tenth more."""
    results = real_results()
    spec = parse_spec(SPEC.format(**GRID, instances=max(1, -(-answers // _POINTS))))
    started = time.perf_counter()
    campaign_id = create_campaign(store, spec, plan(spec, facts(spec)), {"python": "3"})
    planned_s = time.perf_counter() - started
    started = time.perf_counter()
    with store.write() as connection:
        connection.execute(sa.update(job).values(state=JobState.DONE, leases=1))
        jobs = connection.execute(sa.select(job.c.id, job.c.kind, job.c.parameters).order_by(job.c.id)).all()
    count = 0
    for table, made in ((outcome, _outcomes(jobs, results)), (forgery_answer, _answers(jobs))):
        while rows := list(itertools.islice(made, _ROWS_AT_ONCE)):
            with store.write() as connection:
                connection.execute(sa.insert(table), rows)
            count += len(rows)
    campaigns.mark(store, campaign_id, CampaignState.FINISHED)
    if not store.is_sqlite:  # as autovacuum would within minutes; SQLite does nothing of the kind
        with store.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    return Filled(campaign_id, len(jobs), count - len(jobs), planned_s, time.perf_counter() - started)


def _outcomes(jobs: Any, results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(jobs):
        known = results[row.kind]
        result, timings = known[number % len(known)]
        yield {
            "job_id": row.id,
            "status": "done",
            "result": {"instances": row.parameters["count"]} if row.kind == JobKind.FORGERY else result,
            "timings": timings,
            "error": "",
            "owner": f"host-{number % 8}:1:2:0",
            "recorded_at": 1.7e9 + number,
        }


def _answers(jobs: Any) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(1)
    for row in jobs:
        if row.kind != JobKind.FORGERY:
            continue
        first, count = row.parameters["first"], row.parameters["count"]
        eps = 0.5 if row.parameters["eps"] == "minimal" else row.parameters["eps"]
        draws = random.random((count, 2))
        seconds = random.lognormal(-4, 1.5, count)
        witnesses = random.random((count, _FEATURES), dtype=np.float32)
        for number, (chance, share) in enumerate(draws):
            forged = chance < 0.9 * eps
            status = "forged" if forged else "timeout" if chance > 0.99 else "impossible"
            followed = eps != 0.5 and number % 2 == 0 and status != "timeout"
            yield {
                "job_id": row.id,
                "instance": first + number,
                "row": (first + number) * 7 % 1000,
                "status": status,
                "distance": float(share * eps) if forged else None,
                "seconds": 0.0 if followed else float(seconds[number]),
                "reason": "solver",
                "followed_from": 0.5 if followed else None,
                "witness": witnesses[number].tobytes() if forged else None,
            }
