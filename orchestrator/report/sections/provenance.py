"""The origin of the results."""

from __future__ import annotations

import json

import wm
from orchestrator.report.data import Findings
from orchestrator.report.sections.section import Shown
from orchestrator.report.wording import MISSING, counted, moment
from orchestrator.results import fingerprint


def show(findings: Findings) -> Shown:
    """Show campaign, data, versions and machine, and the whole specification."""
    record, split = findings.record, findings.split
    facts = [
        ("campaign", f"{record.name} (id {record.id}), {record.state.value}"),
        ("seed", str(record.seed)),
        ("specification (SHA-256)", findings.spec.sha256),
        ("results (fingerprint)", fingerprint(findings.store, record.id)),
        ("created", moment(record.created_at)),
        ("finished", MISSING if record.finished_at is None else moment(record.finished_at)),
        ("report written by", f"treeproof {wm.__version__}"),
        ("data set", findings.dataset),
    ]
    if split is not None:
        positive = [f" ({count:,} positive)" for count in (split.positive_train, split.positive_test)]
        classes = f"{split.class_names[0]} (negative), {split.class_names[-1]} (positive)"
        if len(split.class_names) > 2:
            positive, classes = ["", ""], ", ".join(split.class_names)
        rows = (
            f"{counted(split.rows_train, 'training row')}{positive[0]}, "
            f"{counted(split.rows_test, 'test row')}{positive[1]}, "
            f"{counted(split.features, 'feature')} ({split.constant_features:,} constant)"
        )
        facts += [("data set (SHA-256)", split.dataset_sha256), ("rows", rows), ("classes", classes)]
    facts += [(name, str(value)) for name, value in record.provenance.items()]
    spec = json.dumps(record.spec, indent=2, ensure_ascii=False)
    return Shown(facts=tuple(facts), details=(("Specification, defaults filled in", spec),))
