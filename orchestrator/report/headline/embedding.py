"""What was embedded, whether it verifies, and what it costs."""

from __future__ import annotations

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET
from orchestrator.report.summaries import Spread, points
from orchestrator.report.wording import counted, listed, p_value_of_log10, percent, ranged, signed
from workers.jobs import JobKind


def embedded(findings: Findings) -> str:
    """Tell what was embedded in what."""
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


def verified(findings: Findings) -> str:
    """Tell how the claims fare against their forests, and against honest ones."""
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


def cost(findings: Findings) -> str:
    """Tell what the watermarks cost in accuracy."""
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
