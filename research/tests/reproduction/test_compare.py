"""Verdicts: what they mean, and that comparisons give what the store's frames give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import results
from orchestrator.errors import OutputError
from orchestrator.store.campaigns import find_campaign
from research.reproduction.compare import (
    LEAST_SAMPLE,
    PERCENT,
    POINTS,
    SHARE,
    TWO,
    Verdict,
    mean_interval,
    reach,
    verdict_of_sample,
    worst,
)
from research.reproduction.compare_attacks import detection_comparisons, forgery_comparisons
from research.reproduction.compare_models import accuracy_comparisons, setting_comparisons
from research.reproduction.published import DATASETS
from research.reproduction.runs import read_runs

values = st.lists(st.floats(-100, 100), min_size=LEAST_SAMPLE, max_size=8)


def test_the_interval_holds_one_more_value_19_times_in_20():
    rng = np.random.default_rng(5)
    draws = rng.normal(3.0, 2.0, size=(4000, 6))
    inside = [abs(row[0] - row[1:].mean()) <= reach(row[1:]) for row in draws]
    assert 0.94 < np.mean(inside) < 0.96
    covered = [low <= 3.0 <= high for low, high in map(mean_interval, draws)]
    assert 0.94 < np.mean(covered) < 0.96


@given(values, st.floats(0.1, 10), st.floats(-50, 50))
def test_verdicts_do_not_depend_on_units(sample, scale, shift):
    far = reach(sample)
    assert reach([scale * value + shift for value in sample]) == pytest.approx(scale * far, abs=1e-9)
    assert verdict_of_sample(float(np.mean(sample)), sample, 0.0) is Verdict.WITHIN
    beyond = float(np.mean(sample)) + far + 1.0
    assert verdict_of_sample(beyond, sample, 0.5) is Verdict.DIFFERS
    assert verdict_of_sample(beyond, sample, 1.0 + 1e-6) is Verdict.WITHIN


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=LEAST_SAMPLE - 1))
def test_few_values_say_nothing(sample):
    assert reach(sample) is None
    assert mean_interval(sample) is None
    assert verdict_of_sample(0.0, sample, 1.0) is Verdict.OPEN


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_the_worst_verdict_stands_for_several(verdicts):
    found = worst(verdicts)
    assert found in verdicts
    assert found is Verdict.DIFFERS or Verdict.DIFFERS not in verdicts


@given(st.floats(0, 1))
def test_what_is_written_is_within_its_rounding(value):
    for form in (SHARE, TWO, PERCENT):
        text = form.write(value)
        back = float(text.removesuffix("%")) / form.factor
        assert abs(back - value) <= form.rounding * (1 + 1e-9)


def test_spreads_are_written_with_their_unit_once():
    assert PERCENT.spread([0.1, 0.3]) == "20.0 ± 14.1%"
    assert POINTS.spread([-1.0]) == "-1.00 points"


def by_what(comparisons):
    return {one.what: one for one in comparisons}


def test_facts_and_models_are_those_of_the_store(store, run):
    found = by_what(setting_comparisons(run))
    assert [found[name].verdict for name in ("rows", "features", "trigger rows")] == 3 * [Verdict.SAME]
    frame = results.frame(store, 1, "accuracy").drop_duplicates("repeat")
    standard = found["accuracy of the standard forest"]
    mean, sd = frame["accuracy_standard"].mean(), frame["accuracy_standard"].std()
    assert (standard.ours, standard.n) == (f"{mean:.4f} ± {sd:.4f}", "3 forests")
    caps = frame["cap_leaves"].astype(float)
    within = abs(19 - caps.mean()) <= 4.302653 * caps.std() * math.sqrt(1 + 1 / 3) + 0.5
    assert (found["leaves cap (mean - std)"].verdict is Verdict.WITHIN) == within


def test_losses_are_paired_by_repeat(store, run):
    found = by_what(accuracy_comparisons(run))
    assert list(found) == [
        "accuracy lost at 1% trigger rows",
        "accuracy lost at 2% trigger rows",
        "largest drop over shares of ones",
    ]
    frame = results.frame(store, 1, "accuracy")
    part = frame[(frame["trigger_share"] == 0.02) & (frame["ones_share"] == 0.5)]
    loss = 100 * (part["accuracy_standard"] - part["accuracy_watermarked"])
    assert found["accuracy lost at 2% trigger rows"].ours == f"{loss.mean():.2f} ± {loss.std():.2f} points"


def test_detection_is_counted_over_signatures(store, run):
    found = by_what(detection_comparisons(run))
    assert len(found) == 6
    frame = results.frame(store, 1, "detection")
    part = frame[(frame["measure"] == "depth") & (frame["strategy"] == "B")]
    text = found["depth, strategy B: correct / wrong / uncertain"].ours
    assert text.startswith(f"{part['correct'].mean():.1f} ± {part['correct'].std():.1f} / ")


def test_forged_shares_are_those_of_the_least_distances(store, run):
    mean, most = forgery_comparisons(run)
    frame = results.frame(store, 1, "distances")
    sizes = (frame["distance"] <= 0.9).groupby(frame["signature"]).sum() / 7
    assert mean.ours == f"{100 * sizes.mean():.1f} ± {100 * sizes.std():.1f}%"
    assert most.ours == f"{100 * sizes.max():.1f}%"
    assert (most.verdict is Verdict.DIFFERS) == (sizes.max() > 0.1405)


def test_campaigns_on_other_data_are_refused(store):
    with pytest.raises(
        OutputError, match=r"campaign other: its data set is none of the paper's \(breast-cancer"
    ):
        read_runs(store, [find_campaign(store, "small"), find_campaign(store, "other")])


def test_runs_come_in_the_papers_order(run):
    assert run.setting == DATASETS[0]
    assert run.seconds > 0
