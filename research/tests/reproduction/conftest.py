"""A small campaign on one of the paper's data sets, run once, with all that a reproduction compares."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.launch import launch
from orchestrator.spec import parse_spec
from orchestrator.store.campaigns import find_campaign
from orchestrator.store.database import Store
from research.reproduction.runs import Run, read_runs
from tests.sharing import copy_store, made_once, run_to_end

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

    def make(folder: Path) -> None:
        rows = folder / "rows.csv"
        rows.write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(40)))
        with closing(Store(f"sqlite:///{folder / 'wm.db'}")) as store:
            run_to_end(store, launch(store, parse_spec(CAMPAIGN)))
            launch(store, parse_spec(OTHER.replace("rows.csv", str(rows))))

    made = made_once(tmp_path_factory, "reproduction", make) / "wm.db"
    store = Store(f"sqlite:///{copy_store(made, tmp_path_factory.mktemp('reproduction') / 'wm.db')}")
    yield store
    store.close()


@pytest.fixture(scope="session")
def run(store) -> Run:
    """What that campaign found."""
    (run,) = read_runs(store, [find_campaign(store, "small")])
    return run
