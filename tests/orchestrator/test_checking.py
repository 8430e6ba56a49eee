"""Stored answers are checked against the stored models: lies of a worker are found."""

from __future__ import annotations

import numpy as np
import pytest
import sqlalchemy as sa

from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.results.checking import contradictions
from orchestrator.spec import parse_spec
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import campaign_job, cell, forgery_answer

CAMPAIGN = """\
name = "checked"
seed = 1

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 8
max_depth = 3

[[attack]]
kind = "forgery"
signatures = 1
eps = [0.3, 0.6]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('checked') / 'wm.db'}"
    store = Store(url)
    campaign_id = launch(store, parse_spec(CAMPAIGN))
    executor = LocalExecutor(StoreLedger(store), workers=1)
    try:
        run_campaign(store, campaign_id, executor, lambda _progress: None)
    finally:
        executor.close()
    yield store
    store.close()


def changed(store, **values):
    """Change one forged answer of the smaller distance."""
    smallest = (
        sa.select(forgery_answer.c.job_id, forgery_answer.c.instance)
        .where(forgery_answer.c.status == "forged")
        .order_by(forgery_answer.c.job_id, forgery_answer.c.instance)
        .limit(1)
    )
    with store.write() as connection:
        job_id, instance = connection.execute(smallest).one()
        place = (forgery_answer.c.job_id == job_id, forgery_answer.c.instance == instance)
        before = connection.execute(sa.select(forgery_answer).where(*place)).mappings().one()
        connection.execute(sa.update(forgery_answer).where(*place).values(**values))
    return place, dict(before)


def found_with(store, **values):
    place, before = changed(store, **values)
    found = list(contradictions(store, 1))
    with store.write() as connection:
        connection.execute(sa.update(forgery_answer).where(*place).values(**before))
    return found


def test_true_answers_do_not_contradict_their_models(finished):
    assert list(contradictions(finished, 1)) == []


def test_a_witness_of_zeros_is_found(finished):
    (line,) = found_with(finished, witness=np.zeros(30, dtype="<f4").tobytes())
    assert "its witness" in line


def test_forged_without_a_witness_is_found(finished):
    (line,) = found_with(finished, witness=None)
    assert line.endswith("forged without a witness")


def test_answers_that_contradict_each_other_are_found(finished):
    """Impossible at the larger distance, forged at the smaller one."""
    with finished.write() as connection:
        at = {
            eps: connection.execute(
                sa.select(forgery_answer.c.job_id, forgery_answer.c.row)
                .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
                .join(cell, cell.c.id == campaign_job.c.cell_id)
                .where(cell.c.eps == eps, forgery_answer.c.status == "forged")
            ).all()
            for eps in (0.3, 0.6)
        }
        row = at[0.3][0].row
        place = (forgery_answer.c.job_id == at[0.6][0].job_id, forgery_answer.c.row == row)
        before = dict(connection.execute(sa.select(forgery_answer).where(*place)).mappings().one())
        connection.execute(sa.update(forgery_answer).where(*place).values(status="impossible", witness=None))
    found = list(contradictions(finished, 1))
    with finished.write() as connection:
        connection.execute(sa.update(forgery_answer).where(*place).values(**before))
    assert [line for line in found if "forged, but impossible at 0.6" in line]
