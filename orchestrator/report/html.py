"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.files import write_whole
from orchestrator.report import tables
from orchestrator.report.cells import MOST_ROWS, Table
from orchestrator.report.findings import Findings, gather
from orchestrator.report.glossary import GLOSSARY
from orchestrator.report.headline import NOT_ASKED, NOTHING_YET, Statement, caveats, headline
from orchestrator.report.pictures import Picture, all_pictures
from orchestrator.report.render import render
from orchestrator.report.summaries import (
    accuracy_summaries,
    detection_summaries,
    forgery_summaries,
    suppression_summaries,
)
from orchestrator.report.troubles import troubles
from orchestrator.report.wording import MISSING, counted, moment
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from workers.jobs import JobKind

_TEMPLATE = "template.html.j2"


@dataclass(frozen=True)
class _Shown:
    """A picture as the template embeds it."""

    name: str
    section: str
    title: str
    caption: str
    alternative: str
    source: str


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes
    ----------
    name, title
        Anchor and heading.
    lead
        A sentence before everything else: what it shows, or why it is empty.
    pictures, tables
        Content; empty tables are left out.
    """

    name: str
    title: str
    lead: str
    pictures: tuple[_Shown, ...]
    tables: tuple[Table, ...]


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


def _shown(picture: Picture) -> _Shown:
    # Behind a data address each picture keeps its element ids to itself: inline, those of several clash.
    content = render(picture.figure, "svg", title=picture.title)
    return _Shown(
        picture.name,
        picture.section,
        picture.title,
        picture.caption,
        picture.alternative,
        f"data:image/svg+xml;base64,{base64.b64encode(content).decode('ascii')}",
    )


def sections(findings: Findings, shown: list[_Shown]) -> list[Section]:
    """Return the results' sections in order."""
    several = findings.repeats > 1

    def section(name: str, title: str, lead: str, *contents: Table) -> Section:
        pictures = tuple(picture for picture in shown if picture.section == name)
        return Section(name, title, lead, pictures, tuple(table for table in contents if table.rows))

    def lead(kind: JobKind, is_empty: bool, text: str) -> str:
        if not findings.asks_for(kind):
            return NOT_ASKED
        return NOTHING_YET if is_empty else text

    accuracy, detection, forgery = findings.accuracy, findings.detection, findings.forgery
    return [
        section(
            "accuracy",
            "Accuracy",
            lead(
                JobKind.EMBED,
                accuracy.empty,
                "What the watermark costs, against two honest forests trained on the same rows: the "
                "standard one, "
                "and one with the watermarked forest's limits, which tells the cost of the limits "
                "from that of "
                "the flipped labels.",
            ),
            tables.accuracy_table(accuracy_summaries(accuracy)),
            tables.embeddings_table(accuracy),
        ),
        section(
            "verification",
            "Verification",
            lead(
                JobKind.EMBED,
                accuracy.empty,
                "Each claim held against its watermarked forest, and against the honest standard "
                "forest, where "
                "it should find nothing.",
            ),
            tables.verification_table(accuracy),
        ),
        section(
            "detection",
            "Detection",
            lead(
                JobKind.DETECTION,
                detection.empty,
                "Can the signature be read off the shape of the trees?",
            ),
            *((tables.detection_table(detection_summaries(detection)),) if several else ()),
            tables.detections_table(detection),
        ),
        section(
            "suppression",
            "Suppression",
            lead(
                JobKind.SUPPRESSION,
                findings.suppression.empty,
                "Can a thief spot the judge's trigger queries by their votes, and answer them differently?",
            ),
            tables.suppression_table(suppression_summaries(findings.suppression)),
        ),
        section(
            "forgery",
            "Forgery",
            lead(
                JobKind.FORGERY,
                forgery.empty,
                "Can a false owner make a trigger set of their own for the model? Each query asks "
                "for one forged "
                "instance within eps of a test row.",
            ),
            tables.forgery_table(forgery_summaries(forgery)),
            tables.undecided_table(forgery),
        ),
    ]


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
