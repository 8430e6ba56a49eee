"""Job kind `leakage`."""

from __future__ import annotations

import numpy as np

from wm.attacks.detection import score_guess
from wm.attacks.leakage import LeakageReport, inspect
from wm.claims.claim import Claim
from wm.datasets import Split
from wm.formats.npz_arrays import parse_arrays
from workers.handlers.inputs import read_claim, read_split
from workers.jobs import (
    BaselineResult,
    EmbedResult,
    JobKind,
    LeakageParameters,
    LeakageResult,
    LeakageRow,
)
from workers.runtime.context import Context


def run(parameters: LeakageParameters, context: Context) -> LeakageResult:
    """Audit the forest as trained and as released, and the honest one."""
    split, claim = read_split(context), read_claim(context)
    embedded = context.input(JobKind.EMBED, EmbedResult)
    forms = {
        "as trained": embedded.record,
        "released": embedded.forest,
        "standard": context.input(JobKind.BASELINE, BaselineResult).standard_record,
    }
    rows: list[LeakageRow] = []
    for form, sha256 in forms.items():
        report = inspect(**parse_arrays(context.artifact(sha256), what=form).arguments())
        rows += _rows(form, report, split, claim)
    return LeakageResult(rows=tuple(rows))


def _rows(form: str, report: LeakageReport, split: Split, claim: Claim) -> list[LeakageRow]:
    trigger_set = claim.trigger_set
    secret = {row.tobytes() for row in trigger_set.X}
    is_trigger = np.array([row.tobytes() in secret for row in split.X_train])
    found = report.membership(split.X_train) == 1.0
    common = {
        "form": form,
        "bits": None if report.signature is None else score_guess(report.signature, claim.bits).bits,
        "trigger_size": report.trigger_size,
        "triggers_found": int(np.count_nonzero(found & is_trigger)),
        "others_found": int(np.count_nonzero(found & ~is_trigger)),
    }
    if not report.findings:
        nothing = {"finding": "none", "severity": "none", "detail": "nothing was found", "remedy": ""}
        return [LeakageRow.model_validate(common | nothing)]
    return [
        LeakageRow.model_validate(
            common
            | {
                "finding": finding.name,
                "severity": finding.severity.value,
                "detail": finding.detail,
                "remedy": finding.remedy,
            }
        )
        for finding in report.findings
    ]
