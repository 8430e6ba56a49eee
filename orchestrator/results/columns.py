"""List the columns of each result with descriptions; those of attacks are the fields of their rows."""

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
"""Coordinates of an embedding in the grid."""

OUTCOMES = [status.value for status in Status]

_ACCURACY = {
    "n_estimators": "Number of trees.",
    "max_depth": "Limit on depth from the campaign or its tuning; of boosted models that of their trees.",
    "cap_depth": "Limit on depth of watermarked and capped trees.",
    "cap_leaves": "Limit on their leaves.",
    "accuracy_standard": "Accuracy of the honest standard forest on the test rows, by majority; beside a "
    "boosted model that of a plain one of the same settings.",
    "accuracy_capped": "Accuracy of the honest forest with the watermark's limits.",
    "accuracy_watermarked": "Accuracy of the watermarked forest.",
    "accuracy_standard_mean_rule": "Accuracy of the standard forest by scikit-learn's mean of leaves.",
    "accuracy_watermarked_mean_rule": "Accuracy of the watermarked forest by scikit-learn's mean of leaves.",
    "trigger_size": "Number of trigger rows.",
    "nodes": "Nodes of the watermarked model.",
    "rounds": "Fits of all trees.",
    "rounds_right": "Maximum number of fits of a tree that must be right.",
    "rounds_wrong": "Maximum number of fits of a tree that must be wrong.",
    "weight_right": "Largest weight of a trigger row in trees that must be right.",
    "weight_wrong": "Largest weight of a trigger row in trees that must be wrong.",
    "matched_bits": "Votes on trigger rows that match the signature.",
    "total_bits": "Trigger rows times trees.",
    "log10_p": "log10 of the claim's p-value against the watermarked forest.",
    "log10_p_standard": "log10 of its p-value against the honest standard forest.",
    "seconds": "Time of the embedding alone.",
}

_DISTANCES = {
    "signature": "Number of the attacker's signature.",
    "engine": "Solver.",
    "instance": "Position in the attacker's shuffle of the test rows.",
    "row": "Index among the test rows.",
    "status": "Outcome of the search.",
    "distance": "Smallest distance at which the instance can be forged, or the smallest known.",
    "seconds": "Solving time.",
    "reason": "Explanation of the engine.",
}

_JOBS = {
    "engine": "Solver of a forgery job.",
    "signature": "Number of the signature of a forgery job.",
    "eps": "Distance of a forgery job.",
    "failures": "Number of failed attempts.",
    "seconds": "Time of the job.",
    "error": "Error of the outcome, or of the last failed attempt.",
}

SCHEMES = {
    "scheme": "Embedding scheme; with its shares where a campaign has several of them.",
    "dataset": "Data set.",
    "attack": "Attack and its method, or what was modified; none: the forest as released.",
    "strength": "Strength of a modification; of several in a row that of the first.",
    "accuracy_change": "Mean change of accuracy by the attack, of a modification on half of the test rows; "
    "of no attack that by the watermark.",
    "log10_p": "Median of the evidence that is left, as log10 p.",
    "auc": "Mean area under the curve: of presence, for watermarked against honest forests; of suppression, "
    "for trigger against ordinary queries; of other detection, for the ranking of trees by their bits.",
    "tpr_at_1pct_fpr": "Share of watermarks, or of trigger queries, found at no more than 1% false alarms.",
    "repeats": "Number of repeats.",
    "log10_p_min": "Lowest log10 p of the repeats.",
    "log10_p_max": "Highest log10 p of the repeats: the weakest evidence.",
    "accuracy_change_std": "Standard deviation of the change of accuracy over repeats; missing for one.",
    "bits": "Mean share of the bits that the suspected queries show.",
    "null_bits": "The same by chance.",
}
"""Columns of the scoreboard."""

COLUMNS: dict[str, dict[str, str]] = {
    "accuracy": GRID | _ACCURACY,
    **{
        attack.kind: attack.columns if attack.scope == "campaign" else GRID | attack.columns
        for attack in registry.attacks()
    },
    "distances": GRID | _DISTANCES,
    "schemes": SCHEMES,
    "jobs": {"job": "Id in the store.", "kind": "Its kind.", "state": "Its state."} | GRID | _JOBS,
}
"""Columns of each result, with their descriptions, in order."""

WHOLE = {"repeat", "signature", "max_depth", "cap_depth", "cap_leaves", "trigger_size", "nodes"}.union(
    *(whole_columns_of(attack.shown or attack.row) for attack in registry.attacks())
)
"""Columns of integers that may be missing: they get the type Int64, else pandas would use floats."""
