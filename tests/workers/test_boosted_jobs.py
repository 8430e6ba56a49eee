"""Jobs of scheme boosted: the embed job keeps the model, and the attacks that apply read it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wm.claims.claim import parse_claim
from wm.codebook import Codebook
from wm.forest import Forest
from wm.formats import xgboost_file
from wm.verification.boosted import wrong_signs
from workers.jobs.kinds import KINDS, JobKind
from workers.jobs.owner import EmbedResult

CHOSEN = {"scheme": "boosted", "trigger_share": 0.03, "boosted": {"max_depth": 2, "fit_share": 0.9}}


@pytest.fixture(scope="module")
def boosted_bench(shared_bench):
    """The shared bench with a boosted model in place of the paper's forest."""
    bench = replace(shared_bench, results=dict(shared_bench.results), rows=[])
    bench.results[JobKind.EMBED] = bench.result(JobKind.EMBED, **CHOSEN)
    return bench


def test_the_embed_job_keeps_the_model_and_says_what_it_shows(boosted_bench):
    result = EmbedResult.model_validate(boosted_bench.results[JobKind.EMBED])
    artifacts = boosted_bench.artifacts
    model, plain = (xgboost_file.read(artifacts[each]) for each in (result.model, result.plain))
    assert result.record is result.proof is None
    assert (model.forest.n_trees, int(model.forest.tree_depths.max())) == (12, 2)
    assert Forest.from_bytes(artifacts[result.forest]).content_hash == model.forest.content_hash
    assert result.nodes == len(model.forest.left)
    claim = parse_claim(artifacts[result.claim])
    assert isinstance(claim.bits, Codebook)
    triggers = claim.trigger_set
    matched = wrong_signs(model, triggers.X, triggers.y) == (claim.bits.array == 1)
    assert (result.matched_bits, result.total_bits) == (matched.sum(), matched.size)
    assert result.log10_p < -20 < -3 < result.log10_p_standard
    assert result.honest.n_estimators == plain.forest.n_trees == 12
    assert abs(result.accuracy_watermarked - result.honest.accuracy_standard) < 0.06


def test_equal_parameters_give_equal_artifacts(boosted_bench):
    assert boosted_bench.result(JobKind.EMBED, **CHOSEN) == boosted_bench.results[JobKind.EMBED]


def test_forests_have_no_such_figures(shared_bench):
    assert not {"model", "plain", "honest"} & shared_bench.results[JobKind.EMBED].keys()


def test_modified_models_are_scored_by_their_margins(boosted_bench):
    result = boosted_bench.result(
        "modification", steps=["round-leaves", "shorten"], strengths=[[0.0, 0.0], [1.0, 0.25]], tries=1
    )
    unchanged, changed = KINDS["modification"].result.model_validate(result).rows
    embedded = boosted_bench.results[JobKind.EMBED]
    assert unchanged.bits == pytest.approx(embedded["matched_bits"] / embedded["total_bits"])
    assert (unchanged.n_trees, changed.n_trees) == (12, 9)
    assert unchanged.log10_p < changed.log10_p < -3


def test_the_released_and_the_plain_file_are_audited(boosted_bench):
    rows = KINDS["leakage"].result.model_validate(boosted_bench.result("leakage")).rows
    assert [(row.form, row.finding) for row in rows] == [("released", "none"), ("standard", "none")]
