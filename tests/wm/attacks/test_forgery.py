"""The forgery attack: what the attacker draws, and the authors' experiment with both engines."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.utils import resample

from wm import engines, streams
from wm.attacks.forgery import Forger, Target, attacker_instances, attacker_signature
from wm.embedding import SCHEMES, EmbeddingTask
from wm.embedding.options import TrainOptions
from wm.embedding.training import Caps
from wm.engines import ForgeryOutcome, Status
from wm.forest import Forest
from wm.signature import Signature, random_signature
from wm.streams import Role
from wm.verification.evidence import verify

EPS = (0.1, 0.3, 0.5, 0.7, 0.9)
ENGINES = engines.names()
SEED = 11


@dataclass(frozen=True)
class Watermarked:
    """A watermarked forest, its secrets, and the rows that the attack starts from."""

    forest: Forest
    signature: Signature
    X_trigger: NDArray[np.float64]
    y_trigger: NDArray[np.int64]
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    published: bool


@pytest.fixture(scope="session")
def watermarked(released_forests):
    """The authors' forest where WM_DATA_DIR holds it, else one with a watermark made here."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(minmax_scale(X), y, test_size=0.3, random_state=2)
    rows = np.array(random.Random(2).sample(range(len(X_train)), 7))  # noqa: S311 - the authors' recipe
    X_attack, y_attack = resample(X_test, y_test, n_samples=7, replace=False, random_state=2)
    if released_forests.published:
        forest = released_forests.forest("watermarked")
        errs = forest.votes(X_train[rows]) != y_train[rows][:, None]
        signature = Signature.of(errs[0].astype(int))
    else:
        signature = random_signature(20, 0.5, np.random.default_rng(4))
        forest = (
            SCHEMES["paper"].embed(
                EmbeddingTask(
                    X=X_train.astype(np.float32),
                    y=y_train,
                    signature=signature,
                    trigger_rows=rows,
                    caps=Caps(max_depth=8, max_leaf_nodes=19),
                    seed_right=2,
                    seed_wrong=3,
                    fit=TrainOptions(training="paper", weight_step=30),
                ),
                None,
            )
        ).forest
    return Watermarked(
        forest, signature, X_train[rows], y_train[rows], X_attack, y_attack, released_forests.published
    )


@pytest.fixture(scope="session", params=ENGINES)
def engine(request, watermarked):
    with engines.create(request.param, watermarked.forest) as isolated:
        yield isolated


@pytest.fixture(scope="session")
def both(watermarked):
    with (
        engines.create("sat", watermarked.forest) as sat,
        engines.create("z3", watermarked.forest) as z3,
    ):
        yield sat, z3


def attack(engine, case, signature, eps):
    """Forge from the attack's rows; check every witness against the forest and its true label."""
    target = Target(case.X, case.y, signature, eps)
    outcomes = [engine.solve(query, timeout_s=120) for query in target.queries()]
    assert len(outcomes) == len(case.X)
    for outcome, centre, label in zip(outcomes, case.X, case.y, strict=True):
        assert isinstance(outcome, ForgeryOutcome)
        assert outcome.status in (Status.FORGED, Status.IMPOSSIBLE)
        if outcome.status is Status.FORGED:
            errs = case.forest.votes(outcome.witness[None])[0] != label
            assert np.array_equal(errs, signature.array)
            assert np.abs(outcome.witness - centre).max() <= eps
            assert 0 <= outcome.distance <= eps
    return [outcome.status for outcome in outcomes]


def counts(engine, case, signature):
    return [attack(engine, case, signature, eps).count(Status.FORGED) for eps in EPS]


def test_the_watermark_is_there(watermarked):
    """The recipe finds the authors' trigger set: 490 of 490 bits match."""
    evidence = verify(
        watermarked.forest.votes(watermarked.X_trigger), watermarked.y_trigger, watermarked.signature
    )
    expected = 7 * watermarked.forest.n_trees
    assert (evidence.matched_bits, evidence.total_bits) == (expected, expected)
    assert not watermarked.published or expected == 490


def test_the_authors_experiment_with_the_owners_signature(watermarked, engine):
    """The artifact's first "fake" signature is the owner's: it forges 1, 6, 7, 7, 7 of 7 over eps."""
    forged = counts(engine, watermarked, watermarked.signature)
    assert forged == sorted(forged)
    if watermarked.published:
        assert forged == [1, 6, 7, 7, 7]


def test_engines_agree_on_the_owners_signature(watermarked, both):
    per_engine = [[attack(engine, watermarked, watermarked.signature, eps) for eps in EPS] for engine in both]
    assert per_engine[0] == per_engine[1]
    assert any(Status.FORGED in statuses for statuses in per_engine[0])


@pytest.mark.parametrize("number", range(3))
def test_engines_agree_on_independent_signatures(watermarked, both, number):
    signature = attacker_signature(
        SEED, number=number, length=watermarked.forest.n_trees, ones_share=0.5, repeat=0
    )
    assert signature != watermarked.signature
    sat, z3 = both
    assert counts(sat, watermarked, signature) == counts(z3, watermarked, signature)


def test_engines_agree_on_a_signature_chosen_after_seeing_the_model(watermarked, both):
    """Taking the votes of any point makes forgery free: here those of the first row itself."""
    votes = watermarked.forest.votes(watermarked.X[:1])[0]
    signature = Signature.of((votes != watermarked.y[0]).astype(int))
    for eps in (1e-6, 0.3):
        statuses = [attack(engine, watermarked, signature, eps) for engine in both]
        assert statuses[0] == statuses[1]
        assert statuses[0][0] is Status.FORGED


def test_the_trigger_rows_themselves_are_forged_at_once(watermarked, engine):
    target = Target(watermarked.X_trigger, watermarked.y_trigger, watermarked.signature, 1e-6)
    statuses = [engine.solve(query, timeout_s=120).status for query in target.queries()]
    assert statuses == [Status.FORGED] * len(watermarked.X_trigger)


class Recorder:
    """Stands in for an engine: writes down what it is asked."""

    name = "recorder"
    global_proofs = frozenset()

    def __init__(self):
        self.asked = []
        self.closed = 0

    def solve(self, query, *, timeout_s, memory_bytes=None):
        self.asked.append((query, timeout_s, memory_bytes))
        return ForgeryOutcome(Status.TIMEOUT, None, None, timeout_s, self.name, "on purpose")

    def close(self):
        self.closed += 1


def test_a_forger_gives_its_limits_and_options_to_the_engine(monkeypatch, watermarked):
    recorder, made = Recorder(), []

    def create(name, forest, **options):
        made.append((name, options))
        return recorder

    monkeypatch.setattr("wm.attacks.forgery.forger.engines.create", create)
    X = np.array([[0.25, 0.5], [0.75, 1.5]])
    target = Target(X, np.array([1, 0]), Signature.of("011"), 0.125)
    with Forger(watermarked.forest, "z3", timeout_s=7, memory_bytes=8, options={"margin": 0.1}) as forger:
        statuses = [forger.ask(query).status for query in target.queries()]
    assert statuses == [Status.TIMEOUT] * 2
    assert made == [("z3", {"margin": 0.1})]
    assert recorder.closed == 1
    assert [limits for _, *limits in recorder.asked] == [[7, 8], [7, 8]]
    for (query, *_), centre, label in zip(recorder.asked, X, (1, 0), strict=False):
        assert query.signature.tolist() == [0, 1, 1]
        assert query.centre.tolist() == centre.tolist()
        assert (query.label, query.eps) == (label, 0.125)
        assert type(query.label) is int


def test_a_target_needs_a_label_for_each_instance():
    with pytest.raises(ValueError, match="shorter"):
        list(Target(np.zeros((1, 2)), np.array([]), Signature.of("0"), 0.1).queries())


def test_attacker_signatures_have_the_share_of_ones_and_differ():
    drawn = [
        attacker_signature(seed, number=number, length=70, ones_share=0.4, repeat=repeat)
        for seed in (1, 2)
        for repeat in (0, 1)
        for number in range(10)
    ]
    assert {signature.ones for signature in drawn} == {28}
    assert len(set(drawn)) == len(drawn)
    again = attacker_signature(1, number=3, length=70, ones_share=0.4, repeat=0)
    assert again == drawn[3]  # whatever was drawn before


def test_attacker_signatures_are_independent_of_the_owners():
    """Bits agree as often as independent ones do: half of them, and never all."""
    agreement = []
    for seed in range(40):
        owner = random_signature(70, 0.5, streams.generator(seed, Role.OWNER_SIGNATURE))
        fakes = [
            attacker_signature(seed, number=number, length=70, ones_share=0.5, repeat=0)
            for number in range(10)
        ]
        assert owner not in fakes
        agreement += [owner.agreement(fake) for fake in fakes]
    # 400 shares of mean 1/2 and standard deviation about 1/sqrt(4 * 69): 5 deviations of their mean.
    assert abs(np.mean(agreement) - 0.5) < 5 / np.sqrt(4 * 69 * 400)


def test_attacker_instances_are_distinct_and_a_prefix_of_one_shuffle():
    every = attacker_instances(3, rows=100, count=100, repeat=0)
    assert sorted(every) == list(range(100))
    for count in (0, 1, 7, 60):
        assert np.array_equal(attacker_instances(3, rows=100, count=count, repeat=0), every[:count])
    assert not np.array_equal(attacker_instances(3, rows=100, count=100, repeat=1), every)
    assert not np.array_equal(attacker_instances(4, rows=100, count=100, repeat=0), every)
