"""Campaigns whose results are made up, stored as workers would store them: no forest is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from orchestrator.plan import DataFacts, PlannedJob, plan
from orchestrator.report.data import Findings
from orchestrator.report.page import report_html
from orchestrator.spec import parse_spec
from orchestrator.store.campaigns import CampaignRecord, create_campaign, find_campaign, mark
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, job
from tests.made_up_attacks import attack_result
from tests.report_page import Page, undrawn
from tests.sharing import made_once
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer
from workers.jobs.kinds import KINDS, JobKind

CAMPAIGN = """
name = "made-up"
seed = 7
[dataset]
name = "breast-cancer"
[forest]
n_estimators = 20
max_depth = 5
[embedding]
trigger_share = {trigger_shares}
ones_share = {ones_shares}
repeats = {repeats}
[[attack]]
kind = "detection"
methods = ["strategies"]
[[attack]]
kind = "suppression"
[[attack]]
kind = "forgery"
engine = ["sat", "z3"]
signatures = 3
eps = [0.1, 0.5]
only = {{ ones_share = 0.5 }}
"""

ATTACKS = """
name = "attacked"
seed = 7
[dataset]
name = "breast-cancer"
[forest]
n_estimators = 20
max_depth = 5
[embedding]
trigger_share = {trigger_shares}
ones_share = [0.5]
repeats = {repeats}
[[attack]]
kind = "leakage"
[[attack]]
kind = "detection"
methods = ["strategies", "shapes", "spectrum", "presence"]
honest = 19
[[attack]]
kind = "suppression"
methods = ["disagreement", "repeats", "shadow"]
[[attack]]
kind = "forgery"
signatures = 4
eps = "minimal"
timeout_s = 45
[[attack]]
kind = "free-forgery"
[[attack]]
kind = "modification"
modifications = ["noise", "drop+noise"]
tries = 2
[[attack]]
kind = "calibration"
honest = 20
other_owners = 20
presence = 20
reference = 19
batch = 10
[[attack]]
kind = "claims"
"""
"""Every attack beyond the paper."""

_HASH = "0" * 64
_TREES = 20
_STATUSES = ["forged", "impossible", "timeout", "memout", "error"]


@dataclass(frozen=True)
class Made:
    """A store and the campaign in it."""

    store: Store
    record: CampaignRecord

    @property
    def findings(self) -> Findings:
        return Findings(self.store, self.record)

    @property
    def page(self) -> Page:
        return Page(undrawn(self.findings))


MakeCampaign = Callable[..., Made]


@pytest.fixture(scope="session")
def make_campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeCampaign]:
    """Return a function that stores a campaign, alone in a store of its own.

    Its arguments: `repeats`; `is_small`, one configuration instead of four; `text` of another campaign
    file; `unfinished`, kinds that have no outcome; `failing`, error texts by kind; `class_names`;
    `provenance`; `state`.
    """
    stores: list[Store] = []

    def make(
        *,
        repeats: int = 3,
        is_small: bool = False,
        text: str = CAMPAIGN,
        unfinished: frozenset[JobKind] = frozenset(),
        failing: Mapping[JobKind, str] | None = None,
        class_names: tuple[str, str] = ("no", "yes"),
        provenance: Mapping[str, str] | None = None,
        state: CampaignState = CampaignState.FINISHED,
    ) -> Made:
        failing = failing or {}
        store = Store(f"sqlite:///{tmp_path_factory.mktemp('store') / 'wm.db'}")
        stores.append(store)
        store.upgrade()
        spec = parse_spec(
            text.format(
                repeats=repeats,
                trigger_shares=[0.02] if is_small else [0.01, 0.02],
                ones_shares=[0.5] if is_small else [0.3, 0.5],
            )
        )
        jobs = list(plan(spec, DataFacts(398, 171, None)))
        campaign = create_campaign(store, spec, jobs, provenance or {"python": "3.11"})
        ledger = StoreLedger(store)
        with store.read() as connection:
            ids = {row.key: row.id for row in connection.execute(sa.select(job.c.key, job.c.id))}
        without: set[str] = set()
        for number, planned in enumerate(jobs):
            if planned.kind in unfinished or without & set(planned.needs):
                without.add(planned.key)
                continue
            if planned.kind in failing:
                without.add(planned.key)
                failed = Outcome(OutcomeStatus.ERROR, None, {}, failing[planned.kind])
                ledger.record(ids[planned.key], "me", failed, {})
                continue
            if planned.kind is JobKind.FORGERY:
                ledger.save(ids[planned.key], _answers(planned, number))
            result = _result(planned, np.random.default_rng(number), class_names)
            KINDS[planned.kind].result.model_validate(result)
            timings = {"job": 1.0 + number, "embed": 0.5 + number / 8}
            if planned.kind is JobKind.BASELINE:
                timings["standard"] = 0.25
            ledger.record(ids[planned.key], "me", Outcome(OutcomeStatus.DONE, result, timings), {})
        mark(store, campaign, state)
        return Made(store, find_campaign(store, str(campaign)))

    yield make
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def make_attacked(make_campaign: MakeCampaign) -> MakeCampaign:
    """Return the same for a campaign of every attack beyond the paper."""
    return partial(make_campaign, text=ATTACKS)


@pytest.fixture(scope="session")
def attacked(make_attacked: MakeCampaign) -> Findings:
    """Return the findings of such a campaign, of two configurations in three repeats."""
    return make_attacked().findings


@pytest.fixture(scope="session")
def attacked_html(tmp_path_factory: pytest.TempPathFactory, attacked: Findings) -> str:
    return _shared(tmp_path_factory, "attacked", lambda: undrawn(attacked))


@pytest.fixture(scope="session")
def attacked_page(attacked_html: str) -> Page:
    return Page(attacked_html)


@pytest.fixture(scope="session")
def small(make_attacked: MakeCampaign) -> Findings:
    """Return the same of one forest."""
    return make_attacked(repeats=1, is_small=True).findings


@pytest.fixture(scope="session")
def small_html(tmp_path_factory: pytest.TempPathFactory, small: Findings) -> str:
    """Return its page with all charts drawn."""
    return _shared(tmp_path_factory, "small", lambda: report_html(small))


def _shared(factory: pytest.TempPathFactory, name: str, make: Callable[[], str]) -> str:
    """Return a page that one of the test processes has made for all; only its moments may be another's."""

    def write(folder: Path) -> None:
        (folder / "page.html").write_text(make(), encoding="utf-8")

    return (made_once(factory, f"page-{name}", write) / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def small_page(small_html: str) -> Page:
    return Page(small_html)


@pytest.fixture(scope="session")
def paper(make_campaign: MakeCampaign) -> Findings:
    """Return the findings of a campaign of the paper's attacks, of four configurations in three repeats."""
    return make_campaign().findings


@pytest.fixture(scope="session")
def paper_page(paper: Findings) -> Page:
    return Page(undrawn(paper))


@pytest.fixture(scope="session")
def nothing(make_campaign: MakeCampaign) -> Made:
    """Return an interrupted campaign without any result."""
    return make_campaign(unfinished=frozenset(KINDS), state=CampaignState.INTERRUPTED)


def _answers(planned: PlannedJob, number: int) -> list[ForgeryAnswer]:
    rng = np.random.default_rng(1000 + number)
    first, count = planned.parameters["first"], planned.parameters["count"]
    answers = []
    for instance in range(first, first + count):
        status = str(rng.choice(_STATUSES, p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        is_known = status == "forged" or (
            planned.parameters["eps"] == "minimal" and status == "timeout" and rng.uniform() < 0.5
        )
        answers.append(
            ForgeryAnswer(
                instance=instance,
                row=instance,
                status=status,
                distance=float(rng.uniform()) if is_known else None,
                seconds=float(rng.exponential()),
                reason="",
                witness=b"1234" if status == "forged" else None,
            )
        )
    return answers


def _result(planned: PlannedJob, rng: np.random.Generator, class_names: tuple[str, str]) -> dict[str, Any]:
    match planned.kind:
        case JobKind.SPLIT:
            return {
                "split": _HASH,
                "dataset_sha256": _HASH,
                "rows_train": 398,
                "rows_test": 171,
                "features": 30,
                "positive_train": 250,
                "positive_test": 107,
                "constant_features": 0,
                "class_names": class_names,
            }
        case JobKind.BASELINE:
            return {
                "standard": _HASH,
                "standard_record": _HASH,
                "capped": _HASH,
                "n_estimators": _TREES,
                "max_depth": 5,
                "cap_depth": 4,
                "cap_leaves": 12,
                "accuracy_standard": float(rng.uniform(0.9, 1)),
                "accuracy_standard_mean_rule": float(rng.uniform(0.9, 1)),
                "accuracy_capped": float(rng.uniform(0.9, 1)),
            }
        case JobKind.EMBED:
            size = round(398 * planned.parameters["trigger_share"])
            return {
                "forest": _HASH,
                "record": _HASH,
                "claim": _HASH,
                "trigger_size": size,
                "signature": "01" * (_TREES // 2),
                "rounds_right": int(rng.integers(1, 9)),
                "rounds_wrong": int(rng.integers(1, 99)),
                "weight_right": float(rng.integers(1, 9)),
                "weight_wrong": float(rng.integers(1, 99)),
                "accuracy_watermarked": float(rng.uniform(0.9, 1)),
                "accuracy_watermarked_mean_rule": float(rng.uniform(0.9, 1)),
                "matched_bits": size * _TREES,
                "total_bits": size * _TREES,
                "exact_match": True,
                "log10_p": float(rng.uniform(-9, -5)),
                "log10_p_standard": float(rng.uniform(-1, 0)),
            }
        case JobKind.FORGERY:
            return {"instances": planned.parameters["count"]}
        case _:
            return attack_result(planned, rng, _TREES)
