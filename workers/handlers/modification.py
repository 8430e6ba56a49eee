"""Job kind `modification`."""

from __future__ import annotations

from wm import streams
from wm.attacks.modification import AttackerData, Judged, ModificationResult, Step, evaluate, modify
from wm.claims.claim import Claim
from wm.datasets import Split
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.streams import Role
from workers.handlers.inputs import read_claim, read_forest, read_split
from workers.jobs import (
    BaselineResult,
    JobKind,
    ModificationParameters,
    ModificationRow,
)
from workers.jobs import ModificationResult as Modified
from workers.runtime.context import Context


def run(parameters: ModificationParameters, context: Context) -> Modified:
    """Change the stolen forest at each strength, and hold what comes out against the claim.

    Half of the test rows are the thief's, the other half measure accuracy and fidelity.
    """
    split, claim, forest = read_split(context), read_claim(context), read_forest(context)
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    caps = Caps(baseline.cap_depth, baseline.cap_leaves)
    rows = []
    for attempt in range(parameters.tries):
        data, judged = _divided(split, claim, caps, parameters, attempt)
        rows += [
            _row(_once(forest, parameters, strengths, attempt, data, judged), attempt)
            for strengths in parameters.strengths
        ]
    return Modified(rows=tuple(rows))


def _divided(
    split: Split, claim: Claim, caps: Caps, parameters: ModificationParameters, attempt: int
) -> tuple[AttackerData, Judged]:
    shuffled = streams.generator(
        parameters.seed, Role.ATTACKER_MODIFICATION, parameters.repeat, "rows", attempt
    ).permutation(len(split.y_test))
    own, others = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    trigger_set = claim.trigger_set
    return (
        AttackerData(split.X_test[own], split.y_test[own], caps),
        Judged(trigger_set.X, trigger_set.y, claim.bits, split.X_test[others], split.y_test[others]),
    )


def _once(
    forest: Forest,
    parameters: ModificationParameters,
    strengths: tuple[float, ...],
    attempt: int,
    data: AttackerData,
    judged: Judged,
) -> ModificationResult:
    steps = [Step(name, strength) for name, strength in zip(parameters.steps, strengths, strict=True)]
    key = (parameters.repeat, "+".join(parameters.steps), attempt, "+".join(map(repr, strengths)))
    changed = modify(
        forest, steps, data, streams.generator(parameters.seed, Role.ATTACKER_MODIFICATION, *key)
    )
    return evaluate(forest, changed, steps, judged, streams.generator(parameters.seed, Role.NULL, *key))


def _row(found: ModificationResult, attempt: int) -> ModificationRow:
    return ModificationRow(
        modification=found.name,
        strength=found.strengths[0],
        strengths="+".join(f"{strength:g}" for strength in found.strengths),
        attempt=attempt,
        n_trees=found.n_trees,
        accuracy_before=found.accuracy_before,
        accuracy_after=found.accuracy_after,
        accuracy_change=found.accuracy_change,
        fidelity=found.fidelity,
        bits=found.bits,
        exact_match=found.exact_match,
        log10_p=found.log10_p,
        p_null=found.p_null,
        log10_p_shares=found.log10_p_shares,
    )
