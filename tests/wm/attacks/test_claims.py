"""Claims judged: no evasion costs nothing and helps, no innocent forest is convicted."""

from __future__ import annotations

import numpy as np
import pytest

from wm.attacks.base import LoadedScene, Streams
from wm.attacks.claims import EVASIONS, Options, run, sample_of_scene
from wm.claims.claim import make_claim
from wm.datasets import Source, load, split
from wm.embedding.training import Caps


@pytest.fixture(scope="module")
def scene(owner):
    data = split(load(Source(name="breast-cancer")), seed=1)
    claim = make_claim(
        scheme="paper",
        signature=owner.signature,
        X=owner.trigger_X,
        y=owner.trigger_y,
        model_hash="0" * 64,
        model_id="m",
        class_names=data.class_names,
    )
    ours = owner.data
    given = {"X_train": ours.X_train, "y_train": ours.y_train, "X_test": ours.X_test, "y_test": ours.y_test}
    rows = {name: np.array(value) for name, value in given.items()}
    data = type(data)(**{name: rows.get(name, getattr(data, name)) for name in data.__dataclass_fields__})
    return LoadedScene(data, owner.watermarked, claim, owner.honest, Caps(8, 19))


def test_evasions_are_verified_and_innocents_are_not(scene):
    found = run(scene, Options(answers=("model", "probabilities"), innocents=6), Streams(3)).rows
    stolen = [row for row in found if row.suspect != "honest"]
    assert {row.suspect for row in stolen} == set(EVASIONS)
    merged = "merged with an honest forest"
    verdicts = {(row.suspect, row.answers): row.verdict for row in stolen}
    assert {verdict for (name, _), verdict in verdicts.items() if name != merged} == {"verified"}
    assert verdicts[merged, "model"] == "verified"
    innocent = [row for row in found if row.suspect == "honest"]
    assert len(innocent) == 12
    assert all(row.verdict == "not verified" and row.log10_p > -3 for row in innocent)
    assert all(row.mistakes_p is None for row in innocent)
    released = next(row for row in stolen if row.suspect == "as released")
    assert released.shared_mistakes == 1.0
    assert released.mistakes_p == pytest.approx(1 / 7)


def test_labels_alone_are_weak(scene):
    options = Options(answers="labels", evasions="as released", innocents=1)
    released, honest = run(scene, options, Streams(3)).rows
    assert released.log10_p < honest.log10_p


def test_a_scene_shows_every_trigger_row_and_others_of_their_kind(scene):
    sample = sample_of_scene(scene, 50, np.random.default_rng(0))
    assert (len(sample.y), sample.size) == (50, 7)
    assert {row.tobytes() for row in sample.X[sample.is_trigger]} == {
        row.tobytes() for row in scene.claim.trigger_set.X
    }


def test_equal_streams_give_equal_rows_and_unknown_evasions_are_named(scene):
    options = Options(answers="model", evasions=("shuffled", "columns permuted"), innocents=1)
    assert run(scene, options, Streams(5)).rows == run(scene, options, Streams(5)).rows
    ((name, reason),) = Options(evasions="hide").problems(10)
    assert name == "evasions"
    assert "unknown evasion 'hide'; known are: as released, shuffled" in reason
