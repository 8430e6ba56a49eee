"""Comparisons of data, hyper-parameters and accuracy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from orchestrator.report.sections.embedding import points
from orchestrator.report.wording import counted
from research.reproduction import published
from research.reproduction.compare import (
    COUNT,
    POINTS,
    SHARE,
    Comparison,
    Verdict,
    compared,
    mean_interval,
    same_if,
    verdict_of_sample,
    why,
)
from research.reproduction.runs import Run, at_published_point
from workers.jobs.owner import TuneResult

NEGLIGIBLE = 1.0
"""Loss of accuracy, in percentage points, that we take for negligible: the paper gives no number."""

_ABOUT = 0.5
"""What "about" leaves open, in percentage points."""


def setting_comparisons(run: Run) -> Iterator[Comparison]:
    """Yield the comparisons of what a campaign starts from."""
    setting, split = run.setting, run.findings.split
    if split is not None:
        yield _fact(run, "rows", setting.rows, split.rows_train + split.rows_test)
        yield _fact(run, "features", setting.features, split.features)
        for what, there, ours in (
            ("training rows of class 1", setting.positive_train, split.positive_train),
            ("test rows of class 1", setting.positive_test, split.positive_test),
        ):
            if there is not None:
                yield _fact(run, what, there, ours)
    if run.tuned is not None:
        yield _tuning(run, run.tuned)
    if run.findings.frame("accuracy").empty:
        return
    frame = at_published_point(run.findings.frame("accuracy"))
    if not frame.empty:
        yield _fact(run, "trigger rows", setting.trigger_rows, int(frame["trigger_size"].iloc[0]))
    if run.findings.spec.forest.tune is None:
        once = run.findings.frame("accuracy").drop_duplicates("repeat")
        yield _leaves(run, once)
        yield _standard(run, once)


def _fact(run: Run, what: str, there: int, ours: int) -> Comparison:
    verdict = same_if(there == ours)
    reason = "" if there == ours else "other rows than the paper's: everything below is of another data set"
    return compared(run, what, published.SETTINGS, f"{there:,}", f"{ours:,}", "1", verdict, reason)


def _tuning(run: Run, tuned: TuneResult) -> Comparison:
    chosen = (tuned.n_estimators, tuned.max_depth)
    there = (run.setting.n_estimators, run.setting.max_depth)
    accuracies = {(trees, depth): accuracy for trees, depth, accuracy in tuned.grid}
    lost = 100 * (tuned.mean_accuracy - accuracies.get(there, float("nan")))
    better = sum(accuracy > accuracies.get(there, 1.0) for accuracy in accuracies.values())
    reason = (
        "our search draws from a stream of its own; by its cross-validated accuracy the published "
        f"point is {lost:.2f} points below the best one, and {better} points of the grid are better"
    )
    n, verdict = f"{len(accuracies)} points of the grid", same_if(chosen == there)
    published_text, ours = (f"{trees} / {depth}" for trees, depth in (there, chosen))
    what, reason = "chosen trees / depth", why(verdict, reason)
    return compared(run, what, published.SETTINGS, published_text, ours, n, verdict, reason)


def _leaves(run: Run, once: pd.DataFrame) -> Comparison:
    values, there = once["cap_leaves"].to_numpy(dtype=np.float64), run.setting.cap_leaves
    verdict = verdict_of_sample(there, values, 0.5)
    what, n = "leaves cap (mean - std)", counted(len(values), "forest")
    reason = why(
        verdict, "mean and standard deviation are those of other random forests than the authors' one"
    )
    return compared(run, what, published.NOTEBOOKS, f"{there:g}", COUNT.spread(values), n, verdict, reason)


def _standard(run: Run, once: pd.DataFrame) -> Comparison:
    values, there = once["accuracy_standard"].to_numpy(dtype=np.float64), run.setting.accuracy
    verdict = verdict_of_sample(there, values, SHARE.rounding)
    rows = 0 if run.findings.split is None else run.findings.split.rows_test
    apart = (there - float(values.mean())) * rows
    reason = why(
        verdict,
        f"{abs(apart):.1f} of {rows:,} test rows {'fewer' if apart > 0 else 'more'} are right than in "
        "the paper, on the same rows with the same hyper-parameters: the authors' forest is one draw "
        "of its random_state",
    )
    what, n = "accuracy of the standard forest", counted(len(values), "forest")
    return compared(
        run, what, published.SETTINGS, SHARE.write(there), SHARE.spread(values), n, verdict, reason
    )


def accuracy_comparisons(run: Run) -> Iterator[Comparison]:
    """Yield the comparisons of what the watermark costs."""
    frame = run.findings.frame("accuracy")
    if frame.empty:
        return
    over_triggers = frame[frame["ones_share"] == published.ONES_SHARE]
    if over_triggers["trigger_share"].nunique() > 1:
        for share, part in over_triggers.groupby("trigger_share", sort=True):
            if float(str(share)) <= published.NEGLIGIBLE_UP_TO:
                yield _negligible(run, float(str(share)), part)
    over_ones = frame[frame["trigger_share"] == published.TRIGGER_SHARE]
    if over_ones["ones_share"].nunique() > 1:
        yield _largest_drop(run, over_ones)


def _negligible(run: Run, share: float, part: pd.DataFrame) -> Comparison:
    loss = -points(part, "accuracy_standard")
    interval, verdict = mean_interval(loss), Verdict.OPEN
    if interval is not None and not interval[0] <= NEGLIGIBLE < interval[1]:
        verdict = same_if(interval[1] <= NEGLIGIBLE)
    reason = why(verdict, "more than a percentage point is lost")
    if interval is not None:
        between = f"95% interval of the mean: {interval[0]:+.2f} to {interval[1]:+.2f} points"
        reason = between if verdict is not Verdict.DIFFERS else f"{reason}; {between}"
    what, n = f"accuracy lost at {share:.0%} trigger rows", counted(len(loss), "pair")
    return compared(run, what, published.ACCURACY, "negligible", POINTS.spread(loss), n, verdict, reason)


def _largest_drop(run: Run, frame: pd.DataFrame) -> Comparison:
    losses = {
        float(str(share)): -points(part, "accuracy_standard")
        for share, part in frame.groupby("ones_share", sort=True)
    }
    share, loss = max(losses.items(), key=lambda item: float(item[1].mean()))
    most = published.LARGEST_DROP + _ABOUT
    verdict = Verdict.OPEN if mean_interval(loss) is None else same_if(float(loss.mean()) <= most)
    what, there = "largest drop over shares of ones", f"about {published.LARGEST_DROP:g} points at most"
    ours, n = f"{POINTS.spread(loss)} at {share:.0%} ones", counted(len(loss), "pair")
    otherwise = "the mean loss of the worst share of ones; negative is a gain"
    reason = why(verdict, "a larger mean drop", otherwise)
    return compared(run, what, published.ACCURACY, there, ours, n, verdict, reason)
