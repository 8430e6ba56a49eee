"""Forged images in the report: there for images, and for nothing else."""

from __future__ import annotations

import csv

import pytest
from sklearn.datasets import load_digits

from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.report.findings import gather
from orchestrator.report.pictures.forgery import image_pictures
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """A campaign on scikit-learn's digits 2 and 6 that sought least distances."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    with (folder / "digits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"pixel{number}" for number in range(64)), "digit"])
        writer.writerows([*row, label] for row, label in zip(X, y, strict=True) if label in (2, 6))
    spec = parse_spec(
        f"""
        name = "digits"
        seed = 1
        [dataset]
        path = "{folder / "digits.csv"}"
        label = "digit"
        positive = "6"
        [forest]
        n_estimators = 10
        max_depth = 4
        [[attack]]
        kind = "forgery"
        signatures = 2
        instances = 12
        eps = "minimal"
        """
    )
    store = Store(f"sqlite:///{folder / 'wm.db'}")
    campaign_id = launch(store, spec)
    executor = LocalExecutor(StoreLedger(store), workers=1)
    try:
        run_campaign(store, campaign_id, executor, lambda _progress: None)
    finally:
        executor.close()
    yield gather(store, campaigns.find_campaign(store, "digits"))
    store.close()


def test_the_largest_forged_set_is_shown(findings):
    (picture,) = image_pictures(findings)
    attempt = findings.images.attempt
    most = findings.least_forgery["forged"].max()
    assert len(attempt.forgeries) == most > 0
    assert f"signature {attempt.number} forges, of 12 tried" in picture.caption
    shown = min(9, most)
    assert len(picture.figure.axes) == 3 * shown
    distances = sorted(one.distance for one in attempt.forgeries)
    assert f"{distances[0]:.3f}" in picture.alternative
    assert f"{distances[-1]:.3f}" in picture.alternative


def test_rows_that_are_no_images_give_no_picture(make_campaign):
    made = make_campaign(is_small=True)
    found = gather(made.store, made.record)
    assert found.images is None
    assert list(image_pictures(found)) == []
