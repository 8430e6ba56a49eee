"""A campaign over a list of distances asks less than one campaign for each, and finds the same."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from orchestrator import results
from orchestrator.launch import launch
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, forgery_answer
from tests.sharing import run_to_end

pytestmark = pytest.mark.system

EPS = (0.1, 0.3, 0.5, 0.7, 0.9)
INSTANCES = 24


@pytest.fixture(scope="module")
def campaign(spec):
    """Instances in two batches, of two signatures on breast-cancer."""
    changed = {"engine": ("portfolio",), "instances": INSTANCES, "batch": INSTANCES - 8, "eps": EPS}
    forgery = spec.attack[2].model_copy(update=changed)
    return spec.model_copy(update={"attack": (forgery,)})


def over(campaign, *lists):
    """Return the campaign with an attack for each of several lists of distances."""
    (forgery,) = campaign.attack
    attacks = tuple(forgery.model_copy(update={"eps": eps}) for eps in lists)
    return campaign.model_copy(update={"name": f"over-{len(lists)}", "attack": attacks})


def run(store, campaign, workers=1):
    """Run a campaign to its end; return its id."""
    campaign_id = launch(store, campaign)
    run_to_end(store, campaign_id, workers=workers)
    return campaign_id


def answers(store, campaign_id):
    """Return every answer by eps, signature and instance."""
    query = (
        sa.select(cell.c.eps, cell.c.signature, *forgery_answer.c)
        .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(cell.c.campaign_id == campaign_id)
    )
    with store.read() as connection:
        rows = connection.execute(query).mappings().all()
    return {(row["eps"], row["signature"], row["instance"]): row for row in rows}


@pytest.fixture(scope="module")
def whole(campaign, tmp_path_factory):
    """A store where the list was run by one worker."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('whole') / 'wm.db'}")
    assert run(store, campaign) == 1
    yield store
    store.close()


@pytest.fixture(scope="module")
def alone(campaign, tmp_path_factory):
    """The answers of five attacks with one distance each, which do not help each other."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('alone') / 'wm.db'}")
    found = answers(store, run(store, over(campaign, *((eps,) for eps in EPS))))
    store.close()
    return found


def test_a_list_gives_the_results_of_each_distance_alone(whole, alone):
    found = answers(whole, 1)
    assert len(found) == len(EPS) * 2 * INSTANCES
    assert {place: (row["row"], row["status"]) for place, row in found.items()} == {
        place: (row["row"], row["status"]) for place, row in alone.items()
    }
    assert all(row["followed_from"] is None for row in alone.values())


def test_at_most_three_of_five_distances_are_asked_and_the_others_name_theirs(whole):
    found = answers(whole, 1)
    asked = Counter(
        (signature, instance)
        for (_, signature, instance), row in found.items()
        if row["followed_from"] is None
    )
    assert len(asked) == 2 * INSTANCES
    assert max(asked.values()) <= 3
    for (_, signature, instance), row in found.items():
        if row["followed_from"] is not None:
            first = found[row["followed_from"], signature, instance]
            assert first["followed_from"] is None
            kept = ("status", "distance", "witness", "row", "reason", "certified")
            assert [row[name] for name in kept] == [first[name] for name in kept]
            assert row["seconds"] == 0.0
    frame = results.frame(whole, 1, "forgery")
    assert frame["followed"].sum() == len(found) - sum(asked.values())


def test_two_workers_find_the_same_bit_for_bit(whole, campaign, tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    run(store, campaign, workers=2)
    assert results.fingerprint(store, 1) == results.fingerprint(whole, 1)
    store.close()


def test_an_enlarged_list_asks_only_queries_that_do_not_follow(campaign, alone, tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    few = answers(store, run(store, over(campaign, (0.3, 0.7))))
    found = answers(store, run(store, campaign))
    assert {place: row["status"] for place, row in found.items()} == {
        place: row["status"] for place, row in alone.items()
    }
    for (eps, signature, instance), row in found.items():
        if eps in (0.3, 0.7):
            assert row == few[eps, signature, instance]
            continue
        lower, upper = (few[other, signature, instance]["status"] for other in (0.3, 0.7))
        known = (eps > 0.3 and lower == "forged") or (eps < 0.7 and upper == "impossible")
        known |= (eps > 0.7 and upper == "forged") or (eps < 0.3 and lower == "impossible")
        assert (row["followed_from"] is not None) == known
    store.close()
