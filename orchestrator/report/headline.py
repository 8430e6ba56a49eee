"""What a campaign found, in plain words and with its numbers: the first thing on the page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from orchestrator.report.findings import Findings
from orchestrator.report.summaries import (
    ForgerySummary,
    Spread,
    forgery_summaries,
    points,
    suppression_summaries,
)
from orchestrator.report.wording import (
    counted,
    listed,
    number,
    p_value,
    p_value_of_log10,
    percent,
    ranged,
    signed,
)
from orchestrator.store.tables import CampaignState
from workers.jobs import JobKind

NOTHING_YET = "Nothing to tell: no such job has a result."
NOT_ASKED = "Not part of this campaign."


@dataclass(frozen=True)
class Statement:
    """A topic and what there is to say about it."""

    topic: str
    text: str


def headline(findings: Findings) -> list[Statement]:
    """Return the summary: what was embedded, whether it verifies, its cost, what each attack got."""
    return [
        Statement("Embedded", _embedded(findings)),
        Statement("Verified", _verified(findings)),
        Statement("Cost in accuracy", _cost(findings)),
        Statement("Detection", _detection(findings)),
        Statement("Suppression", _suppression(findings)),
        Statement("Forgery", _forgery(findings)),
    ]


def caveats(findings: Findings) -> list[str]:
    """Return what a reader must know before trusting the numbers: gaps, single repeats, open queries."""
    found = []
    jobs = findings.progress.jobs
    total = sum(jobs.values())
    if findings.record.state is not CampaignState.FINISHED:
        states = [f"{count} {state.value}" for state, count in jobs.items() if count]
        found.append(
            f"This campaign is {findings.record.state.value}. Of its {counted(total, 'job')}: "
            f"{listed(states)}. "
            "All numbers below are of the jobs done; they lack parts of the grid and may change."
        )
    if findings.repeats == 1:
        found.append(
            "Each configuration was embedded only once: the numbers have no spread over seeds, and another "
            "seed may give others."
        )
    undecided = sum(row.undecided for row in forgery_summaries(findings.forgery))
    if undecided:
        queries = int(findings.forgery["instances"].sum())
        found.append(
            f"{undecided:,} of {counted(queries, 'forgery query', 'forgery queries')} have no decision "
            "(timeout, memout, error or pending): forged set sizes are lower limits there."
        )
    return found


def _embedded(findings: Findings) -> str:
    frame, spec = findings.accuracy, findings.spec
    planned = int((findings.jobs["kind"] == JobKind.EMBED.value).sum())
    rows = ""
    if findings.split is not None:
        split = findings.split
        rows = (
            f" ({split.rows_train:,} training and {split.rows_test:,} test rows, "
            f"{counted(split.features, 'feature')})"
        )
    if frame.empty:
        return f"No watermark of {planned} planned, on data set {findings.dataset}{rows}."
    shares = listed(percent(share) for share in sorted(frame["trigger_share"].unique()))
    ones = listed(percent(share) for share in sorted(frame["ones_share"].unique()))
    trees = ranged(frame["n_estimators"].tolist())
    size = ranged(frame["trigger_size"].tolist())
    return (
        f"{len(frame)} of {counted(planned, 'planned watermark')} on data set "
        f"{findings.dataset}{rows}: scheme "
        f"{listed(spec.embedding.scheme)}, forests of {trees} trees, trigger sets of {size} rows "
        f"({shares} of the training rows), {ones} ones in the signature, "
        f"{counted(findings.repeats, 'repeat')}."
    )


def _verified(findings: Findings) -> str:
    frame = findings.accuracy
    if frame.empty:
        return NOTHING_YET
    whole = int((frame["matched_bits"] == frame["total_bits"]).sum())
    weakest = p_value_of_log10(float(frame["log10_p"].max()))
    honest = p_value_of_log10(float(frame["log10_p_standard"].min()))
    matched, total = int(frame["matched_bits"].sum()), int(frame["total_bits"].sum())
    if len(frame) == 1:
        return (
            f"{matched:,} of {total:,} bits match, p = {weakest}. The same claim against the honest standard "
            f"forest: p = {honest}."
        )
    return (
        f"In {whole} of {len(frame)} watermarked forests every bit matches ({matched:,} of {total:,} bits in "
        f"all); the weakest evidence is p = {weakest}. The same claims against the honest standard forests: "
        f"least p = {honest} of {len(frame)}."
    )


def _cost(findings: Findings) -> str:
    frame = findings.accuracy
    if frame.empty:
        return NOTHING_YET
    watermarked = Spread.of(frame["accuracy_watermarked"])
    texts = [
        f"{signed(Spread.of(points(frame, f'accuracy_{name}')).mean)} points against the {name} forest "
        f"({percent(Spread.of(frame[f'accuracy_{name}']).mean, 2)})"
        for name in ("standard", "capped")
    ]
    over = (
        ""
        if len(frame) == 1
        else f" Means over {counted(len(frame), 'forest')}; single differences to the standard forest from "
        f"{signed(float(points(frame, 'accuracy_standard').min()))} to "
        f"{signed(float(points(frame, 'accuracy_standard').max()))} points."
    )
    return f"Accuracy {percent(watermarked.mean, 2)}: {listed(texts)}.{over}"


def _detection(findings: Findings) -> str:
    frame = findings.detection
    if frame.empty:
        return NOTHING_YET if findings.asks_for(JobKind.DETECTION) else NOT_ASKED
    best = frame.iloc[int(np.argmin(frame["p_value_exact"].to_numpy(dtype=np.float64)))]
    bits = int(best["correct"] + best["wrong"] + best["uncertain"])
    tried = len(frame)
    corrected = min(1.0, tried * float(best["p_value_exact"]))
    return (
        f"The most telling guess ({best['measure']}, strategy {best['strategy']}) reads {best['correct']} of "
        f"{bits} bits right, {best['wrong']} wrong and leaves {best['uncertain']} open: p = "
        f"{p_value(float(best['p_value']))}, exact {p_value(float(best['p_value_exact']))}. It is the "
        "best of "
        f"{tried} guesses; corrected for that (Bonferroni), p = {p_value(corrected)}."
    )


def _suppression(findings: Findings) -> str:
    summaries = suppression_summaries(findings.suppression)
    if not summaries:
        return NOTHING_YET if findings.asks_for(JobKind.SUPPRESSION) else NOT_ASKED
    texts = []
    for method, rows in groupby(sorted(summaries, key=lambda row: row.method), key=lambda row: row.method):
        several = list(rows)
        spotted = ranged([round(100 * row.tpr_at_1pct_fpr.mean, 1) for row in several], "{:g}%")
        area = ranged([row.auc.mean for row in several], "{:.3f}")
        texts.append(f"{method} spots {spotted} of the trigger queries (AUC {area})")
    many = len({row.configuration for row in summaries})
    return (
        f"At no more than 1% of ordinary queries suspected, {listed(texts)}"
        f"{f'; ranges over {many} configurations' if many > 1 else ''}."
    )


def _forgery(findings: Findings) -> str:
    summaries = forgery_summaries(findings.forgery)
    if not summaries:
        return NOT_ASKED
    texts = [
        _forgery_of(engine, list(rows))
        for engine, rows in groupby(sorted(summaries, key=lambda row: row.engine), key=lambda row: row.engine)
    ]
    return " ".join(texts)


def _forgery_of(engine: str, rows: list[ForgerySummary]) -> str:
    begun = [(row, row.forged) for row in rows if row.forged is not None]
    if not begun:
        return f"Engine {engine}: no query has an outcome."
    worst, forged = max(begun, key=lambda pair: (_share_of_true(pair[0], pair[1].most), -pair[0].eps))
    per_eps = [f"{number(spread.mean)} at eps {row.eps:g}" for row, spread in _largest_of_each_eps(begun)]
    undecided, queries = sum(row.undecided for row in rows), sum(row.instances for row in rows)
    share = _share_of_true(worst, forged.most)
    many = len({row.configuration for row in rows}) > 1
    of_true = "" if not worst.trigger_size else f" of {worst.trigger_size} ({percent(share, 0)})"
    return (
        f"Engine {engine}: the most successful of "
        f"{counted(worst.signatures * worst.repeats, 'signature')} forges "
        f"{forged.most:.0f}{of_true}, first at eps {worst.eps:g}; mean set size "
        f"{'(largest over configurations) ' if many else ''}{listed(per_eps)}; "
        f"{undecided:,} of {counted(queries, 'query', 'queries')} undecided."
    )


def _share_of_true(row: ForgerySummary, size: float) -> float:
    return size / row.trigger_size if row.trigger_size else 0.0


def _largest_of_each_eps(begun: list[tuple[ForgerySummary, Spread]]) -> list[tuple[ForgerySummary, Spread]]:
    """Return for each eps the configuration with the largest mean."""
    largest: dict[float, tuple[ForgerySummary, Spread]] = {}
    for row, spread in begun:
        if row.eps not in largest or spread.mean > largest[row.eps][1].mean:
            largest[row.eps] = (row, spread)
    return [largest[eps] for eps in sorted(largest)]
