"""The leakage attack: audit a watermarked forest in each of its forms, and score it against the claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import Attack, AttackOptions, AttackRow, Result, Scene, Streams
from wm.attacks.detection.guesses import score_guess
from wm.attacks.leakage.inspection import LeakageReport, inspect
from wm.attacks.leakage.margins import inspect_model
from wm.codebook import Marks, flat_bits, repeated


class Options(AttackOptions):
    """Audit of the model files: as trained, as released, and the honest forest's."""

    def refusal(self, *, trees_vote: bool) -> str:
        """Return nothing: files of every model are audited."""
        return ""


class Row(AttackRow):
    """One finding; a form without any has one row, named ``none``."""

    form: Literal["as trained", "released", "standard"]
    """``as trained``: all that scikit-learn keeps; ``released``: as handed out; ``standard``: honest."""
    finding: str
    """Name of the finding, see `Finding`."""
    severity: str
    """``critical``, ``high``, ``info``, or ``none``."""
    detail: str
    """Evidence in the file, with figures."""
    remedy: str
    """How to fix it."""
    bits: float | None
    """Share of the true signature that the form gives, up to complement; none where it gives none."""
    trigger_size: int | None
    """Number of trigger rows as the form gives it; none where it does not."""
    triggers_found: int
    """Trigger rows that land in a heavy leaf of every tree."""
    others_found: int
    """Other training rows that do."""


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Audit the forest as trained and as released, and the honest forest; of boosted models the last two."""
    if scene.models:
        reports = {form: inspect_model(model) for form, model in scene.models.items()}
    else:
        reports = {form: inspect(**file.arguments()) for form, file in scene.files.items()}
    return Result([row for form, report in reports.items() for row in _rows(form, report, scene)])


def _rows(form: str, report: LeakageReport, scene: Scene) -> Iterator[Row]:
    claim, X = scene.claim, scene.split.X_train
    secret = {row.tobytes() for row in claim.trigger_set.X}
    is_trigger = np.array([row.tobytes() in secret for row in X])
    found = report.membership(X) == 1.0
    common = {
        "form": form,
        "bits": None if report.signature is None else _score(report.signature, claim.bits),
        "trigger_size": report.trigger_size,
        "triggers_found": int(np.count_nonzero(found & is_trigger)),
        "others_found": int(np.count_nonzero(found & ~is_trigger)),
    }
    if not report.findings:
        nothing = {"finding": "none", "severity": "none", "detail": "nothing was found", "remedy": ""}
        yield Row.model_validate(common | nothing)
    for finding in report.findings:
        named = {"finding": finding.name, "severity": finding.severity.value}
        yield Row.model_validate(common | named | {"detail": finding.detail, "remedy": finding.remedy})


def _score(guess: NDArray[np.int64], marks: Marks) -> float:
    return score_guess(repeated(guess, marks), flat_bits(marks)).bits


ATTACK = Attack(
    kind="leakage",
    summary="Secrets in the model files of each watermark",
    options=Options,
    row=Row,
    run=run,
    draws=False,
)
