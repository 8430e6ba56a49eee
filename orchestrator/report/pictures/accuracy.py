"""Pictures of accuracy."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.report import alternatives
from orchestrator.report.figures.accuracy import Axis, accuracy_figure
from orchestrator.report.findings import Findings
from orchestrator.report.grid import repeats_of
from orchestrator.report.pictures.picture import Picture, origin, test_rows
from orchestrator.report.summaries import accuracy_summaries


def accuracy_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield accuracy over each coordinate that takes several values, or one picture if none does."""
    frame = findings.accuracy
    if frame.empty:
        return
    varying = [axis for axis in Axis if frame[axis.value].nunique() > 1]
    spread = (
        "Lines: means over repeats; small points: repeats; band and bars: one sample standard deviation."
        if repeats_of(frame) > 1
        else "One repeat only: the points have no spread."
    )
    for axis in varying or [Axis.TRIGGER_SHARE]:
        over = "trigger rows" if axis is Axis.TRIGGER_SHARE else "ones in the signature"
        yield Picture(
            name=f"accuracy-over-{axis.value.replace('_', '-')}",
            section="accuracy",
            title=f"Accuracy over the share of {over}",
            caption=(
                f"Accuracy by majority of votes on {test_rows(findings)}over the share of {over} (percent). "
                "Both other forests are honest: the standard one trained as tuned, the capped one with the "
                f"watermarked forest's limits on depth and leaves. {spread} The axis does not start at 0. "
                f"{origin(findings, repeats_of(frame))}"
            ),
            alternative=alternatives.accuracy(accuracy_summaries(frame)),
            figure=accuracy_figure(frame, axis),
        )
