"""The columns of each result, in order, with what they hold; those of attacks are their rows' fields."""

from __future__ import annotations

from wm.attacks import registry
from wm.attacks.base import whole_columns_of
from wm.engines import Status

GRID = {
    "scheme": "Embedding scheme.",
    "trigger_share": "Share of the training rows that are trigger rows.",
    "ones_share": "Share of ones in the signature.",
    "repeat": "Number of the repeat, from 0.",
}
"""Place of an embedding in the grid."""

OUTCOMES = [status.value for status in Status]

_ACCURACY = {
    "n_estimators": "Number of trees.",
    "max_depth": "Limit on depth from the campaign or its tuning.",
    "cap_depth": "Limit on depth of watermarked and capped trees.",
    "cap_leaves": "Limit on their leaves.",
    "accuracy_standard": "Share of test rows that the honest standard forest's majority gets right.",
    "accuracy_capped": "The same of the honest forest under the watermark's limits.",
    "accuracy_watermarked": "The same of the watermarked forest.",
    "accuracy_standard_mean_rule": "The standard forest by scikit-learn's mean of leaves.",
    "accuracy_watermarked_mean_rule": "The watermarked forest by scikit-learn's mean of leaves.",
    "trigger_size": "Number of trigger rows.",
    "rounds": "Fits of both kinds of trees together.",
    "rounds_right": "Most fits of a tree that must be right.",
    "rounds_wrong": "Most fits of a tree that must be wrong.",
    "weight_right": "Largest weight of a trigger row in trees that must be right.",
    "weight_wrong": "Largest weight of a trigger row in trees that must be wrong.",
    "matched_bits": "Votes on trigger rows that are as the signature wants.",
    "total_bits": "Trigger rows times trees.",
    "log10_p": "Evidence of the claim against the watermarked forest, as log10 p.",
    "log10_p_standard": "The same against the honest standard forest.",
    "seconds": "Time of the embedding itself.",
}

_DISTANCES = {
    "signature": "Number of the attacker's signature.",
    "engine": "Which solver answered.",
    "instance": "Place in the attacker's shuffle of the test rows.",
    "row": "Index among the test rows.",
    "status": "Outcome of the search.",
    "distance": "Smallest distance at which the instance can be forged, or the smallest known.",
    "seconds": "Solving time.",
    "reason": "What the engine says of it.",
}

_JOBS = {
    "engine": "Of a forgery job.",
    "signature": "Of a forgery job.",
    "eps": "Of a forgery job.",
    "failures": "Attempts that failed.",
    "seconds": "Time of the job.",
    "error": "The outcome's text, or that of the last failed attempt.",
}

COLUMNS: dict[str, dict[str, str]] = {
    "accuracy": GRID | _ACCURACY,
    **{
        attack.kind: attack.columns if attack.scope == "campaign" else GRID | attack.columns
        for attack in registry.attacks()
    },
    "distances": GRID | _DISTANCES,
    "jobs": {"job": "Id in the store.", "kind": "What it does.", "state": "Where it stands."} | GRID | _JOBS,
}
"""By result: its columns in order, each with its description."""

WHOLE = {"repeat", "signature", "max_depth", "cap_depth", "cap_leaves", "trigger_size"}.union(
    *(whole_columns_of(attack.shown or attack.row) for attack in registry.attacks())
)
"""Whole numbers that may be missing: without a type of their own they would turn into floats."""
