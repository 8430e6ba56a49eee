"""The same forgery queries three ways: a bare loop over the engine, one slot, two slots.

The bare loop and the workers are processes of their own, warmed up with other queries of the same forest;
only what comes after is timed. The three take turns, so that whatever else the machine does meets them all.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.celery_executor import CeleryExecutor
from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.spec import CampaignSpec, parse_spec
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, campaign_job, forgery_answer, job, outcome
from research.benchmarks.common import ROOT, SETTINGS
from research.benchmarks.forgery import attacker
from research.benchmarks.stores import url_of, worker
from wm import engines
from wm.attacks.forgery import BATCH
from wm.datasets import Split
from wm.engines import ForgeryQuery
from wm.forest import Forest
from wm.signature import Signature
from workers.jobs.kinds import JobKind

SPEC = """
name = "{name}"
seed = {seed}
dataset = {{ name = "{dataset}" }}
forest = {{ n_estimators = {trees}, max_depth = {depth} }}
embedding = {{ trigger_share = 0.02, training = "artifact", adjust = "artifact" }}
"""
ATTACK = """
[[attack]]
kind = "forgery"
engine = "{engine}"
signatures = {signatures}
eps = {eps}
instances = 100
batch = {batch}
timeout_s = {timeout_s}
"""
"""One for each distance: those of one list help each other, and the bare loop asks about all."""
WARM_DISTANCES = [0.2]
WARM_SIGNATURES = 2
DISTANCES = [0.1, 0.3, 0.5, 0.7, 0.9]


@dataclass(frozen=True)
class Turn:
    """Seconds for the same queries, one after the other way; all three gave the same answers."""

    bare_s: float
    one_slot_s: float
    two_slots_s: float

    @property
    def overhead(self) -> float:
        """What one slot takes longer than the bare loop, as a share."""
        return self.one_slot_s / self.bare_s - 1

    @property
    def speedup(self) -> float:
        """How many times faster two slots are than one."""
        return self.one_slot_s / self.two_slots_s


@dataclass(frozen=True)
class Place:
    """Where the three are run."""

    store: Store
    broker_url: str
    dataset: str
    engine: str
    signatures: int
    batch: int

    def spec(self, number: int, distances: list[float]) -> CampaignSpec:
        """Return a campaign; other numbers give other jobs (by a hair of a time limit), the same queries."""
        chosen, seed = SETTINGS[self.dataset]
        name = f"{self.dataset}-{self.engine}-{number}"
        trees, depth = chosen.n_estimators, chosen.max_depth
        text = SPEC.format(name=name, seed=seed, dataset=self.dataset, trees=trees, depth=depth)
        signatures = self.signatures if distances == DISTANCES else min(WARM_SIGNATURES, self.signatures)
        given = {"engine": self.engine, "batch": self.batch, "timeout_s": 60 + number / 1024}
        for eps in distances:
            text += ATTACK.format(**given, signatures=signatures, eps=eps)
        return parse_spec(text)


def turns(place: Place, repeats: int) -> Iterator[Turn]:
    """Yield paired measurements."""
    with closing(LocalExecutor(StoreLedger(place.store), workers=1)) as local:
        _run(place, local, place.spec(0, WARM_DISTANCES))
    numbers = itertools.count(1)
    for repeat in range(repeats):
        found: dict[int, tuple[float, Counter[str]]] = {}
        for way in range(repeat, repeat + 3):  # by the number of slots; 0 is the bare loop
            slots = way % 3
            found[slots] = _path(place, slots, next(numbers), next(numbers)) if slots else _bare(place)
        (bare_s, answers), one, two = (found[slots] for slots in range(3))
        if not answers == one[1] == two[1]:
            raise RuntimeError(f"the three gave different answers: {found}")
        yield Turn(bare_s, one[0], two[0])


def _run(place: Place, executor: CeleryExecutor | LocalExecutor, spec: CampaignSpec) -> tuple[int, float]:
    """Run a campaign; return its id and the seconds from the first message to the end of the loop."""
    campaign_id = launch(place.store, spec)
    started = time.perf_counter()
    state = run_campaign(place.store, campaign_id, executor, lambda _progress: None)
    if state is not CampaignState.FINISHED:
        raise RuntimeError(f"campaign {spec.name} is {state}")
    return campaign_id, time.perf_counter() - started


def _path(place: Place, slots: int, warm: int, number: int) -> tuple[float, Counter[str]]:
    with (
        worker(place.store, place.broker_url, slots),
        closing(CeleryExecutor(place.store, place.broker_url, print)) as executor,
    ):
        _run(place, executor, place.spec(warm, WARM_DISTANCES))
        campaign_id, seconds = _run(place, executor, place.spec(number, DISTANCES))
    query = (
        sa.select(forgery_answer.c.status, sa.func.count())
        .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
        .where(campaign_job.c.campaign_id == campaign_id)
        .group_by(forgery_answer.c.status)
    )
    with place.store.read() as connection:
        return seconds, Counter(dict(tuple(row) for row in connection.execute(query)))


def _bare(place: Place) -> tuple[float, Counter[str]]:
    words = ["research.benchmarks.real_campaign", url_of(place.store), place.dataset, place.engine]
    command = [sys.executable, "-m", *words, str(place.signatures)]
    said = json.loads(subprocess.check_output(command, cwd=ROOT))  # noqa: S603 - this very file
    return said["seconds"], Counter(said["answers"])


def _bare_main(store_url: str, dataset: str, engine_name: str, count: str) -> None:
    """Ask the engine all that the campaign asks, in its order; print seconds and counts as JSON."""
    signatures = int(count)
    place = Place(Store(store_url), "", dataset, engine_name, signatures, BATCH)
    ledger = StoreLedger(place.store)
    kinds = [JobKind.SPLIT, JobKind.EMBED]
    query = sa.select(job.c.kind, outcome.c.result).join(outcome).where(job.c.kind.in_(kinds))
    with place.store.read() as connection:
        results = dict(tuple(row) for row in connection.execute(query))
    split = Split.from_bytes(ledger.artifact(results[JobKind.SPLIT]["split"]))
    forest = Forest.from_bytes(ledger.artifact(results[JobKind.EMBED]["forest"]))
    rows, drawn = attacker(split, forest, place.spec(0, DISTANCES).seed, signatures, 100)

    def ask(engine: engines.Engine, distances: list[float], bits: list[Signature]) -> Counter[str]:
        found: Counter[str] = Counter()
        for eps, signature, row in itertools.product(distances, bits, rows):
            label, centre = int(split.y_test[row]), split.X_test[row]
            asked = ForgeryQuery(signature=signature, label=label, centre=centre, eps=eps)
            found[engine.solve(asked, timeout_s=60).status.value] += 1
        return found

    with engines.create(engine_name, forest) as engine:
        ask(engine, WARM_DISTANCES, drawn[:WARM_SIGNATURES])
        started = time.perf_counter()
        answers = ask(engine, DISTANCES, drawn)
        print(json.dumps({"seconds": time.perf_counter() - started, "answers": dict(answers)}))


if __name__ == "__main__":
    _bare_main(*sys.argv[1:5])
