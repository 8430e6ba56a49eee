"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.files import write_whole
from orchestrator.report.cells import MOST_ROWS
from orchestrator.report.findings import Findings, gather
from orchestrator.report.glossary import GLOSSARY
from orchestrator.report.headline import Statement, caveats, headline
from orchestrator.report.pictures import Picture, all_pictures
from orchestrator.report.render import render
from orchestrator.report.sections import Shown, sections
from orchestrator.report.troubles import troubles
from orchestrator.report.wording import MISSING, counted, moment
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_TEMPLATE = "template.html.j2"


def write_report(
    store: Store, record: CampaignRecord, path: Path, *, generated: datetime | None = None
) -> None:
    """Write a campaign's report.

    Parameters
    ----------
    store, record
        The campaign, in whatever state.
    path
        File to write; its directory must exist.
    generated
        Moment to print as the report's own; without it the file depends on the store's content only.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    write_whole(path, report_html(gather(store, record), generated=generated).encode())


def report_html(findings: Findings, *, generated: datetime | None = None) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("orchestrator.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    record = findings.record
    return environment.get_template(_TEMPLATE).render(
        name=record.name,
        state=record.state.value,
        caveats=caveats(findings),
        headline=headline(findings),
        sections=sections(findings, [_shown(picture) for picture in all_pictures(findings)]),
        troubles=troubles(findings.jobs),
        provenance=provenance(findings),
        spec=json.dumps(record.spec, indent=2, ensure_ascii=False),
        glossary=GLOSSARY,
        most_rows=MOST_ROWS,
        generated=None if generated is None else moment(generated.astimezone(UTC).timestamp()),
    )


def _shown(picture: Picture) -> Shown:
    # Behind a data address each picture keeps its element ids to itself: inline, those of several clash.
    content = render(picture.figure, "svg", title=picture.title)
    return Shown(
        picture.name,
        picture.section,
        picture.title,
        picture.caption,
        picture.alternative,
        f"data:image/svg+xml;base64,{base64.b64encode(content).decode('ascii')}",
    )


def provenance(findings: Findings) -> list[Statement]:
    """Return where the results come from."""
    record, split = findings.record, findings.split
    finished = MISSING if record.finished_at is None else moment(record.finished_at)
    lines = [
        Statement("campaign", f"{record.name} (id {record.id}), {record.state.value}"),
        Statement("seed", str(record.seed)),
        Statement("specification (SHA-256)", findings.spec.sha256),
        Statement("results (fingerprint)", findings.fingerprint),
        Statement("created", moment(record.created_at)),
        Statement("finished", finished),
        Statement("data set", findings.dataset),
    ]
    if split is not None:
        lines += [
            Statement("data set (SHA-256)", split.dataset_sha256),
            Statement(
                "rows",
                f"{counted(split.rows_train, 'training row')} ({split.positive_train:,} positive), "
                f"{counted(split.rows_test, 'test row')} ({split.positive_test:,} positive), "
                f"{counted(split.features, 'feature')} ({split.constant_features:,} constant)",
            ),
            Statement("classes", f"{split.class_names[0]} (negative), {split.class_names[1]} (positive)"),
        ]
    return lines + [Statement(name, str(value)) for name, value in record.provenance.items()]
