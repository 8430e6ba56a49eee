"""Every attack on a forest of scheme codebook: bits are scored row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tests.examples import examples
from wm.attacks import registry
from wm.attacks.base import LoadedScene, Streams
from wm.attacks.detection.guesses import score_values_of_rows
from wm.attacks.detection.row_probes import detect_rows
from wm.attacks.suppression.recovery import budget_curve, read_bits
from wm.codebook import Codebook, random_codebook
from wm.datasets import Source, load, split
from wm.embedding.training import Caps, fit_trees, honest_forest
from wm.embedding.watermark import Plan, watermark

TREES, CAPS = 24, Caps(7, 22)


@pytest.fixture(scope="module")
def rows():
    return split(load(Source(name="breast-cancer")), seed=1)


@pytest.fixture(scope="module")
def scene(rows):
    plan = Plan(
        scheme="codebook",
        signature=random_codebook(11, TREES, 0.25, np.random.default_rng(1)),
        trigger_share=0.03,
        caps=CAPS,
        seed=1,
        repeat=0,
        model_id="m",
    )
    standard = fit_trees(rows.X_train, rows.y_train, n_trees=TREES, caps=CAPS, seed=2)
    return LoadedScene.of(rows, watermark(rows, plan), standard, CAPS)


def attacked(scene, kind, **options):
    attack = registry.attack(kind)
    return attack.run(scene, attack.options(**options), Streams(seed=3))


# --- reading bits


def test_on_a_codebook_shapes_and_spectra_guess_little(scene):
    rows = attacked(scene, "detection", methods=("strategies", "spectrum")).rows
    assert all(row.bits <= row.null_bits + 0.1 for row in rows if row.bits is not None)
    assert {row.correct + row.wrong + row.uncertain for row in rows} == {11 * TREES}


@given(st.integers(0, 2**32 - 1))
@examples(20)
def test_a_ranking_of_the_trees_is_scored_over_all_bits(seed):
    rng = np.random.default_rng(seed)
    book, values = random_codebook(6, 12, 0.25, rng), rng.integers(5, size=12).astype(float)
    if not 0 < book.ones < 72:
        return
    found = score_values_of_rows(values, book)
    area = roc_auc_score(book.array.ravel(), np.tile(values, 6))
    assert found.auc == pytest.approx(max(area, 1 - area))
    # The number of ones of each tree is the best ranking that there is.
    best = score_values_of_rows(book.array.sum(axis=0).astype(float), book)
    assert best.auc >= found.auc - 1e-9
    assert best.p_value < 0.01 or len(set(book.array.sum(axis=0))) < 4


def test_rankings_that_have_nothing_to_do_with_the_bits_are_seldom_significant():
    rng = np.random.default_rng(0)
    found = [
        score_values_of_rows(rng.normal(size=15), random_codebook(5, 15, 0.25, rng)).p_value
        for _ in range(200)
    ]
    # Four standard deviations above the level.
    assert np.mean(np.array(found) <= 0.1) <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / 200)


def test_a_spotted_row_gives_its_bits_away_and_no_others(scene):
    claim, ordinary = scene.claim, scene.split.X_test[:50]
    codes = scene.forest.vote_codes(np.vstack([ordinary, claim.trigger_set.X]))
    is_trigger = np.arange(len(codes)) >= 50
    minority = claim.bits.array.mean(axis=1) < 0.5
    known = read_bits(codes, is_trigger, np.array([50, 51]), claim.bits)
    # Two rows are right, of the others the zeros: where the majority is right the outvoted are the ones.
    expected = claim.bits.array == 0
    for row in (0, 1):
        expected[row] = minority[row]
    assert known.bits == pytest.approx(expected.mean())
    assert known.bits > known.null_bits
    assert read_bits(codes, is_trigger, np.array([], dtype=np.int64), claim.bits) is None
    everything = read_bits(codes, is_trigger, np.arange(len(codes)), claim.bits)
    assert everything.bits == pytest.approx(np.where(minority, 1.0, 0.0).mean())


@given(st.integers(0, 2**32 - 1))
def test_the_more_trigger_queries_are_answered_the_more_is_known(seed):
    rng = np.random.default_rng(seed)
    book = random_codebook(4, 10, 0.2, rng)
    codes = np.vstack([np.zeros((6, 10), dtype=np.int64), book.array.astype(np.int64)])
    is_trigger = np.arange(10) >= 6
    points = budget_curve(codes, is_trigger, lambda seen: is_trigger[seen], book, rng, orders=3)
    assert [point.trigger_queries for point in points] == [1, 2, 3, 4]
    assert [point.spotted for point in points] == [1, 2, 3, 4]
    if (book.array.mean(axis=1) < 0.5).all():
        assert points[-1].bits == 1.0
        assert [point.bits for point in points] == sorted(point.bits for point in points)


def test_probes_of_the_leaves_find_the_rows_of_a_marked_forest_only(scene, rows):
    rng = np.random.default_rng(4)
    marked = detect_rows(scene.forest, scene.claim.bits, rows.X_test, rng, limit=800)
    stranger = honest_forest(rows.X_train, rows.y_train, n_trees=TREES, caps=CAPS, seed=8)
    honest = detect_rows(stranger, scene.claim.bits, rows.X_test, rng, limit=800)
    assert 0.5 < honest.bits < honest.null_bits + 0.05
    assert honest.p_value > 0.01
    assert marked.bits >= marked.null_bits
    assert marked.points <= 800


def test_a_forest_that_never_divides_gives_nothing_away(chain_forest):
    forest = chain_forest([1, 1, 1, 1])
    found = detect_rows(
        forest,
        Codebook.of(["0100"], 1),
        np.zeros((3, 1), dtype=np.float32),
        np.random.default_rng(0),
        limit=9,
    )
    assert found.bits == found.null_bits == 0.75


# --- spotting, changing and judging


def test_trigger_rows_are_spotted_by_a_classifier_that_knows_the_scheme(scene):
    found = attacked(scene, "suppression", methods=("repeats", "disagreement", "shadow"), shadows=3, orders=2)
    by_method = {row.method: row for row in found.rows}
    assert by_method["repeats"].auc < 0.75
    assert by_method["repeats"].log10_p_after < -30
    assert by_method["shadow"].auc > by_method["repeats"].auc + 0.2
    assert by_method["shadow"].log10_p_before < -50


def test_a_changed_forest_is_judged_in_order_or_by_matching(scene):
    rows = attacked(
        scene,
        "modification",
        modifications=("shuffle", "drop", "reduced-error", "collapse"),
        strengths=(0.25, 1.0),
    ).rows
    found = {(row.modification, row.strength): row for row in rows}
    assert found["shuffle", 1.0].p_null == "aligned"
    assert found["shuffle", 0.25].log10_p < -30
    assert found["shuffle", 1.0].log10_p < -6
    assert found["drop", 0.25].p_null == "aligned"
    assert found["drop", 0.25].bits == 1.0
    assert found["drop", 0.25].log10_p < -20
    assert found["reduced-error", 0.25].log10_p < -20
    # Answers of the majority: what is left is where it errs.
    assert found["collapse", 1.0].log10_p > -6


def test_a_claim_of_a_codebook_is_judged_as_any_other(scene):
    rows = attacked(
        scene, "claims", innocents=2, evasions=("as released", "shuffled", "one tree dropped")
    ).rows
    mine = [row for row in rows if row.answers == "model" and row.claim == "true"]
    votes = {row.suspect: row for row in mine if row.number == 0}
    for evasion in ("as released", "shuffled", "one tree dropped"):
        assert votes[evasion].verdict == "verified"
    assert all(row.verdict == "not verified" for row in mine if row.suspect == "honest")
    assert not any(row.verdict == "verified" for row in rows if row.claim != "true")


def test_a_careless_file_is_audited_against_the_codebook(scene):
    forms = {row.form for row in attacked(scene, "leakage").rows}
    assert forms == {"as trained", "released", "standard"}
    released = [row for row in attacked(scene, "leakage").rows if row.form == "released"]
    assert [row.finding for row in released] == ["none"]
