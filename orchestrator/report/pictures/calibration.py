"""Pictures of calibration, each beside the p-values that it is about."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.report import alternatives
from orchestrator.report.calibrated import VERIFY
from orchestrator.report.figures.calibration import calibration_figure
from orchestrator.report.findings import Findings
from orchestrator.report.pictures.picture import Picture
from orchestrator.report.wording import listed


def calibration_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield false-positive rates of the p-values of verification, and of those of detection."""
    frame = findings.calibration
    of_verification = frame["p_value"].astype(str).str.startswith(VERIFY).astype(bool)
    beside_detection = "detection" if findings.asks_for("detection") else "calibration"
    for name, section, what, part in (
        ("verification", "verification", "verification", frame[of_verification]),
        ("detection", beside_detection, "detection", frame[~of_verification]),
    ):
        if part.empty:
            continue
        sizes = part.groupby("population", sort=False)["trials"].max()
        yield Picture(
            name=f"calibration-{name}",
            section=section,
            title=f"False positives of the p-values of {what}",
            caption=(
                f"How often each p-value of {what} was at most 5%, 1% and 0.1% although the claim was false: "
                f"rates in percent with exact 95% intervals (Clopper-Pearson), over "
                f"{listed(f'{count:,} forests ({population})' for population, count in sizes.items())}. A "
                "rate should not be above its level (dashed); ringed, with bold names: those that are, "
                "beyond what chance explains, all rates of the campaign taken together. Honest forests carry "
                "no mark, other owners' carry another one; each is held against a signature and trigger set "
                f"it has never seen. Data set {findings.dataset}; campaign {findings.record.name}, seed "
                f"{findings.record.seed}."
            ),
            alternative=alternatives.calibration(part),
            figure=calibration_figure(part),
        )
