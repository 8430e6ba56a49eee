"""Results of the attacks beyond the paper, on one small campaign that has all of them."""

from __future__ import annotations

from contextlib import closing

import pytest

from orchestrator import results
from orchestrator.frames import records
from orchestrator.launch import launch
from orchestrator.results import COLUMNS
from orchestrator.spec import parse_spec
from orchestrator.store.database import Store
from tests.sharing import copy_store, made_once, run_to_end
from wm.attacks.calibration import LEVELS, calibrate

pytestmark = pytest.mark.system

ATTACKS = """\
name = "attacks"
seed = 1

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 12
max_depth = 4

[[attack]]
kind = "leakage"

[[attack]]
kind = "detection"

[[attack]]
kind = "suppression"
orders = 2

[[attack]]
kind = "forgery"
signatures = 2
eps = "minimal"

[[attack]]
kind = "forgery"
signatures = 2
eps = [0.1, 0.3]
certify = true

[[attack]]
kind = "free-forgery"
methods = ["all zeros", "clones"]

[[attack]]
kind = "modification"
modifications = ["noise", "shuffle+collapse"]

[[attack]]
kind = "calibration"
honest = 3
other_owners = 2
batch = 2

[[attack]]
kind = "claims"
evasions = "shuffled"
answers = "model"
innocents = 2
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in which that campaign, number 1, is finished."""

    def make(folder):
        with closing(Store(f"sqlite:///{folder / 'wm.db'}")) as store:
            run_to_end(store, launch(store, parse_spec(ATTACKS)))

    made = made_once(tmp_path_factory, "attacks", make) / "wm.db"
    store = Store(f"sqlite:///{copy_store(made, tmp_path_factory.mktemp('attacks') / 'wm.db')}")
    yield store
    store.close()


@pytest.mark.parametrize("kind", sorted(COLUMNS))
def test_columns_are_fixed_with_rows_or_without(store, kind):
    found, none = (results.frame(store, number, kind) for number in (1, 99))
    assert list(found.columns) == list(none.columns) == list(COLUMNS[kind])
    assert len(found)
    assert records(none) == []


def test_minimal_distances_agree_with_single_queries(store):
    least = results.frame(store, 1, "distances")
    asked = results.frame(store, 1, "forgery").dropna(subset="eps")
    assert len(asked) == 4
    for row in asked.itertuples():
        of_signature = least[least["signature"] == row.signature]
        assert (of_signature["distance"] <= row.eps).sum() == row.forged
        assert len(of_signature) == row.instances == 7


def test_calibration_counts_over_all_batches(store):
    frame = results.frame(store, 1, "calibration")
    trials = {population: set(rows["trials"]) for population, rows in frame.groupby("population")}
    assert trials == {"honest": {3}, "other owners": {2}}
    assert set(frame["level"]) == set(LEVELS)
    by_hand = calibrate({"honest": {"p": [0.04, 0.5, 0.9]}}, [0.05])[0]
    assert (by_hand.hits, by_hand.trials) == (1, 3)
    assert frame["anti_conservative"].dtype == bool


def test_spectra_and_budget_curves_fit_their_forests(store):
    spectra, budget = results.frame(store, 1, "spectra"), results.frame(store, 1, "budget-curves")
    assert list(spectra["mode"]) == ["sample", "leaf-probe", "blind leaf-probe"]
    assert all(len(row.scores) == len(row.bits) == 12 for row in spectra.itertuples())
    assert set(budget["method"]) == {"disagreement", "repeats"}
    assert list(budget["trigger_queries"]) == 2 * [*range(1, 8)]


def test_modifications_come_with_every_strength(store):
    frame = results.frame(store, 1, "modification")
    counts = frame.groupby("modification").size().to_dict()
    assert counts == {"noise": 5, "shuffle+collapse": 3}
