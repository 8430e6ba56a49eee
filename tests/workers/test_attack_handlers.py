"""What attacks look at when they run as jobs: whose rows, which stream, which limits and strengths.

The handler runs in this process, on the bench's inputs, with the attack's functions watched: a wrong half of
the rows or another repeat's stream changes every figure a little and none so much that it would look wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from wm import streams
from wm.attacks.calibration import attack as calibration
from wm.attacks.detection import attack as detection
from wm.attacks.detection.guesses import above_median, score_guess, score_values
from wm.attacks.detection.presence import presence_statistics, presence_test
from wm.attacks.detection.spectrum import vote_spectrum
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.attacks.forgery.forged_sets import ForgedSet
from wm.attacks.free_forgery import attack as free_forgery
from wm.attacks.leakage import attack as leakage
from wm.attacks.leakage import inspect
from wm.attacks.modification import attack as modification
from wm.attacks.suppression import METHODS
from wm.attacks.suppression import attack as suppression
from wm.claims.claim import Claim, parse_claim
from wm.datasets import Split
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.formats.sklearn_metadata import parse_arrays
from wm.streams import Role
from workers.handlers import attack
from workers.jobs.kinds import KINDS, JobKind
from workers.runtime.context import ArtifactCache, Context


@dataclass(frozen=True)
class Call:
    """A call of a watched function; generators as the state that they were handed over in."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: Any


class Watch:
    """Functions of one attack's module, watched: what they were called with, and what they returned."""

    def __init__(self, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self._module, self._monkeypatch = module, monkeypatch

    def __call__(self, name: str) -> list[Call]:
        function, calls = getattr(self._module, name), []

        def watched(*arguments: Any, **named: Any) -> Any:
            given = tuple(map(_kept, arguments)), {key: _kept(value) for key, value in named.items()}
            calls.append(Call(*given, function(*arguments, **named)))
            return calls[-1].result

        self._monkeypatch.setattr(self._module, name, watched)
        return calls


def _kept(value: Any) -> Any:
    return value.bit_generator.state if isinstance(value, np.random.Generator) else value


def _state(role: Role | str, *key: int | str) -> dict[str, Any]:
    """Return the state that a stream of seed 1 begins in."""
    return dict(streams.generator(1, role, *key).bit_generator.state)


@dataclass(frozen=True)
class Scene:
    """The bench's inputs, and the way to run a handler on them."""

    bench: Any
    split: Split
    forest: Forest
    claim: Claim
    caps: Caps

    def artifact(self, kind: str, name: str) -> bytes:
        return bytes(self.bench.artifacts[self.bench.results[kind][name]])

    def run(self, kind: str, **changes: Any) -> Any:
        cache = ArtifactCache()
        for sha256, data in self.bench.artifacts.items():
            cache.put(sha256, data)
        job = self.bench.job(kind, **changes)
        ours, theirs = Pipe()
        with ours, theirs:
            context = Context(ours, cache, job, 1000.0)
            return attack.run(KINDS[kind].parameters.model_validate(job.parameters), context)


@pytest.fixture
def scene(bench):
    embedded, baseline = bench.results[JobKind.EMBED], bench.results[JobKind.BASELINE]
    return Scene(
        bench,
        Split.from_bytes(bench.artifacts[bench.results[JobKind.SPLIT]["split"]]),
        Forest.from_bytes(bench.artifacts[embedded["forest"]]),
        parse_claim(bench.artifacts[embedded["claim"]]),
        Caps(baseline["cap_depth"], baseline["cap_leaves"]),
    )


def bag(X: np.ndarray) -> Counter[bytes]:
    """Return rows as they are, in no order."""
    return Counter(row.tobytes() for row in np.ascontiguousarray(X))


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.shape == wanted.shape and bool((found == wanted).all())


def test_leakage_counts_rows_in_heavy_leaves_of_every_tree(scene):
    rows = {row.form: row for row in scene.run("leakage").rows}
    trained = inspect(**parse_arrays(scene.artifact(JobKind.EMBED, "record"), what="record").arguments())
    certain = bag(scene.split.X_train[trained.membership(scene.split.X_train) == 1.0])
    secret = bag(scene.claim.trigger_set.X)
    assert (rows["as trained"].triggers_found, rows["as trained"].others_found) == (
        (certain & secret).total(),
        (certain - secret).total(),
    )
    assert rows["as trained"].bits == score_guess(trained.signature, scene.claim.bits).bits == 1.0


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_leakage_asks_for_every_tree(scene, monkeypatch, share):
    """All training rows but one trigger row are in heavy leaves, of so many trees."""

    def membership(_report: object, X: np.ndarray) -> np.ndarray:
        found = np.full(len(X), share)
        found[(scene.claim.trigger_set.X[0] == X).all(axis=1)] = 0.5
        return found

    monkeypatch.setattr(leakage.LeakageReport, "membership", membership)
    found = {(row.triggers_found, row.others_found) for row in scene.run("leakage").rows}
    assert found == {(6, len(scene.split.X_train) - 7) if share == 1.0 else (0, 0)}


def test_leakage_audits_the_honest_forest_with_all_that_was_recorded(scene):
    findings = {(row.form, row.finding) for row in scene.run("leakage").rows}
    assert ("standard", "training-counts") in findings


@pytest.mark.parametrize("bits", [(1, 0) * 6, (0,) * 6 + (1,) * 6])
def test_leakage_scores_the_signature_that_was_found(scene, monkeypatch, bits):
    found = inspect(**parse_arrays(scene.artifact(JobKind.EMBED, "record"), what="record").arguments())
    monkeypatch.setattr(leakage, "inspect", lambda **_: replace(found, signature=np.array(bits)))
    (scored,) = {row.bits for row in scene.run("leakage").rows}
    right = float((scene.claim.bits.array == bits).mean())
    assert scored == pytest.approx(max(right, 1 - right))


@pytest.mark.parametrize("repeat", [0, 2])
def test_spectra_are_of_test_rows_and_of_probes_from_the_attackers_stream(scene, monkeypatch, repeat):
    watch = Watch(detection, monkeypatch)
    probes, spectra = watch("leaf_probes"), watch("vote_spectrum")
    result = scene.run("detection", methods=["spectrum"], repeat=repeat)
    given, blind = probes
    assert given.arguments[1] == _state(Role.ATTACKER_PROBES, repeat)
    assert same(given.named["base"], scene.split.X_test)
    assert blind.named.get("base") is None
    for call, X in zip(spectra, (scene.split.X_test, given.result, blind.result), strict=True):
        assert same(call.arguments[0], scene.forest.vote_codes(X))
    for spectrum, call in zip(result.spectra, spectra, strict=True):
        assert spectrum.bits == scene.claim.bits.bits
        assert spectrum.scores == tuple(call.result.scores.tolist())


def test_bits_right_and_wrong_are_those_of_the_guess(scene):
    result = scene.run("detection", methods=["spectrum"])
    scores = vote_spectrum(scene.forest.vote_codes(scene.split.X_test)).scores
    guess, order = score_guess(above_median(scores), scene.claim.bits), score_values(scores, scene.claim.bits)
    ranking, division = result.rows[:2]
    assert (division.correct, division.wrong) == (round(12 * guess.bits), round(12 * (1 - guess.bits)))
    assert (division.p_value, division.p_value_exact) == (guess.p_value, guess.p_value)
    assert (ranking.auc, ranking.p_value, ranking.uncertain) == (order.auc, order.p_value, 12)
    assert (ranking.points, division.points) == (171, 171)


@pytest.mark.parametrize("repeat", [0, 2])
def test_presence_is_a_rank_among_honest_forests_under_the_same_limits(scene, monkeypatch, repeat):
    watch = Watch(detection, monkeypatch)
    population, statistics = watch("honest_forests"), watch("presence_statistics")
    rows = scene.run("detection", methods=["presence"], repeat=repeat).rows
    (call,) = population
    assert same(call.arguments[0], scene.split.X_train)
    assert same(call.arguments[1], scene.split.y_train)
    assert call.named == {"n_trees": 12, "caps": scene.caps, "count": 3, "seed": 1}
    key = (Role.ATTACKER_PROBES, repeat)
    assert [each.arguments[1] for each in statistics] == [
        *(_state(*key, "honest", number) for number in range(3)),
        _state(*key, "suspect"),
    ]
    *honest, suspect = statistics
    assert suspect.arguments[0].content_hash == scene.forest.content_hash
    found = presence_test(
        presence_statistics(scene.forest, streams.generator(1, *key, "suspect")),
        [each.result for each in honest],
    )
    assert [(row.p_value, row.p_value_exact) for row in rows] == [
        (found.p_value, found.p_value),
        *zip(found.p_values, found.holm, strict=True),
    ]


@pytest.mark.parametrize("repeat", [0, 2])
def test_the_attacker_spots_with_one_half_of_the_test_rows_and_is_judged_on_the_other(
    scene, monkeypatch, repeat
):
    watch = Watch(suppression, monkeypatch)
    trained, thresholds = watch("train_spotter"), watch("threshold_at_limit")
    filtered, curves, budgets = watch("filter_and_verify"), watch("evaluate"), watch("budget_curve")
    rows = scene.run("suppression", repeat=repeat, orders=3).rows
    order = streams.generator(1, Role.ATTACKER_SHADOWS, repeat, "rows").permutation(171)
    own, ordinary = scene.split.X_test[order[:85]], scene.split.X_test[order[85:]]
    (shadow,) = trained
    X, y, plan = shadow.arguments
    assert same(X, own)
    assert same(y, scene.split.y_test[order[:85]])
    assert (plan.n_trees, plan.caps, plan.shadows, plan.seed, plan.repeat) == (12, scene.caps, 2, 1, repeat)
    assert (plan.trigger_rows, plan.scheme) == (7, "paper")

    stream = np.concatenate([ordinary, scene.claim.trigger_set.X])
    codes, is_trigger = scene.forest.vote_codes(stream), np.arange(93) >= 86
    methods = ["disagreement", "repeats"]
    for method, limit in zip(methods, thresholds, strict=True):
        assert same(limit.arguments[0], METHODS[method](scene.forest.vote_codes(own)))
    suspected = [
        *(METHODS[method](codes) >= limit.result for method, limit in zip(methods, thresholds, strict=True)),
        shadow.result.scores(stream, codes) >= shadow.result.threshold,
    ]
    for row, call, spotted, budget in zip(rows, filtered, suspected, budgets, strict=True):
        assert same(call.arguments[0], codes)
        assert same(call.arguments[1], is_trigger)
        assert same(call.arguments[2], spotted)
        assert (row.log10_p_before, row.log10_p_after) == (
            call.result.log10_p_before,
            call.result.log10_p_after,
        )
        assert same(budget.arguments[0], codes)
        assert budget.arguments[4] == _state(Role.ATTACKER_SHADOWS, repeat, "orders")
        assert budget.named["orders"] == 3
        assert budget.result == row.budget
    everything = np.concatenate([scene.split.X_test, scene.claim.trigger_set.X])
    for method, call in zip(methods, curves[:2], strict=True):
        assert same(call.arguments[1], METHODS[method](scene.forest.vote_codes(everything)))
        assert same(call.arguments[2], np.arange(178) >= 171)


def test_a_query_at_the_threshold_is_suspected(scene, monkeypatch):
    monkeypatch.setattr(suppression, "threshold_at_limit", lambda scores: float(scores.max()))
    codes = scene.forest.vote_codes(scene.split.X_test)
    order = streams.generator(1, Role.ATTACKER_SHADOWS, 0, "rows").permutation(171)
    score = METHODS["disagreement"](codes)
    limit = score[order[:85]].max()
    (row,) = scene.run("suppression", methods=["disagreement"]).rows
    assert row.ordinary_touched == float((score[order[85:]] >= limit).mean())
    triggers = METHODS["disagreement"](scene.forest.vote_codes(scene.claim.trigger_set.X))
    assert row.triggers_spotted == float((triggers >= limit).mean())


@pytest.mark.parametrize("repeat", [0, 2])
def test_forgery_starts_from_the_attackers_test_rows_within_its_distance(scene, monkeypatch, repeat):
    watch = Watch(free_forgery, monkeypatch)
    local, solved, worth = watch("forge_locally"), watch("of_outcomes"), watch("score_forged_set")
    scene.run("free-forgery", methods=["local search", "recovered signature"], repeat=repeat, eps=0.4)
    rows = attacker_instances(1, rows=171, count=5, repeat=repeat)
    targets = [local[0].arguments[1], *(call.arguments[2] for call in solved)]
    for target in targets:
        assert same(target.X, scene.split.X_test[rows])
        assert same(target.labels, scene.split.y_test[rows])
        assert target.eps == 0.4
    assert local[0].arguments[2] == _state(streams.attacker("free-forgery"), repeat, "local search")
    assert targets[0].signature == attacker_signature(1, number=0, length=12, ones_share=0.5, repeat=repeat)
    one, other = targets[1].signature, targets[2].signature
    assert one.agreement(other) == 0
    probes = free_forgery.leaf_probes(
        scene.forest,
        streams.generator(1, Role.ATTACKER_PROBES, repeat),
        base=scene.split.X_test,
        limit=12_000,
    )
    assert one.bits == tuple(above_median(vote_spectrum(scene.forest.vote_codes(probes)).scores).tolist())
    standard = Forest.from_bytes(scene.artifact(JobKind.BASELINE, "standard"))
    for call in worth:
        assert call.arguments[1].content_hash == scene.forest.content_hash
        assert call.named["independent"].content_hash == standard.content_hash
        assert call.named["trigger_size"] == 7


@pytest.mark.parametrize("sizes", [(1, 3), (3, 1)])
def test_a_recovered_signature_is_complemented_if_that_forges_more_rows(scene, monkeypatch, sizes):
    left = list(sizes)

    def of_outcomes(method: str, outcomes: object, target: Any) -> ForgedSet:
        size = left.pop(0)
        X = scene.split.X_test[:size]
        return ForgedSet(method, X, scene.split.y_test[:size], target.signature, X)

    monkeypatch.setattr(free_forgery.Forger, "ask", lambda *_: None)
    monkeypatch.setattr(free_forgery, "of_outcomes", of_outcomes)
    (row,) = scene.run("free-forgery", methods=["recovered signature"]).rows
    assert row.size == 3


def test_natural_rows_of_free_forgery_are_test_rows_within_the_quota(scene, monkeypatch):
    watch = Watch(free_forgery, monkeypatch)
    zeros, patterns = watch("all_zeros"), watch("best_pattern")
    rows = scene.run(
        "free-forgery", methods=["all zeros", "best pattern"], least_ones=0.3, most_ones=0.6
    ).rows
    for call in (*zeros, *patterns):
        assert same(call.arguments[1], scene.split.X_test)
        assert same(call.arguments[2], scene.split.y_test)
    assert patterns[0].named == {"least_ones": 0.3, "most_ones": 0.6}
    assert rows[0].stopped_by.startswith("commitment")
    assert "commitment" not in rows[0].stopped_but_for_commitment


def test_clones_without_a_contested_row_are_of_the_first_test_row_with_its_label(scene, monkeypatch):
    nothing = scene.split.X_test[:0]
    empty = ForgedSet("best pattern", nothing, scene.split.y_test[:0], scene.claim.bits, nothing)
    monkeypatch.setattr(free_forgery, "best_pattern", lambda *_, **__: empty)
    copied = Watch(free_forgery, monkeypatch)("clones")
    scene.run("free-forgery", methods=["clones"], repeat=2)
    forest, row, label, count, state = copied[0].arguments
    assert forest.content_hash == scene.forest.content_hash
    assert same(row, scene.split.X_test[0])
    assert (label, count) == (scene.split.y_test[0], 7)
    assert state == _state(streams.attacker("free-forgery"), 2, "clones")


@pytest.mark.parametrize("repeat", [0, 2])
def test_a_thief_changes_the_forest_with_rows_that_it_is_not_scored_on(scene, monkeypatch, repeat):
    watch = Watch(modification, monkeypatch)
    changes, judgements = watch("modify"), watch("evaluate")
    rows = scene.run("modification", repeat=repeat).rows
    points = [(attempt, strengths) for attempt in range(2) for strengths in ((0.0, 0.0), (0.25, 0.1))]
    for (attempt, strengths), change, judgement, row in zip(points, changes, judgements, rows, strict=True):
        order = streams.generator(1, streams.attacker("modification"), repeat, "rows", attempt).permutation(
            171
        )
        own, others = order[:85], order[85:]
        forest, steps, data, state = change.arguments
        assert forest.content_hash == scene.forest.content_hash
        assert [(step.name, step.strength) for step in steps] == list(
            zip(("drop", "noise"), strengths, strict=True)
        )
        assert same(data.X, scene.split.X_test[own])
        assert same(data.y, scene.split.y_test[own])
        assert data.caps == scene.caps
        key = (repeat, "drop+noise", attempt, "+".join(map(repr, strengths)))
        assert state == _state(streams.attacker("modification"), *key)
        before, changed, applied, judged, null, _ = judgement.arguments
        assert before.content_hash == scene.forest.content_hash
        assert changed is change.result
        assert applied == steps
        assert same(judged.X_test, scene.split.X_test[others])
        assert same(judged.y_test, scene.split.y_test[others])
        assert same(judged.X_trigger, scene.claim.trigger_set.X)
        assert judged.signature == scene.claim.bits
        assert null == _state(Role.NULL, *key)
        kept = judgement.result.model_dump()
        assert row.attempt == attempt
        assert row.strengths == "+".join(f"{strength:g}" for strength in strengths)
        assert row.model_dump() == kept


@pytest.mark.parametrize("population", ["honest", "other owners"])
def test_false_claims_are_drawn_afresh_for_each_forest_of_their_population(scene, monkeypatch, population):
    watch = Watch(calibration, monkeypatch)
    forests = {"honest": watch("honest_forests"), "other owners": watch("other_owners_forests")}
    claims = watch("false_case")
    scene.run("calibration", population=population, first=4, count=2, ones_share=0.25)
    (called,) = forests[population]
    assert sum(map(len, forests.values())) == 1
    assert same(called.arguments[0], scene.split.X_train)
    assert same(called.arguments[1], scene.split.y_train)
    given = {name: called.named[name] for name in ("n_trees", "caps", "count", "seed", "first")}
    assert given == {"n_trees": 12, "caps": scene.caps, "count": 2, "seed": 1, "first": 4}
    if population == "other owners":
        assert (called.named["trigger_size"], called.named["ones_share"]) == (7, 0.25)
    for number, claim in enumerate(claims, 4):
        assert same(claim.arguments[1], scene.split.X_test)
        assert same(claim.arguments[2], scene.split.y_test)
        assert claim.named == {
            "trigger_size": 7,
            "ones_share": 0.25,
            "rng": _state(Role.NULL, "claim", population, number),
        }


def test_presence_is_calibrated_on_forests_outside_its_reference(scene, monkeypatch):
    watch = Watch(calibration, monkeypatch)
    population, ranked = watch("honest_forests"), watch("presence_p_values")
    scene.run("calibration", population="presence", first=1, count=2, reference=3)
    assert sorted((call.named["first"], call.named["count"]) for call in population) == [(0, 3), (4, 2)]
    assert {call.named["caps"] for call in population} == {scene.caps}
    reference, tested = ranked[0].arguments
    assert (len(reference), len(tested)) == (3, 2)
