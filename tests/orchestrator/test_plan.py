"""Planning is pure; equal keys mean equal work."""

from __future__ import annotations

import copy
import gc
import itertools
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.plan import DataFacts, GridPoint, plan, split_seed
from orchestrator.plan.attacks import Watermark, attacks_on_watermark
from orchestrator.spec import CampaignSpec
from tests.examples import examples
from wm import streams
from wm.attacks.forgery import attacker_signature
from wm.attacks.forgery.following import query_order
from wm.attacks.modification import STRENGTHS
from wm.embedding.common import trigger_size
from wm.signature import random_signature
from wm.streams import Role
from workers.jobs.kinds import KINDS, JobKind

FACTS = DataFacts(rows_train=398, rows_test=171, file_sha256=None)

shares = st.lists(st.sampled_from([0.01, 0.02, 0.05, 0.2]), min_size=1, max_size=3, unique=True)
only = st.fixed_dictionaries({}, optional={"repeats": st.integers(1, 2)})
detections = st.fixed_dictionaries({"kind": st.just("detection"), "only": only})
suppressions = st.fixed_dictionaries({"kind": st.just("suppression"), "only": only})


def few_batches(attack):
    """Bound the number of batches: campaigns of small ones would have tens of thousands of jobs."""
    limit = 5 * attack["batch"]
    return attack | {"instances": min(attack["instances"] or limit, limit)} if limit < 171 else attack


forgeries = st.fixed_dictionaries(
    {
        "kind": st.just("forgery"),
        "engine": st.lists(st.sampled_from(["sat", "z3"]), min_size=1, max_size=2, unique=True),
        "signatures": st.integers(1, 3),
        "eps": st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7]), min_size=1, max_size=4, unique=True),
        "instances": st.none() | st.integers(1, 171),
        "batch": st.sampled_from([1, 7, 50, 200]),
        "only": only,
    }
).map(few_batches)
campaigns = st.fixed_dictionaries(
    {
        "name": st.just("c"),
        "seed": st.integers(0, 5),
        "dataset": st.just({"name": "breast-cancer"}),
        "forest": st.just({"n_estimators": 10, "max_depth": 4})
        | st.just({"tune": {"n_estimators": [10, 20], "max_depth": [3, 4]}}),
        "embedding": st.fixed_dictionaries(
            {
                "trigger_share": shares,
                "ones_share": st.lists(st.sampled_from([0.3, 0.5]), min_size=1, max_size=2, unique=True),
                "repeats": st.integers(1, 3),
            }
        ),
        "attack": st.tuples(forgeries) | st.tuples(detections, suppressions, forgeries),
    }
)


def planned(campaign, facts=FACTS):
    return list(plan(CampaignSpec.model_validate(campaign, strict=False), facts))


@given(campaigns)
def test_planning_again_gives_the_same_jobs(campaign):
    assert planned(campaign) == planned(copy.deepcopy(campaign))


@given(campaigns)
def test_each_job_comes_once_after_its_needs_and_with_valid_parameters(campaign):
    seen = set()
    for job in planned(campaign):
        assert job.key not in seen
        assert set(job.needs) <= seen
        seen.add(job.key)
        parameters = KINDS[job.kind].parameters.model_validate(job.parameters)
        assert parameters.model_dump(mode="json") == job.parameters


@given(campaigns)
def test_every_point_of_the_grid_is_planned(campaign):
    spec = CampaignSpec.model_validate(campaign, strict=False)
    grid = spec.embedding
    jobs = planned(campaign)
    points = len(grid.scheme) * len(grid.trigger_share) * len(grid.ones_share)
    kinds = Counter(job.kind for job in jobs)
    assert kinds[JobKind.SPLIT] == 1
    assert kinds[JobKind.TUNE] == (spec.forest.tune is not None)
    assert kinds[JobKind.TUNE_FOLD] == (0 if spec.forest.tune is None else spec.forest.tune.folds)
    assert kinds[JobKind.BASELINE] == grid.repeats
    assert kinds[JobKind.EMBED] == points * grid.repeats
    for attack in spec.attack:
        attacked = points * min(grid.repeats, attack.only.repeats or grid.repeats)
        if attack.kind != "forgery":
            assert kinds[attack.kind] == attacked
        else:
            cells = {job.cell for job in jobs if job.kind is JobKind.FORGERY}
            assert len(cells) == attacked * len(attack.engine) * attack.signatures * len(attack.eps)


@given(campaigns)
def test_one_grid_or_several_that_overlap_are_the_same_work(campaign):
    embedding = campaign["embedding"]
    lists = {name: embedding[name] for name in ("trigger_share", "ones_share")}
    rows = [{"trigger_share": [share], "ones_share": lists["ones_share"]} for share in lists["trigger_share"]]
    by_grids = copy.deepcopy(campaign)
    by_grids["embedding"] = {"grid": [*rows, lists], "repeats": embedding["repeats"]}
    assert planned(by_grids) == planned(campaign)


@given(campaigns)
def test_batches_cover_the_instances_of_each_cell_exactly_once(campaign):
    spec = CampaignSpec.model_validate(campaign, strict=False)
    by_cell = {}
    for job in planned(campaign):
        if job.kind is JobKind.FORGERY:
            first, count = job.parameters["first"], job.parameters["count"]
            assert job.weight == count <= spec.attack[-1].batch
            by_cell.setdefault(job.cell, []).extend(range(first, first + count))
    for cell, instances in by_cell.items():
        wanted = spec.attack[-1].instances or trigger_size(FACTS.rows_train, cell.trigger_share)
        assert instances == list(range(wanted))


@given(campaigns)
def test_forgery_jobs_are_helped_by_those_that_differ_from_them_in_eps_alone_the_nearest_first(campaign):
    jobs = planned(campaign)
    by_key = {job.key: job for job in jobs}
    alike = {}

    def without_eps(job):
        content = {name: value for name, value in job.parameters.items() if name != "eps"}
        return tuple(job.needs), str(content)

    for job in jobs:
        if job.kind is JobKind.FORGERY:
            alike.setdefault(without_eps(job), set()).add(job.key)
    for job in jobs:
        if job.kind is not JobKind.FORGERY:
            assert job.helped_by == ()
            continue
        smaller, larger = ([by_key[key].parameters["eps"] for key in chain] for chain in job.helped_by)
        eps = job.parameters["eps"]
        assert smaller == sorted(smaller, reverse=True)
        assert larger == sorted(larger)
        assert all(other < eps for other in smaller)
        assert all(other > eps for other in larger)
        assert {job.key, *job.helped_by[0], *job.helped_by[1]} == alike[without_eps(job)]


@given(campaigns)
def test_of_each_batch_the_middle_distance_comes_first(campaign):
    eps = sorted(campaign["attack"][-1]["eps"])
    jobs = [job for job in planned(campaign) if job.kind is JobKind.FORGERY]
    order = [eps[turn.place] for turn in query_order(len(eps))]
    assert order[0] == eps[len(eps) // 2]
    for start in range(0, len(jobs), len(eps)):
        batch = jobs[start : start + len(eps)]
        assert [job.parameters["eps"] for job in batch] == order
        assert len({job.parameters["first"] for job in batch}) == 1


@given(campaigns)
def test_all_signatures_have_had_a_batch_before_one_has_a_second(campaign):
    """So that slots that work at the same time prove different things in the whole domain."""
    attacks = itertools.groupby(
        (job for job in planned(campaign) if job.kind is JobKind.FORGERY),
        lambda job: (job.needs, job.parameters["engine"], job.parameters["first"]),
    )
    for _, batches in attacks:
        signatures = [number for number, _ in itertools.groupby(batches, lambda job: job.cell.signature)]
        assert signatures == list(range(len(signatures)))


def test_minimal_distances_have_no_helpers():
    jobs = planned(changed(["attack", 2, "eps"], "minimal"), FACTS_OF_FILE)
    assert {job.helped_by for job in jobs if job.kind is JobKind.FORGERY} == {((), ())}


def test_planning_many_batches_keeps_none_of_them():
    """Ten thousand signatures: the first jobs come at once, and are forgotten again."""
    campaign = changed(["attack", 2, "signatures"], 10_000)
    campaign["attack"] = [campaign["attack"][2] | {"eps": [0.1, 0.3, 0.5, 0.7, 0.9]}]
    seen = [weakref.ref(job) for job in itertools.islice(attack_jobs_of(campaign), 3000)]
    gc.collect()
    assert sum(reference() is not None for reference in seen) <= 10


def attack_jobs_of(campaign):
    """Return the jobs of a campaign's one attack, without those that they need."""
    spec = CampaignSpec.model_validate(campaign, strict=False)
    cell = GridPoint(scheme="paper", trigger_share=0.02, ones_share=0.5, repeat=0)
    made = planned(BASE, FACTS_OF_FILE)
    split, baseline, embed = (
        next(job for job in made if job.kind is kind)
        for kind in (JobKind.SPLIT, JobKind.BASELINE, JobKind.EMBED)
    )
    target = Watermark(cell, split, baseline, embed)
    return attacks_on_watermark(spec, FACTS_OF_FILE, target, {"limit_s": 60.0, "memory_mb": None})


def enlarged(campaign):
    larger = copy.deepcopy(campaign)
    grid = larger["embedding"]
    grid["trigger_share"] = [0.15, *grid["trigger_share"][::-1]]
    grid["ones_share"] = [*grid["ones_share"], 0.4]
    grid["repeats"] += 1
    forgery = larger["attack"][-1]
    forgery["eps"] = [0.9, *forgery["eps"]]
    forgery["signatures"] += 2
    forgery["engine"] = ["z3", "sat"]
    forgery["only"].pop("repeats", None)
    return larger


@examples(30)  # enlarged campaigns have many jobs
@given(campaigns)
def test_a_larger_grid_keeps_all_keys(campaign):
    before, after = planned(campaign), planned(enlarged(campaign))
    assert {job.key for job in before} < {job.key for job in after}


@given(campaigns)
def test_another_name_and_another_order_are_the_same_work(campaign):
    other = copy.deepcopy(campaign) | {"name": "another"}
    for name in ("trigger_share", "ones_share"):
        other["embedding"][name] = other["embedding"][name][::-1]
    other["attack"] = other["attack"][::-1]
    assert {job.key for job in planned(campaign)} == {job.key for job in planned(other)}


BASE = {
    "name": "c",
    "seed": 1,
    "dataset": {"path": "rows.csv", "label": "y"},
    "forest": {"tune": {"n_estimators": [10, 20], "max_depth": [3, 4]}},
    "embedding": {"repeats": 2, "training": "paper"},
    "attack": [
        {"kind": "detection"},
        {"kind": "suppression"},
        {"kind": "forgery", "eps": [0.1], "instances": 60},
        {"kind": "leakage"},
        {"kind": "free-forgery"},
        {"kind": "modification", "modifications": ["noise", "drop+noise"]},
        {"kind": "calibration", "trigger_share": 0.02, "ones_share": 0.5},
        {"kind": "claims"},
    ],
}
FACTS_OF_FILE = DataFacts(rows_train=398, rows_test=171, file_sha256="0" * 64)
EVERYTHING = set(KINDS)
AFTER_SPLIT = EVERYTHING - {JobKind.SPLIT}
AFTER_TUNING = AFTER_SPLIT - {JobKind.TUNE_FOLD, JobKind.TUNE}
AFTER_BASELINE = AFTER_TUNING - {JobKind.BASELINE}
WATERMARKS = AFTER_BASELINE - {"calibration"}


def changed(path, value):
    campaign = copy.deepcopy(BASE)
    *way, last = path
    inner = campaign
    for part in way:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner[part]
    inner[last] = value
    return campaign


@pytest.mark.parametrize(
    ("path", "value", "downstream"),
    [
        (["seed"], 2, EVERYTHING),
        (["dataset", "path"], "other.csv", EVERYTHING),
        (["dataset", "label"], "z", EVERYTHING),
        (["dataset", "header"], True, EVERYTHING),
        (["dataset", "positive"], "yes", EVERYTHING),
        (["dataset", "sep"], ";", EVERYTHING),
        (["dataset", "drop"], ["id"], EVERYTHING),
        (["dataset", "missing"], "median", EVERYTHING),
        (["dataset", "categorical"], "onehot", EVERYTHING),
        (["dataset", "rows"], 300, EVERYTHING),
        (["dataset", "test_share"], 0.25, EVERYTHING),
        (["dataset", "scaling"], "paper", EVERYTHING),
        (["dataset", "split_seed"], 7, EVERYTHING),
        (["limits", "job_s"], 60.0, EVERYTHING),
        (["limits", "memory_mb"], 1000, EVERYTHING),
        (["forest", "tune", "n_estimators"], [10, 30], AFTER_SPLIT),
        (["forest", "tune", "max_depth"], [3], AFTER_SPLIT),
        (["forest", "tune", "folds"], 5, AFTER_SPLIT),
        (["embedding", "adjust"], "artifact", AFTER_TUNING),
        (["embedding", "trigger_share"], [0.03], WATERMARKS),
        (["embedding", "ones_share"], [0.4], WATERMARKS),
        (["embedding", "grid"], [{"trigger_share": [0.03]}], WATERMARKS),
        (["embedding", "weight_step"], 2.0, WATERMARKS),
        (["embedding", "training"], "per-tree", WATERMARKS),
        (["embedding", "max_rounds"], 30, WATERMARKS),
        (["attack", 2, "eps"], [0.2], {JobKind.FORGERY}),
        (["attack", 2, "engine"], ["z3"], {JobKind.FORGERY}),
        (["attack", 2, "ones_share"], 0.4, {JobKind.FORGERY}),
        (["attack", 2, "timeout_s"], 5.0, {JobKind.FORGERY}),
        (["attack", 2, "memory_mb"], 500, {JobKind.FORGERY}),
        (["attack", 2, "batch"], 3, {JobKind.FORGERY}),
        (["attack", 2, "certify"], True, {JobKind.FORGERY}),
        (["attack", 2, "eps"], "minimal", {JobKind.FORGERY}),
        (["attack", 0, "methods"], ["spectrum"], {"detection"}),
        (["attack", 1, "shadows"], 3, {"suppression"}),
        (["attack", 1, "orders"], 3, {"suppression"}),
        (["attack", 4, "eps"], 0.3, {"free-forgery"}),
        (["attack", 4, "instances"], 3, {"free-forgery"}),
        (["attack", 4, "most_ones"], 0.6, {"free-forgery"}),
        (["attack", 5, "strengths"], [0.1], {"modification"}),
        (["attack", 5, "tries"], 2, {"modification"}),
        (["attack", 6, "ones_share"], 0.4, {"calibration"}),
        (["attack", 6, "batch"], 30, {"calibration"}),
        (["attack", 7, "innocents"], 3, {"claims"}),
    ],
)
def test_a_parameter_changes_exactly_the_keys_of_dependent_jobs(path, value, downstream):
    before, after = planned(BASE, FACTS_OF_FILE), planned(changed(path, value), FACTS_OF_FILE)
    kept = {job.key for job in before} & {job.key for job in after}
    assert {job.kind for job in before} == EVERYTHING
    assert {job.kind for job in before if job.key not in kept} == downstream
    assert not any(job.kind in downstream for job in before if job.key in kept)


def test_candidates_change_the_keys_of_lineup_alone():
    both = changed(["embedding", "scheme"], ["paper", "lineup"])
    before = planned(both, FACTS_OF_FILE)
    both["embedding"]["candidates"] = 30
    after = planned(both, FACTS_OF_FILE)
    kept = {job.key for job in before} & {job.key for job in after}
    assert {job.cell.scheme for job in before if job.key not in kept} == {"lineup"}
    assert not any(job.cell.scheme == "lineup" for job in before if job.key in kept)
    assert {job.key for job in planned(BASE, FACTS_OF_FILE)} == kept


def test_pool_rows_change_the_keys_of_codebook_alone():
    both = changed(["embedding", "scheme"], ["paper", "codebook"])
    both["embedding"].pop("training")
    both["embedding"].pop("weight_step", None)
    before = planned(both, FACTS_OF_FILE)
    both["embedding"]["pool_rows"] = "any"
    assert [job.key for job in planned(both, FACTS_OF_FILE)] == [job.key for job in before]
    both["embedding"]["pool_rows"] = "divided"
    after = planned(both, FACTS_OF_FILE)
    kept = {job.key for job in before} & {job.key for job in after}
    assert {job.cell.scheme for job in before if job.key not in kept} == {"codebook"}
    assert not any(job.cell.scheme == "codebook" for job in before if job.key in kept)
    with pytest.raises(ValidationError, match="pool_rows has no meaning without scheme codebook"):
        planned(changed(["embedding", "pool_rows"], "divided"), FACTS_OF_FILE)


@pytest.mark.parametrize(
    ("option", "value"), [("max_depth", 2), ("learning_rate", 0.2), ("fit_share", 0.9), ("max_weight", 8.0)]
)
def test_options_of_boosted_models_change_the_keys_of_these_alone(option, value):
    both = changed(["embedding", "scheme"], ["paper", "boosted"])
    both["forest"] = {"n_estimators": 20}
    both["attack"] = []
    before = planned(both, FACTS_OF_FILE)
    both["embedding"]["boosted"] = {}
    assert [job.key for job in planned(both, FACTS_OF_FILE)] == [job.key for job in before]
    both["embedding"]["boosted"] = {option: value}
    after = planned(both, FACTS_OF_FILE)
    kept = {job.key for job in before} & {job.key for job in after}
    assert {job.cell.scheme for job in before if job.key not in kept} == {"boosted"}
    assert not any(job.cell.scheme == "boosted" for job in before if job.key in kept)


def test_every_parameter_of_the_file_has_its_row_above():
    (parametrized,) = [
        mark
        for mark in test_a_parameter_changes_exactly_the_keys_of_dependent_jobs.pytestmark
        if mark.name == "parametrize"
    ]
    shown = {tuple(part for part in row[0] if not isinstance(part, int)) for row in parametrized.args[1]}
    fields = CampaignSpec.model_fields
    sections = {name: fields[name].annotation.model_fields for name in ("dataset", "embedding", "limits")}
    there = {(section, name) for section, names in sections.items() for name in names}
    elsewhere = {
        ("dataset", "name"),
        *(("embedding", name) for name in ("scheme", "repeats", "candidates", "boosted", "pool_rows")),
    }
    assert there - elsewhere <= shown


def test_options_of_tables_that_are_not_used_leave_keys_as_they_were():
    (split,) = [job for job in planned(BASE, FACTS_OF_FILE) if job.kind == JobKind.SPLIT]
    assert {"sep", "drop", "missing", "categorical"}.isdisjoint(split.parameters)
    defaults = {"sep": None, "drop": [], "missing": "refuse", "categorical": "refuse"}
    given = changed(["dataset"], BASE["dataset"] | {name: value for name, value in defaults.items() if value})
    assert [job.key for job in planned(given, FACTS_OF_FILE)] == [
        job.key for job in planned(BASE, FACTS_OF_FILE)
    ]


def test_a_changed_file_changes_everything():
    other = DataFacts(rows_train=398, rows_test=171, file_sha256="1" * 64)
    before = {job.key for job in planned(BASE, FACTS_OF_FILE)}
    assert before.isdisjoint(job.key for job in planned(BASE, other))


def test_a_new_version_of_a_kind_changes_dependent_jobs(monkeypatch):
    before = planned(BASE, FACTS_OF_FILE)
    kind = KINDS[JobKind.TUNE]
    monkeypatch.setitem(
        KINDS, JobKind.TUNE, type(kind)(kind.parameters, kind.result, kind.handler, version=9)
    )
    kept = {job.key for job in before} & {job.key for job in planned(BASE, FACTS_OF_FILE)}
    assert {job.kind for job in before if job.key in kept} == {JobKind.SPLIT, JobKind.TUNE_FOLD}


def test_overlapping_attacks_are_planned_once():
    campaign = copy.deepcopy(BASE)
    campaign["attack"] += [
        {"kind": "detection", "only": {"repeats": 1}},
        {"kind": "forgery", "eps": [0.1, 0.2], "instances": 60},
    ]
    keys = [job.key for job in planned(campaign, FACTS_OF_FILE)]
    assert len(keys) == len(set(keys)) == len(planned(BASE, FACTS_OF_FILE)) + 2 * 10


def test_combined_modifications_grow_stronger_together():
    chains = {
        "+".join(job.parameters["steps"]): job.parameters["strengths"]
        for job in planned(BASE, FACTS_OF_FILE)
        if job.kind == "modification"
    }
    assert set(chains) == {"noise", "drop+noise"}
    assert [strengths[0] for strengths in chains["noise"]] == list(STRENGTHS["noise"])
    dropped, noise = zip(*chains["drop+noise"], strict=True)
    assert list(dropped) == list(STRENGTHS["drop"])
    assert list(noise) == sorted(noise)
    assert noise[-1] == STRENGTHS["noise"][-1]


def test_a_calibration_covers_each_population_once_without_any_watermark():
    campaign = copy.deepcopy(BASE)
    campaign["attack"] = [
        {"kind": "calibration", "honest": 60, "other_owners": 25, "presence": 10, "reference": 19}
    ]
    covered = {}
    for job in planned(campaign, FACTS_OF_FILE):
        if job.kind == "calibration":
            first, count = job.parameters["first"], job.parameters["count"]
            covered.setdefault(job.parameters["population"], []).extend(range(first, first + count))
            assert (job.cell.trigger_share, job.cell.ones_share, job.cell.repeat) == (0.02, 0.5, None)
    assert covered == {"honest": [*range(60)], "other owners": [*range(25)], "presence": [*range(10)]}


def test_no_more_instances_are_tried_than_there_are_test_rows():
    campaign = copy.deepcopy(BASE) | {"embedding": {"trigger_share": [0.5]}}
    del campaign["attack"][2]["instances"]
    weights = [job.weight for job in planned(campaign, FACTS_OF_FILE) if job.kind is JobKind.FORGERY]
    assert sum(weights) == 10 * FACTS.rows_test < 10 * trigger_size(398, 0.5)


def test_faults_against_the_data_are_reported_at_once():
    campaign = copy.deepcopy(BASE)
    campaign["embedding"] = {"trigger_share": [0.001, 0.02, 0.002], "ones_share": [0.01, 0.5, 0.99]}
    campaign["attack"] += [{"kind": "forgery", "eps": [0.4], "instances": 172}]
    with pytest.raises(SpecError) as caught:
        next(plan(CampaignSpec.model_validate(campaign, strict=False), FACTS_OF_FILE))
    assert list(caught.value.problems) == [
        "c: embedding.trigger_share: trigger_share 0.001 of 398 training rows is less than one row: at least "
        "0.00252 is needed",
        "c: embedding.trigger_share: trigger_share 0.002 of 398 training rows is less than one row: at least "
        "0.00252 is needed",
        "c: embedding.ones_share: 0.01 of 10 trees leaves all bits equal: a signature needs both zeros and "
        "ones",
        "c: embedding.ones_share: 0.99 of 10 trees leaves all bits equal: a signature needs both zeros and "
        "ones",
        "c: attack.8.instances: 172 is more than the 171 test rows",
    ]


@given(campaigns)
def test_no_two_roles_share_a_seed(campaign):
    seeds = []
    for job in planned(campaign):
        if job.kind is JobKind.SPLIT or (job.kind is JobKind.TUNE_FOLD and job.parameters["fold"] == 0):
            seeds.append(job.parameters["seed"])
        elif job.kind is JobKind.BASELINE:
            seeds += [job.parameters["standard_seed"], job.parameters["capped_seed"]]
    repeats = range(campaign["embedding"]["repeats"])
    owner = (Role.OWNER_TREES_RIGHT, Role.OWNER_TREES_WRONG)
    seeds += [streams.integer_seed(campaign["seed"], role, repeat) for role in owner for repeat in repeats]
    assert len(seeds) == len(set(seeds))
    assert campaign["seed"] not in seeds


def test_a_pinned_split_leaves_every_other_seed_alone():
    pinned = changed(["dataset", "split_seed"], 7)
    assert split_seed(CampaignSpec.model_validate(pinned, strict=False)) == 7
    before, after = (
        [job.parameters for job in planned(campaign, FACTS_OF_FILE) if job.kind is not JobKind.SPLIT]
        for campaign in (BASE, pinned)
    )
    assert before == after


@given(st.integers(0, 2**32), st.integers(0, 5))
def test_attackers_know_nothing_of_the_owner_whose_seed_they_share(seed, repeat):
    rng = streams.generator(seed, Role.OWNER_SIGNATURE, repeat)
    owner = random_signature(64, 0.5, rng)
    agreements = [
        owner.agreement(attacker_signature(seed, number=number, length=64, ones_share=0.5, repeat=repeat))
        for number in range(64)
    ]
    # Independent bits agree in half of the places: the mean of 64 has a standard deviation of 1/128.
    assert abs(np.mean(agreements) - 0.5) < 8 / 128
    assert max(agreements) < 1
