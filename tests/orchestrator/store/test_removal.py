"""Campaigns renamed and deleted: nothing that another campaign uses is lost, and nothing else stays."""

from __future__ import annotations

import hashlib

import pytest
import sqlalchemy as sa

from orchestrator.errors import InUseError, NotFoundError, SpecError
from orchestrator.store import campaigns, launched, removal
from orchestrator.store.tables import (
    CampaignState,
    JobState,
    artifact,
    campaign,
    global_proof,
    job,
    job_need,
    metadata,
)
from wm.engines import Status
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer, GlobalProof
from workers.jobs.kinds import JobKind

FAILURE = Outcome(OutcomeStatus.ERROR, None, {}, "no")


def finish_with(workshop, key, *contents):
    """End a job whose result names artifacts of these contents."""
    data = {hashlib.sha256(content).hexdigest(): content for content in contents}
    job_id = workshop.id(key)
    assert workshop.ledger.lease(job_id, "me") is not None
    result = {f"artifact {number}": name for number, name in enumerate(data)} | {"rows": 3}
    assert workshop.ledger.record(job_id, "me", Outcome(OutcomeStatus.DONE, result, {}), data)


def contents(workshop):
    with workshop.store.read() as connection:
        return {bytes(row.data) for row in connection.execute(sa.select(artifact.c.data))}


def keys(workshop):
    with workshop.store.read() as connection:
        return set(connection.execute(sa.select(job.c.key)).scalars())


def rows_left(workshop):
    """Return the tables with rows, but those of services and of the schema's version."""
    return {table.name for table in metadata.sorted_tables if workshop.count(table)}


def test_the_only_campaign_leaves_nothing(workshop):
    campaign_id = workshop.campaign(
        workshop.job("a"), workshop.job("b", "a"), workshop.job("c", "b"), workshop.job("d")
    )
    finish_with(workshop, "a", b"split", b"forest")
    leased = workshop.id("b")
    workshop.ledger.lease(leased, "me")
    workshop.ledger.fail(leased, "me", "once")
    workshop.finish("b", FAILURE)
    planned = removal.preview(workshop.store, campaign_id)
    assert planned == removal.Removal(jobs=4, shared=0, artifacts=2, artifact_bytes=len(b"splitforest"))
    assert removal.delete(workshop.store, campaign_id) == planned
    assert rows_left(workshop) == set()
    with pytest.raises(NotFoundError):
        removal.delete(workshop.store, campaign_id)


def test_answers_and_proofs_go_with_their_jobs(workshop):
    campaign_id = workshop.campaign(
        workshop.job("embed", kind=JobKind.EMBED), workshop.job("ask", "embed", kind=JobKind.FORGERY, eps=0.1)
    )
    finish_with(workshop, "embed", b"forest")
    job_id = workshop.id("ask")
    workshop.ledger.lease(job_id, "me")
    answer = ForgeryAnswer(0, 5, Status.FORGED, 0.1, 0.0, "", b"1234")
    workshop.ledger.save(job_id, [answer, GlobalProof(1)])
    workshop.ledger.hand_back(job_id, "me")
    assert {"forgery_answer", "global_proof"} <= rows_left(workshop)
    removal.delete(workshop.store, campaign_id)
    assert rows_left(workshop) == set()


def test_a_proof_about_a_shared_forest_goes_with_the_job_that_found_it(workshop):
    embed = workshop.job("embed", kind=JobKind.EMBED)
    ask = workshop.job("ask", "embed", kind=JobKind.FORGERY, eps=0.1)
    first = workshop.campaign(embed, ask)
    workshop.campaign(embed, name="second")
    finish_with(workshop, "embed", b"forest")
    workshop.ledger.lease(workshop.id("ask"), "me")
    workshop.ledger.save(workshop.id("ask"), [GlobalProof(1)])
    workshop.ledger.hand_back(workshop.id("ask"), "me")
    removal.delete(workshop.store, first)
    assert keys(workshop) == {"embed"}
    assert workshop.count(global_proof) == 0


def test_what_another_campaign_uses_stays(workshop):
    first = workshop.campaign(workshop.job("shared"), workshop.job("mine", "shared"), workshop.job("alike"))
    second = workshop.campaign(workshop.job("shared"), workshop.job("theirs", "shared"), name="second")
    finish_with(workshop, "shared", b"split")
    finish_with(workshop, "mine", b"forest", b"equal by chance")
    finish_with(workshop, "theirs", b"equal by chance")
    before = campaigns.progress(workshop.store, second)
    assert removal.preview(workshop.store, first) == removal.Removal(2, 1, 1, len(b"forest"))
    removal.delete(workshop.store, first)
    assert keys(workshop) == {"shared", "theirs"}
    assert contents(workshop) == {b"split", b"equal by chance"}
    assert campaigns.progress(workshop.store, second) == before
    assert [each.id for each in campaigns.list_campaigns(workshop.store)] == [second]
    removal.delete(workshop.store, second)
    assert rows_left(workshop) == set()


def test_a_job_that_waited_for_a_deleted_one_goes_on(workshop):
    first = workshop.campaign(workshop.job("helper"))
    workshop.campaign(workshop.job("helped"), name="second")
    with workshop.store.write() as connection:
        connection.execute(
            sa.insert(job_need).values(
                job_id=workshop.id("helped"), needs_id=workshop.id("helper"), optional=True
            )
        )
        connection.execute(sa.update(job).where(job.c.key == "helped").values(state=JobState.WAITING))
    removal.delete(workshop.store, first)
    assert workshop.states("helped") == [JobState.READY]


def test_more_jobs_than_one_statement_takes(workshop, monkeypatch):
    monkeypatch.setattr(removal, "_AT_ONCE", 3)
    names = [f"{number:x}" for number in range(10)]
    campaign_id = workshop.campaign(workshop.job("root"), *(workshop.job(name, "root") for name in names))
    finish_with(workshop, "root", b"split")
    for name in names:
        finish_with(workshop, name, name.encode())
    assert removal.delete(workshop.store, campaign_id).jobs == 11
    assert rows_left(workshop) == set()


def test_a_campaign_that_runs_is_refused(workshop):
    campaign_id = workshop.campaign(workshop.job("a"))
    campaigns.mark(workshop.store, campaign_id, CampaignState.RUNNING)
    with pytest.raises(InUseError, match="c is being run: stop it, or wm campaign cancel 1"):
        removal.delete(workshop.store, campaign_id)
    campaigns.mark(workshop.store, campaign_id, CampaignState.INTERRUPTED)
    launched.hand_over(workshop.store, campaign_id)
    with pytest.raises(InUseError, match="is being run"):
        removal.preview(workshop.store, campaign_id)
    workshop.ledger.lease(workshop.id("a"), "me")
    launched.cancel(workshop.store, campaign_id)
    with pytest.raises(InUseError, match="1 job is still running"):
        removal.delete(workshop.store, campaign_id)
    workshop.expire(workshop.id("a"))
    removal.delete(workshop.store, campaign_id)
    assert rows_left(workshop) == set()


def test_a_renamed_campaign_is_the_one_of_the_file_with_that_name(workshop):
    jobs = [workshop.job("a")]
    campaign_id = workshop.campaign(*jobs)
    removal.rename(workshop.store, campaign_id, "new")
    record = campaigns.find_campaign(workshop.store, "new")
    assert (record.id, record.parsed().name) == (campaign_id, "new")
    assert workshop.campaign(*jobs, name="new") == campaign_id
    assert workshop.count(campaign) == 1


def test_a_name_that_another_campaign_of_this_content_has_is_refused(workshop):
    first, second = workshop.campaign(workshop.job("a")), workshop.campaign(workshop.job("a"), name="taken")
    with pytest.raises(InUseError, match=f"campaign {second} has this name and the same content"):
        removal.rename(workshop.store, first, "taken")
    third = workshop.campaign(workshop.job("a"), seed=1)
    removal.rename(workshop.store, third, "taken")
    assert campaigns.find_campaign(workshop.store, "taken@latest").id == third


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 201, "a@latest"])
def test_a_name_that_no_file_could_have_is_refused(workshop, name):
    campaign_id = workshop.campaign(workshop.job("a"))
    with pytest.raises(SpecError, match="cannot name a campaign"):
        removal.rename(workshop.store, campaign_id, name)
