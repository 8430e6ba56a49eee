"""A bench to run jobs of a small campaign on, without any store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.family import Family
from workers.jobs.base import LeasedJob, Parameters
from workers.jobs.forging import ForgeryAnswer, ForgeryParameters, ForgeryState
from workers.jobs.kinds import KINDS, JobKind
from workers.jobs.owner import (
    BaselineParameters,
    EmbedParameters,
    SplitParameters,
    TuneFoldParameters,
    TuneParameters,
)
from workers.runtime.messages import End, Run
from workers.runtime.sandbox import JobSandbox

PARAMETERS: dict[str, Parameters] = {
    JobKind.SPLIT: SplitParameters(
        name="breast-cancer",
        path=None,
        label=None,
        header=None,
        positive=None,
        file_sha256=None,
        test_share=0.3,
        scaling="train",
        seed=3,
    ),
    JobKind.TUNE_FOLD: TuneFoldParameters(n_estimators=(6, 12), max_depth=(2, 4), folds=3, fold=0, seed=4),
    JobKind.TUNE: TuneParameters(n_estimators=(6, 12), max_depth=(2, 4)),
    JobKind.BASELINE: BaselineParameters(
        n_estimators=12, max_depth=4, adjust="paper", standard_seed=5, capped_seed=6
    ),
    JobKind.EMBED: EmbedParameters(
        scheme="paper",
        trigger_share=0.02,
        ones_share=0.5,
        repeat=0,
        seed=1,
        training="paper",
        weight_step=1.0,
        max_rounds=500,
    ),
    "leakage": KINDS["leakage"].parameters(),
    "detection": KINDS["detection"].parameters(
        methods=("strategies", "shapes", "spectrum", "presence"), honest=3, seed=1, repeat=0
    ),
    "suppression": KINDS["suppression"].parameters(
        methods=("disagreement", "repeats", "shadow"), shadows=2, orders=2, seed=1, repeat=0
    ),
    "free-forgery": KINDS["free-forgery"].parameters(
        methods=("all zeros", "best pattern", "clones", "local search", "recovered signature"),
        eps=0.5,
        instances=5,
        least_ones=0.25,
        most_ones=0.75,
        timeout_s=10.0,
        seed=1,
        repeat=0,
    ),
    "modification": KINDS["modification"].parameters(
        steps=("drop", "noise"), strengths=((0.0, 0.0), (0.25, 0.1)), tries=2, seed=1, repeat=0
    ),
    "calibration": KINDS["calibration"].parameters(
        population="honest", first=0, count=3, trigger_share=0.02, ones_share=0.5, seed=1, repeat=0
    ),
    JobKind.FORGERY: ForgeryParameters(
        engine="sat", signature=0, ones_share=0.5, eps=0.5, first=0, count=5, repeat=0, seed=1, timeout_s=60.0
    ),
}
NEEDS = {
    JobKind.SPLIT: (),
    JobKind.TUNE_FOLD: (JobKind.SPLIT,),
    JobKind.TUNE: (JobKind.TUNE_FOLD,),
    JobKind.BASELINE: (JobKind.SPLIT,),
    JobKind.EMBED: (JobKind.SPLIT, JobKind.BASELINE),
    **dict.fromkeys(
        (
            "leakage",
            "detection",
            "suppression",
            "free-forgery",
            "modification",
        ),
        (JobKind.SPLIT, JobKind.BASELINE, JobKind.EMBED),
    ),
    "calibration": (JobKind.SPLIT, JobKind.BASELINE),
    JobKind.FORGERY: (JobKind.SPLIT, JobKind.EMBED),
}


@dataclass
class Bench:
    """One sandbox, and what earlier jobs left: results by kind, artifacts by hash, rows of state."""

    sandbox: JobSandbox
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    folds: tuple[dict[str, Any], ...] = ()
    artifacts: dict[str, bytes] = field(default_factory=dict)
    rows: list[object] = field(default_factory=list)

    def job(self, kind: str, **changes: Any) -> LeasedJob:
        """Return a job with the parameters above, some changed; what it needs has been run before."""
        parameters = PARAMETERS[kind].model_dump(mode="json") | changes
        inputs = {
            needed: self.folds if needed is JobKind.TUNE_FOLD else (self.results[needed],)
            for needed in NEEDS[kind]
        }
        state = ForgeryState() if kind is JobKind.FORGERY else None
        return LeasedJob(1, kind, parameters, inputs, 0, state)

    def run(
        self,
        job: LeasedJob,
        *,
        slice_s: float = 60.0,
        artifact: Callable[[str], bytes] | None = None,
        heartbeat: Callable[[], bool] = lambda: True,
        stop: Callable[[], bool] = lambda: False,
    ) -> Run:
        """Run a job to its end."""
        ledger = SimpleNamespace(
            artifact=artifact or self.artifacts.__getitem__,
            save=lambda _job_id, rows: self.rows.extend(rows),
            heartbeat=lambda _job_id, _owner: heartbeat(),
        )
        run = self.sandbox.run(job, ledger, "me", stop, slice_s=slice_s)
        self.rows += run.rows
        return run

    def result(self, kind: str, **changes: Any) -> dict[str, Any]:
        """Run a job that must succeed; return its result and keep its artifacts."""
        run = self.run(self.job(kind, **changes))
        assert run.end is End.FINISHED, run.reason
        assert run.outcome is not None
        assert run.outcome.result is not None, run.outcome.error
        self.artifacts.update(run.artifacts)
        return run.outcome.result

    def take_answers(self) -> list[ForgeryAnswer]:
        """Return the answers since the last time."""
        taken = [row for row in self.rows if isinstance(row, ForgeryAnswer)]
        self.rows.clear()
        return taken


@pytest.fixture(scope="session")
def shared_bench() -> Iterator[Bench]:
    """A bench on which everything up to a watermarked forest is done."""
    bench = Bench(JobSandbox())
    for kind in (JobKind.SPLIT, JobKind.BASELINE, JobKind.EMBED):
        bench.results[kind] = bench.result(kind)
    bench.folds = tuple(bench.result(JobKind.TUNE_FOLD, fold=fold) for fold in (2, 0, 1))
    yield bench
    bench.sandbox.close()


@pytest.fixture
def bench(shared_bench: Bench) -> Bench:
    """The shared bench, without the answers of earlier tests."""
    shared_bench.rows.clear()
    return shared_bench


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Family:
    """Whatever is started from now on."""
    found = Family()
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found
