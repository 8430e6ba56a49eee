"""What a rehearsal estimates of a campaign's time."""

from __future__ import annotations

from collections import Counter

import pytest

from orchestrator.launch import planned_jobs, read_campaign
from orchestrator.rehearsal import SAMPLES, rehearse
from tests.small_campaign import small_campaign

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    path = tmp_path_factory.mktemp("rehearsal") / "c.toml"
    path.write_text(small_campaign(signatures=3, instances=4))
    return read_campaign(path)


def test_all_parts_are_timed_if_there_is_time(campaign):
    parts = rehearse(*campaign, seconds=120)
    planned = Counter()
    for job in planned_jobs(*campaign):
        planned[job.kind, job.cell.engine, job.cell.eps] += job.weight
    assert {(part.key.kind, part.key.engine, part.key.eps): part.planned for part in parts} == planned
    for part in parts:
        assert part.timed == min(part.planned, 4 * SAMPLES), part
        assert part.estimate_s == pytest.approx(part.seconds)
    assert sum(part.at_limit for part in parts) == 0


def test_parts_without_time_have_no_estimate(campaign):
    parts = rehearse(*campaign, seconds=1e-6)
    left = [part for part in parts if part.timed == 0]
    assert {part.estimate_s for part in left} == {None}
    assert {"detection", "forgery"} <= {part.key.kind for part in left}


def test_failed_jobs_are_no_estimate(campaign):
    spec, facts = campaign
    never_ends_well = spec.embedding.model_copy(update={"training": "paper", "max_rounds": 1})
    parts = rehearse(spec.model_copy(update={"embedding": never_ends_well}), facts, seconds=60)
    timed = {part.key.kind for part in parts if part.timed}
    assert timed == {"split", "baseline"}, "the embedding fails, and all else needs it"
    assert {part.estimate_s for part in parts if part.key.kind not in timed} == {None}
