"""What one job proved in the whole domain reaches the process that runs another, by way of the store."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.launch import launch
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import (
    campaign_job,
    cell,
    forgery_answer,
    global_proof,
    job,
)
from tests.sharing import run_to_end
from wm.engines.protocol import GLOBAL_REASON
from workers.jobs.forging import GlobalProof
from workers.jobs.kinds import JobKind
from workers.runtime.sandbox import JobSandbox

pytestmark = pytest.mark.system


def ends(store, signature):
    """Return how the queries of a signature ended, and why."""
    query = (
        sa.select(forgery_answer.c.status, forgery_answer.c.reason)
        .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(cell.c.signature == signature)
    )
    with store.read() as connection:
        return {tuple(row) for row in connection.execute(query)}


def test_a_kept_proof_spares_queries_of_its_signature_and_label_alone(spec, tmp_path, monkeypatch):
    """A false one, so that it is seen to be used: every instance can be forged."""
    # In processes of its own: one that stays would believe the false proof in other tests of this forest.
    monkeypatch.setattr("workers.runtime.slots.JobSandbox", JobSandbox)
    forgery = spec.attack[2].model_copy(update={"engine": ("portfolio",), "instances": 20, "eps": (0.9,)})
    store = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    campaign_id = launch(store, spec.model_copy(update={"attack": (forgery,)}))
    with store.read() as connection:
        first = connection.execute(
            sa.select(job.c.id).where(job.c.kind == JobKind.FORGERY).limit(1)
        ).scalar_one()
    StoreLedger(store).save(first, [GlobalProof(1)])
    run_to_end(store, campaign_id)
    assert ends(store, 0) == {("forged", "solver"), ("impossible", GLOBAL_REASON)}
    assert ends(store, 1) == {("forged", "solver")}
    store.close()


def test_proofs_are_stored(spec, tmp_path):
    """Of 70 trees, no instance at all has the votes of most signatures."""
    forgery = spec.attack[2].model_copy(update={"engine": ("portfolio",), "instances": 40, "eps": (0.9,)})
    forest = spec.forest.model_copy(update={"n_estimators": 70, "max_depth": 8})
    store = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    run_to_end(store, launch(store, spec.model_copy(update={"forest": forest, "attack": (forgery,)})))
    with store.read() as connection:
        kept = connection.execute(sa.select(sa.func.count()).select_from(global_proof)).scalar_one()
    proved = sum(("impossible", GLOBAL_REASON) in ends(store, signature) for signature in (0, 1))
    assert proved > 0
    assert proved <= kept <= 2 * proved
    assert results.frame(store, 1, "forgery")["timeout"].sum() == 0
    store.close()
