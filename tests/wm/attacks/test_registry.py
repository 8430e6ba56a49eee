"""What holds for every attack: documented columns, options that cut into jobs, the same rows every time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests import toy_attack
from wm.attacks import (
    calibration,
    claims,
    detection,
    forgery,
    free_forgery,
    leakage,
    modification,
    registry,
    suppression,
)
from wm.attacks.base import LoadedScene, Streams
from wm.datasets import Source, load, split
from wm.embedding.training import Caps, fit_trees
from wm.embedding.watermark import Plan, watermark
from wm.errors import AttackError
from wm.signature import random_signature

SMALL = {
    "leakage": leakage.Options(),
    "detection": detection.Options(methods=("strategies", "spectrum", "presence"), honest=3),
    "suppression": suppression.Options(orders=2),
    "forgery": forgery.Options(eps=(0.2, 0.5), signatures=2, engine=("sat",)),
    "free-forgery": free_forgery.Options(methods=("all zeros", "clones")),
    "modification": modification.Options(modifications=("noise", "drop+noise"), strengths=(0.1,), tries=2),
    "calibration": calibration.Options(honest=3, other_owners=2, presence=2, reference=3, batch=2),
    "claims": claims.Options(answers="model", evasions="shuffled", innocents=2),
    "lean": toy_attack.Options(),
}
ATTACKS = [*registry.attacks(), toy_attack.ATTACK]


@pytest.fixture(scope="module")
def scene():
    """A forest of 12 trees watermarked as in a notebook."""
    made = split(load(Source(name="breast-cancer")), test_share=0.3, seed=1, scaling="train")
    caps = Caps(4, None)
    plan = Plan(
        scheme="paper",
        signature=random_signature(12, 0.5, np.random.default_rng(1)),
        trigger_share=0.02,
        caps=caps,
        seed=1,
        repeat=0,
        model_id="notebook",
    )
    standard = fit_trees(made.X_train, made.y_train, n_trees=12, caps=caps, seed=2)
    return LoadedScene.of(made, watermark(made, plan), standard, caps)


def plain(result):
    """Return a result as JSON would have it, without times."""
    rows = [row.model_dump(mode="json") for row in result.rows]
    for row in rows:
        row.pop("seconds", None), row.pop("slowest_seconds", None)
    return json.loads(json.dumps(rows))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
def test_every_column_and_every_option_is_documented(attack):
    assert all(attack.columns.values()), attack.columns
    assert all(info.description for info in attack.options.model_fields.values())
    assert attack.options.__doc__
    assert attack.summary


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.kind)
def test_a_notebook_gets_the_same_rows_whole_or_part_by_part(attack, scene):
    options = SMALL[attack.kind]
    whole = plain(attack.run(scene, options, Streams(7, 1)))
    parts = [part for each in options.parts() for part in plain(attack.run(scene, each, Streams(7, 1)))]
    assert whole
    if attack.aggregate is None:
        assert whole == parts
    else:
        found = [
            attack.aggregate([attack.row.model_validate(row, strict=False) for row in rows])
            for rows in (whole, parts)
        ]
        assert found[0] == found[1]
        assert set(found[0][0].model_dump()) == set(attack.columns)


def test_rows_follow_the_options(scene):
    counts = {
        kind: len(registry.attack(kind).run(scene, SMALL[kind], Streams(7)).rows)
        for kind in SMALL
        if kind != "lean"
    }
    assert counts["suppression"] == 2
    assert counts["forgery"] == 2 * 2
    assert counts["free-forgery"] == 2
    assert counts["modification"] == 2 * 2
    rows = registry.attack("leakage").run(scene, SMALL["leakage"], Streams(7)).rows
    assert {row.form for row in rows} == {"as trained", "released", "standard"}
    assert {row.bits for row in rows if row.form == "released"} == {None}


def test_an_unknown_attack_is_refused_with_those_there_are():
    with pytest.raises(AttackError, match="unknown attack 'guess'; known are: leakage, detection"):
        registry.attack("guess")


def test_presence_needs_honest_forests_to_compare_with():
    with pytest.raises(ValueError, match="honest must be at least 2"):
        detection.Options(methods=("presence",), honest=1)
    (part,) = detection.Options(methods=("shapes",), honest=40).parts()
    assert part.honest == 0
