"""Made-up results of attack jobs, as handlers would give them: random, but of the right form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.plan import PlannedJob

ANTI_CONSERVATIVE = "detect: depth A exact"
"""The p-value that is far too small on honest forests."""

_SHAPES = ("mean-leaf-depth", "leaf-volume")
_SPECTRA = ("spectrum, sample", "spectrum, leaf-probe")
_P_VALUES = (
    "verify: votes",
    "verify: aligned",
    "verify: probabilities",
    ANTI_CONSERVATIVE,
    "detect: spectrum",
)


def attack_result(planned: PlannedJob, rng: np.random.Generator, trees: int) -> dict[str, Any]:
    """Return the result of one attack job on a forest of some trees, half of which have bit 1."""
    parameters = planned.parameters
    match planned.kind:
        case "leakage":
            return {"rows": _leaks(rng)}
        case "detection":
            return _detection(parameters, rng, trees)
        case "suppression":
            return {"rows": [_curve(rng, method) for method in parameters["methods"]]}
        case "free-forgery":
            return {"rows": [_forged(rng, method) for method in parameters["methods"]]}
        case "modification":
            return {"rows": _modified(parameters, rng, trees)}
        case "calibration":
            return _calibrated(parameters, rng)
        case "claims":
            own = [_judged(rng, "true", suspect) for suspect in ("as released", "shuffled", "honest")]
            return {"rows": [*own, _judged(rng, "border rows", "honest")]}
        case other:
            raise AssertionError(other)


def _judged(rng: np.random.Generator, claim: str, suspect: str) -> dict[str, Any]:
    is_honest = suspect == "honest"
    return {
        "claim": claim,
        "suspect": suspect,
        "number": 0,
        "answers": "model",
        "accuracy": float(rng.uniform(0.9, 1)),
        "verdict": "not verified" if is_honest else "verified",
        "test": "rows by votes",
        "log10_p": float(-rng.uniform(0, 1) if is_honest else -rng.uniform(10, 15)),
        "shared_mistakes": float(rng.uniform(0.4, 1)),
        "mistakes_p": None if is_honest else 0.05,
    }


def _leaks(rng: np.random.Generator) -> list[dict[str, Any]]:
    def row(form: str, finding: str, severity: str, **more: Any) -> dict[str, Any]:
        nothing = {"bits": None, "trigger_size": None, "triggers_found": 0, "others_found": 0}
        return {
            "form": form,
            "finding": finding,
            "severity": severity,
            "detail": f"{finding} on {form} <b>says</b>",
            "remedy": "scrub it" if severity != "none" else "",
        } | (nothing | more)

    given = {
        "bits": float(rng.choice([0.9, 1.0])),
        "trigger_size": 8,
        "triggers_found": int(rng.integers(4, 9)),
        "others_found": int(rng.integers(0, 3)),
    }
    return [
        row("as trained", "training-counts", "info", **given),
        row("as trained", "root-weights", "critical", **given),
        row("as trained", "heavy-leaves", "high", **given),
        row("released", "none", "none"),
        row("standard", "training-counts", "info"),
    ]


def _detection(parameters: Mapping[str, Any], rng: np.random.Generator, trees: int) -> dict[str, Any]:
    methods = parameters["methods"]
    rows: list[dict[str, Any]] = []
    if "strategies" in methods:
        rows += [_strategy(rng, trees, measure, name) for measure in ("depth", "leaves") for name in "AB"]
    measures = [*(_SHAPES if "shapes" in methods else ()), *(_SPECTRA if "spectrum" in methods else ())]
    for measure in measures:
        rows += _guess(rng, trees, measure)
    if "presence" in methods:
        rows += _presence(rng, trees, parameters["honest"])
    spectra = [_spectrum(rng, trees, mode) for mode in ("sample", "leaf-probe") if "spectrum" in methods]
    return {"rows": rows, "spectra": spectra}


def _strategy(rng: np.random.Generator, trees: int, measure: str, strategy: str) -> dict[str, Any]:
    correct = int(rng.integers(0, trees + 1))
    wrong = int(rng.integers(0, trees - correct + 1))
    return {
        "measure": measure,
        "strategy": strategy,
        "mean": float(rng.uniform(3, 5)),
        "std": float(rng.uniform(0, 1)),
        "correct": correct,
        "wrong": wrong,
        "uncertain": trees - correct - wrong,
        "p_value": float(rng.uniform()),
        "p_value_exact": float(rng.uniform()),
    }


def _guess(rng: np.random.Generator, trees: int, measure: str) -> list[dict[str, Any]]:
    right = int(rng.integers(trees // 2, trees + 1))
    ranked, split = (float(10 ** rng.uniform(-9, 0)) for _ in range(2))
    common = {"measure": measure, "points": 171 if measure in _SPECTRA else None}
    return [
        common
        | {
            "strategy": "ranking",
            "correct": 0,
            "wrong": 0,
            "uncertain": trees,
            "p_value": ranked,
            "p_value_exact": ranked,
            "auc": float(rng.uniform(0.5, 1)),
        },
        common
        | {
            "strategy": "median split",
            "correct": right,
            "wrong": trees - right,
            "uncertain": 0,
            "p_value": split,
            "p_value_exact": split,
            "bits": right / trees,
            "null_bits": 0.588,
        },
    ]


def _presence(rng: np.random.Generator, trees: int, honest: int) -> list[dict[str, Any]]:
    return [
        {
            "measure": measure,
            "strategy": strategy,
            "correct": 0,
            "wrong": 0,
            "uncertain": trees,
            "p_value": float(rng.integers(1, honest + 2)) / (honest + 1),
            "p_value_exact": float(rng.integers(1, honest + 2)) / (honest + 1),
            "points": honest,
        }
        for measure, strategy in (
            ("presence", "largest deviation"),
            ("presence: spectrum_strength", "rank, Holm"),
            ("presence: mean_leaves", "rank, Holm"),
        )
    ]


def _spectrum(rng: np.random.Generator, trees: int, mode: str) -> dict[str, Any]:
    return {
        "mode": mode,
        "strengths": [0.5, 0.25, 0.125],
        "scores": rng.uniform(-1, 1, size=trees).tolist(),
        "bits": [0, 1] * (trees // 2),
    }


def _curve(rng: np.random.Generator, method: str) -> dict[str, Any]:
    steps = int(rng.integers(1, 6))
    spots = method != "disagreement"
    return {
        "method": method,
        "auc": float(rng.uniform(0.5, 1)),
        "tpr_at_1pct_fpr": float(rng.uniform()),
        "triggers": 8,
        "ordinary": 86 if method == "shadow" else 171,
        "false_positive_rate": [0.0, *np.sort(rng.uniform(size=steps)).tolist(), 1.0],
        "true_positive_rate": [0.0, *np.sort(rng.uniform(size=steps)).tolist(), 1.0],
        "triggers_spotted": float(rng.uniform()) if spots else 0.0,
        "ordinary_touched": float(rng.uniform()),
        "ordinary_votes_changed": float(rng.uniform()),
        "log10_p_before": -float(rng.uniform(5, 20)),
        "log10_p_after": -float(rng.uniform(0, 5)),
        "bits": float(rng.uniform(0.5, 1)) if spots else None,
        "null_bits": 0.588 if spots else None,
        "budget": [_known(rng, queries) for queries in range(1, 9)],
    }


def _known(rng: np.random.Generator, queries: int) -> dict[str, Any]:
    low, bits, high = np.sort(rng.uniform(0.5, 1, size=3)).tolist()
    return {
        "trigger_queries": queries,
        "bits": 1.0 if queries > 5 else bits,
        "low": 1.0 if queries > 5 else low,
        "high": 1.0 if queries > 5 else high,
        "null_bits": 0.588 if queries > 1 else 0.5,
        "spotted": float(queries),
    }


def _forged(rng: np.random.Generator, method: str) -> dict[str, Any]:
    stops = {
        "all zeros": ("commitment, quota of ones, p-value", "quota of ones, p-value"),
        "best pattern": ("commitment", ""),
        "clones": ("commitment, distinct cells", "distinct cells"),
        "local search": ("", ""),
        "recovered signature": ("commitment", ""),
    }
    stopped, late = stops[method]
    size = 0 if method == "local search" else int(rng.integers(1, 60))
    return {
        "method": method,
        "size": size,
        "size_over_k": size / 8,
        "distinct_cells": min(size, 1 if method == "clones" else size),
        "mean_distance": float(rng.uniform(0, 0.5)) if size else 0.0,
        "max_distance": float(rng.uniform(0.5, 1)) if size else 0.0,
        "independent_accuracy": float(rng.uniform()) if size else None,
        "forged_ones_share": float(rng.uniform()),
        "log10_p": -float(rng.uniform(0, 20)) if size else None,
        "stopped_by": stopped,
        "stopped_but_for_commitment": late,
    }


def _modified(parameters: Mapping[str, Any], rng: np.random.Generator, trees: int) -> list[dict[str, Any]]:
    name = "+".join(parameters["steps"])
    rows = []
    for strengths in parameters["strengths"]:
        for attempt in range(parameters["tries"]):
            after = float(rng.uniform(0.85, 0.95))
            dropped = "drop" in parameters["steps"]
            rows.append(
                {
                    "modification": name,
                    "strength": strengths[0],
                    "strengths": "+".join(f"{strength:g}" for strength in strengths),
                    "attempt": attempt,
                    "n_trees": trees - int(dropped),
                    "accuracy_before": 0.94,
                    "accuracy_after": after,
                    "accuracy_change": after - 0.94,
                    "fidelity": float(rng.uniform(0.8, 1)),
                    "bits": float(rng.uniform(0.5, 1)),
                    "exact_match": bool(rng.uniform() < 0.3),
                    "log10_p": float(rng.uniform(-4 if dropped else -12, 0)),
                    "p_null": "aligned" if dropped else "exact",
                    "log10_p_shares": float(rng.uniform(-8, 0)),
                    "log10_p_labels": float(rng.uniform(-2, 0)),
                }
            )
    return rows


def _calibrated(parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    population, count = parameters["population"], parameters["count"]
    names = ("presence: maximum", "presence: Holm") if population == "presence" else _P_VALUES
    rows = []
    for name in names:
        values = rng.uniform(0.1, 1, size=count)
        if name == ANTI_CONSERVATIVE and population == "honest":
            values = values / 1000
        rows.append({"population": population, "name": name, "values": values.tolist()})
    return {"rows": rows}
