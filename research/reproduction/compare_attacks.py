"""Comparisons of detection and forgery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from orchestrator.report.sections.distances import SizeCurve, cap_of, size_curves, sought
from orchestrator.report.wording import counted, ranged
from orchestrator.results.forged_sets import ANY
from research.reproduction import published
from research.reproduction.compare import (
    COUNT,
    PERCENT,
    TWO,
    Comparison,
    Verdict,
    compared,
    same_if,
    verdict_of_sample,
    why,
    worst,
)
from research.reproduction.runs import Run, at_published_point

_COUNTS = ("correct", "wrong", "uncertain")


def detection_comparisons(run: Run) -> Iterator[Comparison]:
    """Yield the comparisons of the paper's two strategies."""
    frame = at_published_point(run.findings.frame("detection"))
    for there in published.DETECTIONS:
        if there.dataset != run.setting.dataset:
            continue
        part = frame[frame["measure"] == there.measure]
        if part.empty:
            continue
        yield _measure(run, there, part.drop_duplicates("repeat"))
        for strategy, counts in there.by_strategy.items():
            yield _strategy(run, there.measure, strategy, counts, part[part["strategy"] == strategy])


def _measure(run: Run, there: published.Detection, part: pd.DataFrame) -> Comparison:
    both = (("mean", there.mean), ("std", there.std))
    verdict = worst([verdict_of_sample(value, part[name], TWO.rounding) for name, value in both])
    what, n = f"{there.measure}: mean; std over trees", counted(len(part), "forest")
    texts = (
        f"{TWO.write(there.mean)}; {TWO.write(there.std)}",
        f"{TWO.spread(part['mean'])}; {TWO.spread(part['std'])}",
    )
    return compared(
        run, what, published.DETECTION, *texts, n, verdict, why(verdict, lambda: _shape_reason(run))
    )


def _shape_reason(run: Run) -> str:
    if run.training == "per-tree":
        return (
            "training per-tree gives each tree its own weight, and stops as soon as it fits: its trees are "
            "shaped otherwise than those of the authors' loop"
        )
    return "the cap is that of another standard forest than the authors', and moves all trees with it"


def _strategy(run: Run, measure: str, strategy: str, there: Sequence[int], part: pd.DataFrame) -> Comparison:
    pairs = zip(there, _COUNTS, strict=True)
    verdict = worst([verdict_of_sample(count, part[name], 0.5) for count, name in pairs])
    what = f"{measure}, strategy {strategy}: correct / wrong / uncertain"
    counts = " / ".join(map(str, there))
    ours, n = " / ".join(COUNT.spread(part[name]) for name in _COUNTS), counted(len(part), "signature")
    chances = [_by_chance(*told) for told in part[["correct", "wrong"]].astype(int).to_numpy()]
    reason = (
        "one forest and one signature against several: guesses as uneven as the published ones come by "
        f"chance with probability {_by_chance(*there[:2]):.2g}, ours with {ranged(chances, '{:.2g}')}"
    )
    return compared(run, what, published.DETECTION, counts, ours, n, verdict, why(verdict, reason))


def _by_chance(correct: int, wrong: int) -> float:
    """Return the two-sided probability of counts as uneven, for bits guessed at random; 1 without any."""
    told = correct + wrong
    return 1.0 if told == 0 else float(stats.binomtest(correct, told).pvalue)


def curve_of(run: Run) -> SizeCurve | None:
    """Return the sizes of forged sets over eps at the published point; None where no least distances are."""
    findings = run.findings
    curves = size_curves(
        at_published_point(findings.frame("distances")),
        at_published_point(sought(findings)),
        cap_of(findings),
        published.DISTANCES,
    )
    return curves[0] if curves else None


def forgery_comparisons(run: Run) -> Iterator[Comparison]:
    """Yield the comparisons of forged trigger sets."""
    curve = curve_of(run)
    if curve is not None and curve.trigger_size is not None:
        for claim in published.FORGED:
            if claim.dataset == run.setting.dataset:
                yield from _shares(run, claim, curve, curve.trigger_size)
        if published.PARITY.dataset == run.setting.dataset:
            yield _parity(run, curve, curve.trigger_size)
    if published.TOO_SLOW.dataset == run.setting.dataset:
        yield from _scaling(run)
    if published.INDEPENDENT.dataset == run.setting.dataset:
        yield from _independent(run)


def _tried(curve: SizeCurve) -> str:
    return f"{counted(curve.signatures, 'signature')} on {counted(curve.repeats, 'watermark')}"


def _shares(run: Run, claim: published.MostForged, curve: SizeCurve, size: int) -> Iterator[Comparison]:
    """Yield the comparison of the mean over signatures and, for a limit, that of the largest one."""
    known, possible = (sizes / size for sizes in curve.at(claim.eps))
    reason = f"{int((known > 0).sum())} of {len(known)} signatures forge anything"
    mean, most = float(known.mean()), float(known.max())
    if claim.is_limit:
        there, verdict = f"at most {claim.share:.0%}", _below(mean, float(possible.mean()), claim.share)
    else:
        there = f"about {claim.share:.0%}"
        verdict = verdict_of_sample(claim.share, known, PERCENT.rounding)
    if verdict is Verdict.DIFFERS:
        less = "more" if claim.is_limit else "less"
        reason += (
            f"; the paper's mean includes the owner's own signature (one seed, see below); ours forge {less}"
        )
    what, n = f"forged at eps {claim.eps:g}, of the true size", _tried(curve)
    over = f"{what}: mean over signatures"
    yield compared(run, over, published.FORGERY, there, PERCENT.spread(known), n, verdict, reason)
    if claim.is_limit:
        verdict = _below(most, float(possible.max()), claim.share)
        reason = "signatures differ widely: the few that the paper tried, and their mean, hide the largest"
        over, ours = f"{what}: the signature that forges most", PERCENT.write(most)
        yield compared(run, over, published.FORGERY, there, ours, n, verdict, why(verdict, reason))


def _below(known: float, possible: float, limit: float) -> Verdict:
    """Return whether a size is below a limit; open if what is undecided may lift it above."""
    if known > limit + PERCENT.rounding:
        return Verdict.DIFFERS
    return Verdict.SAME if possible <= limit + PERCENT.rounding else Verdict.OPEN


def _parity(run: Run, curve: SizeCurve, size: int) -> Comparison:
    first = curve.parity
    at = ", ".join(
        f"{PERCENT.write(float(curve.at(eps)[0].mean()) / size)} at {eps:g}" for eps in published.DISTANCES
    )
    ours = "never" if first is None else f"first signature at eps {first:.3f}"
    early = first is not None and first < published.PARITY.eps
    verdict = same_if(not early)
    what, there = "least eps at which forged sets reach the true size", f"at least {published.PARITY.eps:g}"
    reason = f"mean sizes, of the true one: {at}"
    return compared(run, what, published.FORGERY, there, ours, _tried(curve), verdict, reason)


def _scaling(run: Run) -> Iterator[Comparison]:
    claim = published.TOO_SLOW
    frame = at_published_point(run.findings.frame("forgery"))
    # Where all answers follow from another eps, nothing is known of the time that this one takes.
    part = frame[(frame["eps"] == claim.eps) & (frame["followed"] < frame["instances"])]
    if part.empty:
        return
    decided = part["forged"] + part["impossible"]
    seconds = part["seconds"]
    least = (
        at_published_point(run.findings.frame("distances")).groupby(["repeat", "signature"])["seconds"].sum()
    )
    all_decided = bool((decided == part["instances"]).all())
    quick = float(seconds.max()) + float(least.max() if len(least) else 0.0) < claim.hours * 3600
    curve = f", after {least.mean():.1f} s, most {least.max():.1f} s, for all eps" if len(least) else ""
    what, there = f"time for one signature at eps {claim.eps:g}", f"over {claim.hours:g} hours"
    ours = (
        f"{seconds.mean():.1f} s, most {seconds.max():.1f} s{curve}; {int(decided.sum()):,} of "
        f"{int(part['instances'].sum()):,} queries decided, {int(part['forged'].sum())} forged"
    )
    reason = (
        f"engine {part['engine'].iloc[0]}, which carries proofs over from earlier queries, instead of Z3 "
        "over the reals; the machine differs too"
    )
    verdict = Verdict.DIFFERS if all_decided and quick else Verdict.OPEN
    n = counted(len(part), "signature")
    yield compared(run, what, published.FORGERY, there, ours, n, verdict, reason)


def _independent(run: Run) -> Iterator[Comparison]:
    there = published.INDEPENDENT
    frame = at_published_point(run.forged)
    if frame.empty:
        return
    once = frame.drop_duplicates("repeat")["independent_accuracy_true"]
    what, n = "accuracy of a standard forest on", counted(len(once), "forest")
    same = abs(float(once.mean()) - there.on_true) <= 2 * TWO.rounding
    verdict, texts = same_if(same), (TWO.write(there.on_true), TWO.spread(once))
    reason = "the trigger rows are among the training rows of our standard forest, which it fits"
    yield compared(run, f"{what} the true trigger set", published.FORGERY, *texts, n, verdict, reason)
    reason = (
        "a solver may show any point of a cell, and Z3 shows others than the nearest: see below, "
        "which point of a cell is shown"
    )
    for witnesses, part in frame[frame["eps"] == there.eps].groupby("witnesses", sort=True):
        values = part["independent_accuracy"].dropna()
        if values.empty:
            continue
        kind = "whatever the engine found" if witnesses == ANY else "the nearest to each row"
        forged, n = f"{what} sets forged at eps {there.eps:g}, {kind}", counted(len(values), "set")
        same = abs(float(np.mean(values)) - there.on_forged) <= 0.05
        verdict = same_if(same)
        texts = TWO.write(there.on_forged), f"{TWO.spread(values)}; least {TWO.write(float(values.min()))}"
        yield compared(run, forged, published.FORGERY, *texts, n, verdict, why(verdict, reason))
