"""Frames boiled down: sizes over all distances, and what leaks, is forged and survives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.findings import Findings
from orchestrator.report.summaries import (
    SizeCurve,
    finding_summaries,
    forgery_summaries,
    form_summaries,
    free_forgery_summaries,
    modification_summaries,
    presence_summaries,
    size_curves,
)

_GRID = {"scheme": "paper", "trigger_share": 0.02, "ones_share": 0.5}
_STATUSES = ("forged", "impossible", "timeout", "memout", "error")


def _curve(answers: list[list[tuple[str, float | None]]], asked: int, **more: Any) -> SizeCurve:
    """Return the curve of signatures whose instances ended so, out of `asked` each."""
    rows = [
        _GRID
        | {"repeat": 0, "signature": signature, "engine": "sat", "instance": instance, "row": instance}
        | {"status": status, "distance": distance, "seconds": 1.0, "reason": ""}
        for signature, ended in enumerate(answers)
        for instance, (status, distance) in enumerate(ended)
    ]
    planned = [
        _GRID | {"repeat": 0, "signature": signature, "engine": "sat", "instances": asked, "trigger_size": 3}
        for signature in range(len(answers))
    ]
    distances = pd.DataFrame(rows).astype({"distance": float})
    (curve,) = size_curves(distances, pd.DataFrame(planned), 1.0, **more)
    return curve


@st.composite
def _answers(draw: st.DrawFn) -> list[list[tuple[str, float | None]]]:
    def answer(status: str) -> tuple[str, float | None]:
        known = status == "forged" or (status in _STATUSES[2:] and draw(st.booleans()))
        return status, draw(st.sampled_from([0.0, 0.125, 0.3, 0.5, 0.75, 1.0])) if known else None

    statuses = st.lists(st.sampled_from(_STATUSES), min_size=1, max_size=5)
    return [
        [answer(status) for status in ended] for ended in draw(st.lists(statuses, min_size=1, max_size=4))
    ]


@given(_answers(), st.integers(0, 2), st.floats(0, 1))
def test_sizes_are_what_is_known_and_what_could_be(
    answers: list[list[tuple[str, float | None]]], pending: int, eps: float
) -> None:
    asked = max(map(len, answers)) + pending
    curve = _curve(answers, asked)
    known, possible = curve.at(eps)
    for ended, at_least, at_most in zip(answers, known, possible, strict=True):
        within = [distance is not None and distance <= eps for _, distance in ended]
        assert at_least == sum(within)
        # What no limit struck is decided; everything else may be forged at once.
        decided_against = sum(
            status == "impossible" or (status == "forged" and not near)
            for (status, _), near in zip(ended, within, strict=True)
        )
        assert at_most == asked - decided_against
    everything = [status for ended in answers for status, _ in ended]
    assert curve.forged == everything.count("forged")
    assert curve.impossible == everything.count("impossible")
    assert curve.undecided == asked * len(answers) - curve.forged - curve.impossible
    assert curve.pending == asked * len(answers) - len(everything)


@given(_answers())
def test_curves_only_rise_and_the_possible_is_never_below_the_known(
    answers: list[list[tuple[str, float | None]]],
) -> None:
    curve = _curve(answers, 5)
    assert (np.diff(curve.known, axis=1) >= 0).all()
    assert (np.diff(curve.possible, axis=1) >= 0).all()
    assert (curve.possible >= curve.known).all()
    assert (curve.eps[0], curve.eps[-1]) == (0.0, 1.0)


def test_parity_is_the_first_eps_with_as_many_as_the_true_set() -> None:
    three = [("forged", 0.2), ("forged", 0.4), ("forged", 0.6)]
    assert _curve([three, three[:1]], 3).parity() == 0.6
    assert _curve([three[:2]], 3).parity() is None


def test_long_curves_are_thinned_but_keep_the_places_asked_for() -> None:
    many = [("forged", float(distance)) for distance in np.linspace(0.001, 0.999, 2000)]
    curve = _curve([many], 2000, places=(0.5,))
    assert len(curve.eps) < 450
    assert curve.at(0.5)[0].tolist() == [1000]
    assert curve.known[0, -1] == 2000


def test_forms_count_forests_once(attacked: Findings) -> None:
    summaries = form_summaries(attacked.leakage, attacked.accuracy)
    assert [row.form for row in summaries] == ["as trained", "released", "standard"] * 2
    for row in summaries:
        part = attacked.leakage[
            (attacked.leakage["trigger_share"] == row.configuration.trigger_share)
            & (attacked.leakage["ones_share"] == row.configuration.ones_share)
            & (attacked.leakage["form"] == row.form)
        ].drop_duplicates("repeat")
        assert row.forests == 3
        assert row.severity == {"as trained": "critical", "released": "none", "standard": "info"}[row.form]
        assert row.leaking == (3 if row.form == "as trained" else 0)
        assert row.triggers_found.mean == pytest.approx(part["triggers_found"].mean())
        if row.form == "as trained":
            assert row.bits is not None
            assert row.bits.mean == pytest.approx(part["bits"].mean())
            # The file tells 8, which is right at 2% only.
            assert (row.sizes_told, row.sizes_right) == (
                3,
                3 if row.configuration.trigger_share == 0.02 else 0,
            )
        else:
            assert (row.bits, row.sizes_told) == (None, 0)


def test_findings_are_ordered_from_the_worst(attacked: Findings) -> None:
    first = [row for row in finding_summaries(attacked.leakage) if row.form == "as trained"][:3]
    assert [row.severity for row in first] == ["critical", "high", "info"]
    assert {(row.found, row.forests) for row in first} == {(3, 3)}


def test_finding_of_some_forests_is_counted_as_such(attacked: Findings) -> None:
    frame = attacked.leakage
    gone = (frame["finding"] == "root-weights") & (frame["repeat"] == 0)
    row = next(row for row in finding_summaries(frame[~gone]) if row.finding == "root-weights")
    assert (row.found, row.forests) == (2, 3)


def test_presence_tells_all_together_from_single_statistics(attacked: Findings) -> None:
    summaries = presence_summaries(attacked.presence)
    assert [row.is_overall for row in summaries[:3]] == [True, False, False]
    assert summaries[1].statistic == "spectrum_strength"
    assert {row.honest for row in summaries} == {19}


def test_empty_forged_sets_are_no_claims(attacked: Findings) -> None:
    rows = {row.method: row for row in free_forgery_summaries(attacked.free_forgery)[:5]}
    empty, zeros, best = rows["local search"], rows["all zeros"], rows["best pattern"]
    assert (empty.made, empty.refused, empty.log10_p, empty.size.most) == (0, 0, None, 0)
    assert (zeros.made, zeros.standing, zeros.standing_but_for_commitment) == (3, 0, 0)
    assert dict(zeros.rules) == {"commitment": 3, "quota of ones": 3, "p-value": 3}
    assert dict(zeros.rules_but_for_commitment) == {"quota of ones": 3, "p-value": 3}
    assert (best.standing, best.standing_but_for_commitment) == (0, 3)


def test_strengths_rise_whatever_their_order_in_the_frame(attacked: Findings) -> None:
    shuffled = attacked.modification.sample(frac=1, random_state=np.random.RandomState(3))
    for row_of_any in (attacked.modification, shuffled):
        summaries = modification_summaries(row_of_any)
        noise = [row.strengths for row in summaries if row.modification == "noise"][:5]
        assert noise == ["0.003", "0.01", "0.03", "0.1", "0.3"]
        assert {(row.repeats, row.tries, row.bits.n) for row in summaries} == {(3, 2, 6)}


def test_the_time_of_a_signature_is_that_of_signatures_that_were_asked():
    """Of five signatures, two have answers that follow from another eps alone: they took no time."""
    place = {
        "scheme": "paper",
        "trigger_share": 0.02,
        "ones_share": 0.5,
        "repeat": 0,
        "engine": "sat",
        "eps": 0.3,
    }
    seconds, followed = (4.0, 0.0, 1.0, 2.0, 0.0), (0, 10, 5, 9, 10)
    rows = [
        place
        | dict.fromkeys(("timeout", "memout", "error"), 0)
        | {"signature": number, "instances": 10, "trigger_size": 7, "forged": 4, "impossible": 6}
        | {"seconds": seconds[number], "followed": followed[number]}
        for number in range(5)
    ]
    (summary,) = forgery_summaries(pd.DataFrame(rows))
    assert (summary.followed, summary.seconds_total) == (34, 7.0)
    assert (summary.seconds.n, summary.seconds.median) == (3, 2.0)
    (summary,) = forgery_summaries(pd.DataFrame([rows[1], rows[4]]))
    assert (summary.followed, summary.seconds_total, summary.seconds) == (20, 0.0, None)
