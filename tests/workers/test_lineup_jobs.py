"""Jobs of scheme lineup: the embed job keeps the line-up, and attacks are run and scored with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wm.forest import Forest
from wm.verification.lineup.proof import LineupProof
from workers.jobs.kinds import KINDS, JobKind
from workers.jobs.owner import EmbedResult

FEW = {"scheme": "lineup", "candidates": 6}


@pytest.fixture(scope="module")
def lineup_bench(shared_bench):
    """The shared bench with an honest forest of the scheme in place of the paper's."""
    bench = replace(shared_bench, results=dict(shared_bench.results), rows=[])
    bench.results[JobKind.EMBED] = bench.result(JobKind.EMBED, **FEW)
    return bench


def test_the_embed_job_keeps_the_line_up_and_says_what_it_shows(lineup_bench):
    result = EmbedResult.model_validate(lineup_bench.results[JobKind.EMBED])
    proof = LineupProof.from_bytes(lineup_bench.artifacts[result.proof])
    assert proof.lineup.votes.shape[:2] == (12, 6)
    forest = Forest.from_bytes(lineup_bench.artifacts[result.forest])
    assert proof.scores(forest).votes == pytest.approx(result.log10_p)
    assert (result.log10_p < -7, result.log10_p_standard > -3, result.exact_match) == (True, True, False)


def test_equal_parameters_give_equal_artifacts(lineup_bench):
    assert lineup_bench.result(JobKind.EMBED, **FEW) == lineup_bench.results[JobKind.EMBED]


def test_other_schemes_have_no_proof(shared_bench):
    assert EmbedResult.model_validate(shared_bench.results[JobKind.EMBED]).proof is None


def test_modified_forests_are_scored_by_the_line_up(lineup_bench):
    result = lineup_bench.result(
        "modification", steps=["shuffle", "drop"], strengths=[[0.0, 0.0], [1.0, 0.25]], tries=1
    )
    unchanged, changed = KINDS["modification"].result.model_validate(result).rows
    assert {unchanged.p_null, changed.p_null} == {"lineup"}
    embedded = lineup_bench.results[JobKind.EMBED]
    assert unchanged.log10_p == pytest.approx(embedded["log10_p"])
    assert changed.log10_p < -4
    assert unchanged.log10_p_shares < -4


@pytest.mark.parametrize("kind", ["leakage", "detection", "suppression"])
def test_attacks_on_marks_run_on_a_forest_without_any(lineup_bench, kind):
    assert KINDS[kind].result.model_validate(lineup_bench.result(kind)).rows
