"""The summary in words has the frames' numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.report.findings import Findings, gather
from orchestrator.report.headline import headline
from orchestrator.report.wording import p_value, p_value_of_log10, signed


@pytest.fixture(scope="module")
def findings(make_campaign: Callable[..., Any]) -> Findings:
    made = make_campaign()
    return gather(made.store, made.record)


def _said(findings: Findings) -> dict[str, str]:
    return {statement.topic: statement.text for statement in headline(findings)}


def test_what_was_embedded_and_verified(findings: Findings) -> None:
    said, frame = _said(findings), findings.accuracy
    assert "12 of 12 planned watermarks on data set breast-cancer (398 training and 171" in said["Embedded"]
    assert "trigger sets of 4 to 8 rows (1% and 2% of the training rows)" in said["Embedded"]
    assert "In 12 of 12 watermarked forests every bit matches" in said["Verified"]
    assert f"weakest evidence is p = {p_value_of_log10(frame['log10_p'].max())}" in said["Verified"]
    assert f"least p = {p_value_of_log10(frame['log10_p_standard'].min())}" in said["Verified"]


def test_forest_that_misses_a_bit_is_not_counted_as_matching(findings: Findings) -> None:
    frame = findings.accuracy.copy()
    frame.loc[0, "matched_bits"] -= 1
    assert "In 11 of 12 watermarked forests" in _said(replace(findings, accuracy=frame))["Verified"]


def test_cost_is_the_mean_difference(findings: Findings) -> None:
    frame = findings.accuracy
    for name in ("standard", "capped"):
        difference = 100 * (frame["accuracy_watermarked"] - frame[f"accuracy_{name}"]).mean()
        assert f"{signed(difference)} points against the {name} forest" in _said(findings)["Cost in accuracy"]


def test_best_guess_is_corrected_for_the_number_of_guesses(findings: Findings) -> None:
    frame, said = findings.detection, _said(findings)["Detection"]
    best = frame.sort_values("p_value_exact").iloc[0]
    assert f"reads {best['correct']} of 20 bits right" in said
    assert f"best of {len(frame)} guesses" in said
    assert said.endswith(f"p = {p_value(min(1.0, len(frame) * best['p_value_exact']))}.")


def test_forgery_names_the_most_successful_signature(findings: Findings) -> None:
    frame, said = findings.forgery, _said(findings)["Forgery"]
    for engine, part in frame.groupby("engine"):
        share = (part["forged"] / part["trigger_size"].astype(float)).max()
        undecided = part[["timeout", "memout", "error"]].to_numpy().sum()
        assert f"Engine {engine}: the most successful of 9 signatures" in said
        assert f"({share:.0%})" in said
        assert f"{undecided} of {part['instances'].sum()} queries undecided" in said


def test_suppression_gives_the_range_over_configurations(findings: Findings) -> None:
    frame, said = findings.suppression, _said(findings)["Suppression"]
    means = frame.groupby(["method", "trigger_share", "ones_share"])["auc"].mean()
    for method in frame["method"].unique():
        low, high = np.min(means[method]), np.max(means[method])
        assert f"(AUC {low:.3f} to {high:.3f})" in said


def test_missing_parts_are_told_apart_from_those_not_asked_for(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(unfinished=frozenset({"detection"}))
    said = _said(gather(made.store, made.record))
    assert said["Detection"] == "Nothing to tell: no such job has a result."
    assert "Nothing" not in said["Suppression"]
