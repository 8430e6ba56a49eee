"""Claims judged by the code of `wm verify`: evasions of a true claim, innocent forests, and false claims.

The pool is drawn from the training rows that occur once; trigger rows and signature are the watermark's own,
which were drawn at random. So a judgement here is the verdict of a judge who trusts the beacon of the draw.
Beside it stands passive evidence, for comparison: how many of the released forest's mistakes a suspect
repeats (in the spirit of arXiv 2412.13021), ranked among the innocent forests. False claims
(`wm.attacks.false_claims`) are made by one who has seen the first innocent forest, and are judged on the
innocent forests and on the released one, which is another owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wm.attacks.base import Attack, AttackOptions, AttackRow, Choices, Result, Scene, Streams
from wm.attacks.false_claims import FALSE_CLAIMS, false_sample
from wm.attacks.populations import honest_forests
from wm.claims.beacons.base import BeaconValue
from wm.claims.commitment import row_bytes
from wm.claims.draw import Draw
from wm.claims.pooled import Header
from wm.embedding.common import single_rows
from wm.forest import Forest
from wm.statistics import rank_p_value
from wm.verification.answers import AnswerKind, Answers
from wm.verification.judgement import Requirements, Response, judge_sample, model_response
from wm.verification.samples import Sample

Source = Literal["model", "probabilities", "labels"]

TRUE = "true"
"""Name of the released forest's own claim."""

_Evade = Callable[[Forest, Forest, np.random.Generator], Forest]
"""Released forest, honest forest and random numbers to the changed copy."""


def _picked(forest: Forest, share: float, rng: np.random.Generator) -> Forest:
    return forest.select(rng.permutation(forest.n_trees)[: max(1, round(share * forest.n_trees))])


def _joined(forest: Forest, other: Forest, rng: np.random.Generator) -> Forest:
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(forest, name), getattr(other, name)]) for name in _NODE_FIELDS
    }
    arrays["offset"] = np.concatenate([forest.offset, forest.offset[-1] + other.offset[1:]])
    both = replace(forest, **arrays)
    return both.select(rng.permutation(both.n_trees))


def _permuted(forest: Forest, rng: np.random.Generator) -> Forest:
    places = rng.permutation(forest.n_features).astype(np.int32)
    return replace(forest, feature=np.where(forest.is_leaf, -1, places[np.maximum(forest.feature, 0)]))


_NODE_FIELDS = ("left", "right", "feature", "threshold", "value")

RELEASED = "as released"
"""The forest itself, the evasion that is none."""

EVASIONS: dict[str, _Evade] = {
    RELEASED: lambda forest, _, __: forest,
    "shuffled": lambda forest, _, rng: _picked(forest, 1.0, rng),
    "one tree dropped": lambda forest, _, rng: forest.select(
        np.delete(np.arange(forest.n_trees), rng.integers(forest.n_trees))
    ),
    "half of the trees": lambda forest, _, rng: _picked(forest, 0.5, rng),
    "one tree twice": lambda forest, _, rng: forest.select(
        [*range(forest.n_trees), int(rng.integers(forest.n_trees))]
    ),
    "every tree twice": lambda forest, _, __: forest.select([*range(forest.n_trees)] * 2),
    "merged with an honest forest": _joined,
    "classes exchanged": lambda forest, _, __: replace(forest, value=forest.value[:, ::-1]),
    "classes renamed": lambda forest, _, __: replace(
        forest, classes=np.array([f"class {code:02}" for code in range(len(forest.classes))])
    ),
    "unused class": lambda forest, _, __: replace(
        forest, value=np.pad(forest.value, ((0, 0), (0, 1))), classes=np.arange(len(forest.classes) + 1)
    ),
    "unused feature": lambda forest, _, __: replace(forest, n_features=forest.n_features + 1),
    "columns permuted": lambda forest, _, rng: _permuted(forest, rng),
}
"""What a thief can do at little or no cost in accuracy."""

RENAMED = ("classes exchanged", "classes renamed", "columns permuted")
"""Evasions that change no answer to whoever knows the new names."""


class Options(AttackOptions):
    """Evasions of a true claim, innocent forests, and false claims, each judged as by `wm verify`."""

    evasions: Choices[str] = tuple(EVASIONS)
    """Changes of the stolen forest."""
    false_claims: Choices[str] = tuple(FALSE_CLAIMS)
    """Pools of a claimant who wants innocent forests, and the released one, to look stolen from him."""
    answers: Choices[Source] = ("model", "probabilities", "labels")
    """What the judge has of a suspect."""
    innocents: int = Field(default=20, ge=1, le=1_000)
    """Honest forests of the same data and limits."""
    pool: int = Field(default=2000, ge=10)
    """Largest number of training rows in the pool."""
    level: float = Field(default=1e-6, gt=0, lt=1)
    """Largest p-value that counts as proof."""

    def problems(self, rows_test: int) -> Iterator[tuple[str, str]]:
        """Yield an unknown evasion or false claim."""
        for name in self.evasions:
            if name not in EVASIONS:
                yield "evasions", f"unknown evasion {name!r}; known are: {', '.join(EVASIONS)}"
        for name in self.false_claims:
            if name not in FALSE_CLAIMS:
                yield "false_claims", f"unknown false claim {name!r}; known are: {', '.join(FALSE_CLAIMS)}"


class Row(AttackRow):
    """One suspect, judged for one claim by one kind of answers."""

    claim: str = TRUE
    """``true``, the released forest's own, or the name of a false claim."""
    suspect: str
    """Name of the evasion, or ``honest``."""
    number: int
    """Number of the honest forest; 0 for evasions."""
    answers: str
    """What the judge had of it."""
    accuracy: float
    """On the test rows; of answers as they came, with classes as they are."""
    verdict: str
    """``verified``, ``not verified`` or ``cannot be judged``; the draw counts as witnessed."""
    test: str
    """The most significant test."""
    log10_p: float
    """p-value after all corrections, as a power of ten."""
    shared_mistakes: float | None
    """Share of the released forest's mistakes on test rows that the suspect repeats; none without any."""
    mistakes_p: float | None
    """Rank p-value of that share among the honest forests; none for these."""


@dataclass(frozen=True, eq=False)
class _Suspect:
    name: str
    number: int
    forest: Forest


@dataclass(frozen=True)
class _OnTestRows:
    """What a suspect's labels of the test rows say."""

    accuracy: float
    shared_mistakes: float | None
    mistakes_p: float | None = None


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Judge every evasion and every honest forest by every kind of answers.

    A scheme without trigger rows has no such claims, and no rows here: `modification` judges its suspects.
    """
    if scene.proof is not None:
        return Result([])
    split = scene.split
    sample = sample_of_scene(scene, options.pool, rng.own("claims", "pool"))
    honest = [
        _Suspect("honest", number, forest)
        for number, forest in enumerate(
            honest_forests(
                split.X_train,
                split.y_train,
                n_trees=scene.n_trees,
                caps=scene.caps,
                count=options.innocents,
                seed=rng.seed,
            )
        )
    ]
    stolen = [
        _Suspect(name, 0, EVASIONS[name](scene.forest, honest[0].forest, rng.own("claims", name)))
        for name in options.evasions
    ]
    mistakes = scene.forest.predict(split.X_test) != split.y_test
    looks = [_on_test_rows(each.forest, scene, mistakes) for each in (*stolen, *honest)]
    null = [look.shared_mistakes for look in looks[len(stolen) :] if look.shared_mistakes is not None]
    ranked = [
        look
        if look.shared_mistakes is None
        else replace(look, mistakes_p=rank_p_value(look.shared_mistakes, null))
        for look in looks[: len(stolen)]
    ]
    own = list(zip((*stolen, *honest), (*ranked, *looks[len(stolen) :]), strict=True))
    released = _OnTestRows(float(1 - np.mean(mistakes)), None)
    others = [(_Suspect(RELEASED, 0, scene.forest), released), *own[len(stolen) :]]
    judged = [(TRUE, sample, own)]
    for name in options.false_claims:
        draws = rng.own("claims", "false", name)
        false = false_sample(name, sample, split.X_test, split.y_test, honest[0].forest, draws)
        judged.append((name, false, others))
    return Result(
        [
            row
            for claim, shown, suspects in judged
            for each, look in suspects
            for row in _judged(claim, each, look, shown, options)
        ]
    )


def sample_of_scene(scene: Scene, pool: int, rng: np.random.Generator) -> Sample:
    """Return what a judge would see of a watermark if a trusted beacon had shown its draw.

    Parameters
    ----------
    pool
        Largest number of rows; the trigger rows are among them.
    """
    X, y, claim = scene.split.X_train, scene.split.y_train, scene.claim
    secret = set(row_bytes(claim.trigger_set.X))
    single = single_rows(X)
    is_secret = np.array([row in secret for row in row_bytes(X[single])])
    others = rng.permutation(single[~is_secret])[: max(1, pool - int(is_secret.sum()))]
    rows = np.sort(np.concatenate([single[is_secret], others]))
    is_trigger = np.array([row in secret for row in row_bytes(X[rows])])
    triggers = np.flatnonzero(is_trigger)
    header = Header(
        scheme=claim.scheme,
        trees=claim.bits.trees,
        ones=claim.bits.expected_ones,
        trigger_size=len(triggers),
        pool_size=len(rows),
        owner="0" * 64,
        model_id=claim.model_id,
        class_names=claim.class_names,
        feature_names=tuple(f"x{index}" for index in range(X.shape[1])),
        domain=tuple(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True)),
        preparation=None,
    )
    witnessed = BeaconValue(bytes(32), datetime.min.replace(tzinfo=UTC), True, 1.0, "the campaign's seed")
    return Sample(
        header=header,
        commitment=claim.commitment,
        draw=Draw(tuple(triggers.tolist()), claim.bits),
        beacons=(witnessed,),
        indices=np.arange(len(rows)),
        X=X[rows],
        y=y[rows],
        is_trigger=is_trigger,
        challenge=None,
        trusted_beacons=1,
    )


def _judged(
    claim: str, suspect: _Suspect, look: _OnTestRows, sample: Sample, options: Options
) -> Iterator[Row]:
    """Yield what a judge finds by each kind of answers; the suspect is asked once for all."""
    asked = Requirements(level=options.level, suspect_since=datetime.max.replace(tzinfo=UTC))
    response = model_response(suspect.forest, sample)
    for source in options.answers:
        found = judge_sample(sample, _limited(response, source, len(sample.header.class_names)), asked)
        yield Row(
            claim=claim,
            suspect=suspect.name,
            number=suspect.number,
            answers=source,
            accuracy=look.accuracy,
            verdict=str(found.verdict),
            test=min(found.tests, key=lambda each: each.log10_p).name,
            log10_p=found.log10_p,
            shared_mistakes=look.shared_mistakes,
            mistakes_p=look.mistakes_p,
        )


def _limited(response: Response, source: Source, classes: int) -> Response:
    """Return a model's response, or what is left of it where the judge only gets answers to rows."""
    if source == "model":
        return response
    shares = response.answers["votes"].shares(classes)
    kind: AnswerKind = source
    of_classes = shares[:, 1] if shares.shape[1] == 2 else shares
    values = of_classes if source == "probabilities" else shares.argmax(axis=1)
    others = tuple(_limited(each, source, classes) for each in response.others)
    return replace(response, answers={kind: Answers(kind, values)}, others=others)


def _on_test_rows(forest: Forest, scene: Scene, mistakes: NDArray[np.bool_]) -> _OnTestRows:
    X = scene.split.X_test
    # A thief may have added features: they are 0.
    labels = forest.predict(np.pad(X, ((0, 0), (0, forest.n_features - X.shape[1])))).astype(str)
    truth = scene.split.y_test.astype(str)
    shared = float(np.mean((labels != truth)[mistakes])) if mistakes.any() else None
    return _OnTestRows(float(np.mean(labels == truth)), shared)


ATTACK = Attack(
    kind="claims",
    summary="Evasions, innocent forests and false claims, judged as by wm verify",
    options=Options,
    row=Row,
    run=run,
)
"""The attack."""
