"""Forged images in the report: there for images, and for nothing else."""

from __future__ import annotations

import base64
import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.image import imread
from sklearn.datasets import load_breast_cancer, load_digits

from orchestrator.launch import launch
from orchestrator.report.data import Findings
from orchestrator.report.rendering import render
from orchestrator.report.sections.images import figures, image_side, images_chart, picture, spread_out
from orchestrator.results.forged_sets import Forgery, largest_attempt
from orchestrator.results.stored_models import StoredModels
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from tests.sharing import run_to_end
from wm.datasets import Dataset, split


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """A campaign on scikit-learn's digits 2 and 6 that sought smallest distances."""
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
    run_to_end(store, campaign_id)
    yield Findings(store, campaigns.find_campaign(store, "digits"))
    store.close()


def test_the_largest_forged_set_is_shown(findings):
    (figure,) = figures(findings)
    record = findings.record
    attempt = largest_attempt(findings.store, record.id, StoredModels(findings.store, record.id))
    most = findings.frame("forgery")["forged"].max()
    assert len(attempt.forgeries) == most > 0
    assert f"signature {attempt.number} forges, of 12 tried" in figure.caption
    assert "/" not in figure.caption, "the file's name, not the folder of who ran the campaign"
    distances = sorted(one.distance for one in attempt.forgeries)
    assert f"{distances[0]:.3f}" in figure.alt_text
    assert f"{distances[-1]:.3f}" in figure.alt_text
    assert len(figure.draw().to_dict()["concat"]) == min(9, most)
    svg = render(figure.draw(), "svg").decode()
    assert svg.count("data:image/png;base64,") == 3 * min(9, most)


def test_rows_that_are_no_images_give_no_figure(paper):
    assert list(figures(paper)) == []


def test_images_are_known_by_the_names_of_their_pixels():
    assert image_side(load_digits().feature_names) == 8
    assert image_side([f"pixel{number}" for number in range(784)]) == 28
    assert image_side(load_breast_cancer().feature_names) is None
    assert image_side([f"feature{number}" for number in range(64)]) is None
    assert image_side([f"pixel{number}" for number in range(63)]) is None


@given(arrays(np.float32, st.sampled_from([(2, 2), (8, 8), (28, 28)]), elements=st.floats(-1, 2, width=32)))
def test_ink_is_read_back_from_its_picture(ink):
    address = picture(ink)
    grey = imread(io.BytesIO(base64.b64decode(address.partition(",")[2])), format="png")
    step = grey.shape[0] // len(ink)
    assert step * len(ink) >= 196, "large pixels stay sharp"
    shown = grey[::step, ::step][: len(ink), : len(ink)]
    np.testing.assert_allclose(1 - shown, np.clip(ink, 0, 1), atol=0.0021)


def test_rows_that_are_no_images_are_refused():
    bare = split(
        Dataset("rows", np.eye(64), np.arange(64) % 2, ("0", "1"), tuple(map(str, range(64)))), seed=0
    )
    point = np.zeros(64, dtype=np.float32)
    with pytest.raises(ValueError, match="64 features are no square image"):
        images_chart([Forgery(0, 0, point, point, 0.0)], bare)


@given(st.lists(st.floats(0, 1), max_size=30), st.integers(2, 9))
def test_a_selection_has_the_nearest_and_the_farthest(distances, count):
    point = np.zeros(1, dtype=np.float32)
    chosen = spread_out([Forgery(row, 0, point, point, d) for row, d in enumerate(distances)], count)
    assert len(chosen) == min(count, len(distances)) == len({one.row for one in chosen})
    assert [one.distance for one in chosen] == sorted(one.distance for one in chosen)
    if distances:
        assert (chosen[0].distance, chosen[-1].distance) == (min(distances), max(distances))
