"""Claims judged: no evasion costs nothing and helps, no innocent forest is convicted."""

from __future__ import annotations

import numpy as np
import pytest

from wm.attacks.base import LoadedScene, Streams
from wm.attacks.claims import EVASIONS, TRUE, Options, run, sample_of_scene
from wm.attacks.false_claims import FALSE_CLAIMS, false_sample
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
    options = Options(answers=("model", "probabilities"), innocents=6, false_claims="true rows")
    found = [row for row in run(scene, options, Streams(3)).rows if row.claim == TRUE]
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
    options = Options(answers="labels", evasions="as released", innocents=1, false_claims="true rows")
    released, honest, *_ = run(scene, options, Streams(3)).rows
    assert released.log10_p < honest.log10_p


def test_a_scene_shows_every_trigger_row_and_others_of_their_kind(scene):
    sample = sample_of_scene(scene, 50, np.random.default_rng(0))
    assert (len(sample.y), sample.size) == (50, 7)
    assert {row.tobytes() for row in sample.X[sample.is_trigger]} == {
        row.tobytes() for row in scene.claim.trigger_set.X
    }


def test_equal_streams_give_equal_rows_and_unknown_evasions_are_named(scene):
    options = Options(
        answers="model",
        evasions=("shuffled", "columns permuted"),
        innocents=1,
        false_claims=("border rows", "noisy labels"),
    )
    assert run(scene, options, Streams(5)).rows == run(scene, options, Streams(5)).rows
    ((name, reason),) = Options(evasions="hide").problems(10)
    assert name == "evasions"
    assert "unknown evasion 'hide'; known are: as released, shuffled" in reason
    ((name, reason),) = Options(false_claims="lie").problems(10)
    assert name == "false_claims"
    assert "unknown false claim 'lie'; known are: half mislabelled" in reason


def test_no_false_claim_is_verified_on_innocent_forests_or_on_the_released_one(scene):
    found = run(scene, Options(evasions="as released", innocents=3), Streams(4)).rows
    false = [row for row in found if row.claim != TRUE]
    assert {row.claim for row in false} == set(FALSE_CLAIMS)
    assert len(false) == len(FALSE_CLAIMS) * 4 * 3
    assert {row.suspect for row in false} == {"as released", "honest"}
    assert not any(row.verdict == "verified" for row in false)
    assert min(row.log10_p for row in false) > -5, "84 p-values"
    assert next(row for row in found if row.claim == TRUE).verdict == "verified"


@pytest.mark.parametrize("name", FALSE_CLAIMS)
def test_false_claims_are_as_large_as_the_true_one_and_drawn_anew(scene, name):
    true = sample_of_scene(scene, 100, np.random.default_rng(0))
    rows = scene.split.X_test, scene.split.y_test
    false = [
        false_sample(name, true, *rows, scene.standard, np.random.default_rng(seed)) for seed in (1, 1, 2)
    ]
    for each in false:
        assert 50 <= len(each.y) <= 100
        assert each.size == true.size
        assert each.draw.signature.ones == true.draw.signature.ones
        assert len(np.unique(each.X, axis=0)) == len(each.X) == each.header.pool_size
        assert np.isin(each.y, (0, 1)).all()
    assert false[0].draw == false[1].draw != false[2].draw
