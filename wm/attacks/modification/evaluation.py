"""The registry of modifications, and the score of a changed forest: accuracy, and evidence of the claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.attacks.modification.common import AttackerData, Kind, Modification, VotingModel
from wm.attacks.modification.distillation import collapse, distil_labels, distil_votes, hedge
from wm.attacks.modification.ensemble import drop, regrow, replace, shuffle
from wm.attacks.modification.pruning import cost_complexity, reduced_error, truncate
from wm.attacks.modification.splits import flip_leaves, noise, quantise
from wm.codebook import Codebook, Marks
from wm.embedding.proof import Proof, Scores
from wm.errors import ModelError
from wm.forest import Forest
from wm.models import TreeModel
from wm.verification.alignment import align_in_order
from wm.verification.answers import Answers
from wm.verification.boosted import boosted_tests, wrong_signs
from wm.verification.codebook import log10_in_order, match_columns
from wm.verification.evidence import verify
from wm.verification.randomization import RowTruth
from wm.verification.weak_evidence import log10_by_labels, log10_by_probabilities

MODIFICATIONS: dict[str, Kind[Modification]] = {
    "shuffle": Kind(shuffle, (0.1, 0.25, 0.5, 1.0)),
    "drop": Kind(drop, (0.05, 0.1, 0.25, 0.5)),
    "replace": Kind(replace, (0.1, 0.25, 0.5, 0.75, 0.9)),
    "regrow": Kind(regrow, (0.1, 0.25, 0.5, 1.0)),
    "truncate": Kind(truncate, (0.1, 0.25, 0.5, 0.75)),
    "cost-complexity": Kind(cost_complexity, (0.001, 0.003, 0.01, 0.03), is_share=False),
    "reduced-error": Kind(reduced_error, (0.25, 0.5, 1.0)),
    "noise": Kind(noise, (0.003, 0.01, 0.03, 0.1, 0.3), is_share=False),
    "quantise": Kind(quantise, (0.01, 0.03, 0.1, 0.3, 1.0), is_share=False),
    "flip-leaves": Kind(flip_leaves, (0.01, 0.03, 0.1, 0.2)),
    "distil-votes": Kind(distil_votes, (1.0, 3.0, 10.0), is_share=False),
    "distil-labels": Kind(distil_labels, (1.0, 3.0, 10.0), is_share=False),
    "collapse": Kind(collapse, (0.5, 0.9, 1.0), changes_votes=True),
    "hedge": Kind(hedge, (0.05, 0.1, 0.2, 0.3), changes_votes=True),
}
"""By name."""

STRENGTHS = {name: kind.strengths for name, kind in MODIFICATIONS.items()}


@dataclass(frozen=True)
class Step:
    """One modification at one strength."""

    name: str
    strength: float


class Row(AttackRow):
    """Score of a changed forest and of the claim to it: one point of a curve."""

    modification: str
    """Modification; several in a row are joined by "+"."""
    strength: float
    """Strength of the first."""
    strengths: str
    """Strengths of all, joined by "+"."""
    attempt: int
    """Number of the try, from 0: other random numbers, other rows of the thief."""
    n_trees: int
    """Trees of the changed forest."""
    accuracy_before: float
    """Share of test rows that the majority got right before, of the half that the thief does not have."""
    accuracy_after: float
    """The same afterwards."""
    accuracy_change: float
    """After minus before."""
    fidelity: float
    """Share of the test rows that the thief does not have whose majority stays as it was."""
    bits: float
    """Share of the trigger set's votes, in the trees that are left, that are as the signature wants."""
    exact_match: bool
    """Whether all of them are: the paper's rule."""
    log10_p: float
    """Evidence from votes, as log10 p; where trees were dropped, of the best alignment in order."""
    p_null: str
    """Which null it is: ``exact``, or ``aligned`` where trees were dropped or a codebook's were shuffled;
    ``lineup`` for that scheme."""
    log10_p_shares: float
    """Evidence from vote shares alone, which needs no order of the trees; the test rows that the thief does
    not have are decoys. Of a boosted model from its probabilities."""
    log10_p_labels: float
    """Evidence from labels alone, in the same way."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The claim and the rows that a changed forest is scored on."""

    X_trigger: NDArray[np.float32]
    y_trigger: NDArray[np.int64]
    """(k, d) and (k,): the owner's trigger set."""
    signature: Marks
    """m bits, or a codebook."""
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    """(n, d) and (n,): rows for accuracy and fidelity, none of them the thief's."""
    proof: Proof | None = None
    """Evidence of schemes that mark no trigger rows."""


def modify(
    forest: Forest, steps: Sequence[Step], data: AttackerData, rng: np.random.Generator
) -> VotingModel:
    """Apply one modification after another.

    Raises
    ------
    ModelError
        No step, an unknown one, an impossible strength, or a step after a wrapper of votes.
    """
    if not steps:
        raise ModelError(f"no modification is named; known are: {', '.join(MODIFICATIONS)}")
    changed: VotingModel = forest
    for step in steps:
        if step.name not in MODIFICATIONS:
            raise ModelError(f"unknown modification {step.name!r}; known are: {', '.join(MODIFICATIONS)}")
        if not isinstance(changed, Forest):
            raise ModelError(f"{step.name} cannot follow a change of votes alone: put that last")
        kind = MODIFICATIONS[step.name]
        kind.check(step.name, step.strength)
        changed = kind.change(changed, step.strength, data, rng)
    return changed


def evaluate(
    forest: Forest,
    changed: VotingModel,
    steps: Sequence[Step],
    judged: Judged,
    rng: np.random.Generator,
    attempt: int = 0,
) -> Row:
    """Score a changed forest against the original and the claim.

    Parameters
    ----------
    steps
        The modifications, for the row.
    rng
        Draws the permutation null of an alignment; not used where no tree was dropped.
    attempt
        Number of the try, for the row.
    """
    before, after = forest.predict(judged.X_test), changed.predict(judged.X_test)
    votes = changed.votes(judged.X_trigger)
    found = _evidence(changed, votes, judged, rng)
    if judged.proof is None:
        scores = _trigger_scores(changed, votes, judged, found)
    else:
        scores = judged.proof.scores(changed)
    return _row(steps, attempt, changed.n_trees, (before, after, judged.y_test), found, scores)


def evaluate_margins(
    model: TreeModel, changed: TreeModel, steps: Sequence[Step], judged: Judged, attempt: int = 0
) -> Row:
    """Score a changed boosted model, as `evaluate` a forest; of probabilities the boosted tests are done."""
    codebook = judged.signature
    if not isinstance(codebook, Codebook):
        raise ModelError("a boosted model is marked by a codebook: the claim has none")
    before, after = model.predict(judged.X_test), changed.predict(judged.X_test)
    errors = wrong_signs(changed, judged.X_test, judged.y_test).mean(axis=0)
    wrong = wrong_signs(changed, judged.X_trigger, judged.y_trigger)
    found = _of_codebook(wrong, codebook, errors)
    rows = np.concatenate([judged.X_trigger, judged.X_test])
    labels = np.concatenate([judged.y_trigger, judged.y_test])
    shares = changed.predict_proba(rows)
    answers = Answers("probabilities", shares[:, 1] if shares.shape[1] == 2 else shares)
    is_trigger = np.arange(len(labels)) < len(judged.y_trigger)
    tests = boosted_tests({"probabilities": answers}, RowTruth(labels, is_trigger, codebook))
    scores = Scores(
        found.log10_p,
        found.null,
        min(each.log10_adjusted for each in tests) + 0.0,
        log10_by_labels(changed.predict(judged.X_trigger) != judged.y_trigger, after != judged.y_test),
    )
    return _row(steps, attempt, changed.forest.n_trees, (before, after, judged.y_test), found, scores)


def _row(
    steps: Sequence[Step],
    attempt: int,
    n_trees: int,
    predicted: tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]],
    found: _Evidence,
    scores: Scores,
) -> Row:
    """Return the row of labels before and after, and the true ones, with the evidence."""
    before, after, truth = predicted
    accuracies = [float((each == truth).mean()) for each in (before, after)]
    return Row(
        modification="+".join(step.name for step in steps),
        strength=steps[0].strength,
        strengths="+".join(f"{step.strength:g}" for step in steps),
        attempt=attempt,
        n_trees=n_trees,
        accuracy_before=accuracies[0],
        accuracy_after=accuracies[1],
        accuracy_change=accuracies[1] - accuracies[0],
        fidelity=float((before == after).mean()),
        bits=found.bits,
        exact_match=found.exact_match,
        log10_p=scores.votes,
        p_null=scores.null,
        log10_p_shares=scores.shares,
        log10_p_labels=scores.labels,
    )


@dataclass(frozen=True)
class _Evidence:
    """Evidence by votes."""

    bits: float
    exact_match: bool
    log10_p: float
    null: str


def _evidence(
    changed: VotingModel, votes: NDArray[Any], judged: Judged, rng: np.random.Generator
) -> _Evidence:
    wrong, marks = votes != judged.y_trigger[:, None], judged.signature
    if isinstance(marks, Codebook):
        errors = (changed.votes(judged.X_test) != judged.y_test[:, None]).mean(axis=0)
        return _of_codebook(wrong, marks, errors)
    if changed.n_trees == marks.trees:
        found = verify(votes, judged.y_trigger, marks)
        share = found.matched_bits / found.total_bits
        return _Evidence(share, found.exact_match, found.log10_p, "exact")
    aligned = align_in_order(wrong, marks, rng)
    return _Evidence(aligned.bits, False, aligned.log10_p, "aligned")


def _of_codebook(wrong: NDArray[np.bool_], codebook: Codebook, errors: NDArray[np.float64]) -> _Evidence:
    """Return the better of the votes in order and their best matching, Bonferroni-corrected for both."""
    bits, rho = codebook.array == 1, codebook.share
    aligned = match_columns(wrong, bits, rho, errors)
    if wrong.shape != bits.shape:
        return _Evidence(aligned.bits, False, aligned.log10_p, "aligned")
    in_order = log10_in_order(wrong, bits, rho, float(errors.mean()))
    matched = wrong == bits
    best = min(in_order, aligned.log10_p)
    return _Evidence(
        float(matched.mean()),
        bool(matched.all()),
        min(0.0, best + math.log10(2)),
        "exact" if best == in_order else "aligned",
    )


def _trigger_scores(changed: VotingModel, votes: NDArray[Any], judged: Judged, found: _Evidence) -> Scores:
    shares = log10_by_probabilities(
        (votes == judged.y_trigger[:, None]).mean(axis=1),
        (changed.votes(judged.X_test) == judged.y_test[:, None]).mean(axis=1),
        judged.signature,
    )
    labels = log10_by_labels(
        changed.predict(judged.X_trigger) != judged.y_trigger, changed.predict(judged.X_test) != judged.y_test
    )
    return Scores(found.log10_p, found.null, shares, labels)
