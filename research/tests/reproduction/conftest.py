"""A small campaign on one of the paper's data sets, run once, with all that a reproduction compares."""

from __future__ import annotations

import pytest

from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.spec import parse_spec
from orchestrator.store.campaigns import find_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState
from research.reproduction.runs import Run, read_runs

CAMPAIGN = """\
name = "small"
seed = 2
[dataset]
name = "breast-cancer"
split_seed = 2
scaling = "paper"
[forest]
n_estimators = 12
max_depth = 4
[embedding]
training = "per-tree"
adjust = "artifact"
repeats = 3
[[embedding.grid]]
trigger_share = [0.01, 0.02]
[[embedding.grid]]
ones_share = [0.3, 0.5]
[[attack]]
kind = "leakage"
only = { trigger_share = 0.02, ones_share = 0.5, repeats = 1 }
[[attack]]
kind = "detection"
methods = "strategies"
only = { trigger_share = 0.02, ones_share = 0.5 }
[[attack]]
kind = "suppression"
orders = 1
only = { trigger_share = 0.02, ones_share = 0.5, repeats = 1 }
[[attack]]
kind = "forgery"
signatures = 3
eps = "minimal"
only = { trigger_share = 0.02, ones_share = 0.5, repeats = 1 }
[[attack]]
kind = "forgery"
signatures = 3
eps = [0.3, 0.7]
only = { trigger_share = 0.02, ones_share = 0.5, repeats = 1 }
"""

OTHER = """\
name = "other"
seed = 2
dataset = { path = "rows.csv", label = "y" }
forest = { n_estimators = 6, max_depth = 2 }
embedding.trigger_share = 0.1
"""


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Store:
    """A store with that campaign, number 1, finished, and one on other data, number 2, not begun."""
    folder = tmp_path_factory.mktemp("reproduction")
    store = Store(f"sqlite:///{folder / 'wm.db'}")
    campaign_id = launch(store, parse_spec(CAMPAIGN))
    executor = LocalExecutor(StoreLedger(store), workers=1)
    try:
        state = run_campaign(store, campaign_id, executor, lambda _progress: None)
    finally:
        executor.close()
    assert (campaign_id, state) == (1, CampaignState.FINISHED)
    rows = folder / "rows.csv"
    rows.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(40)))
    launch(store, parse_spec(OTHER.replace("rows.csv", str(rows))))
    yield store
    store.close()


@pytest.fixture(scope="session")
def run(store) -> Run:
    """What that campaign found."""
    (run,) = read_runs(store, [find_campaign(store, "small")])
    return run
