"""The report as one HTML file that needs nothing else, and its figures as files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

import wm
from orchestrator.errors import OutputError
from orchestrator.files import write_whole, writing
from orchestrator.report.charts import FORMATS, Figure, render
from orchestrator.report.data import Findings
from orchestrator.report.sections import Shown, not_asked_for, sections
from orchestrator.report.table import MAX_ROWS
from orchestrator.report.wording import declared, moment
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_HERE = Path(__file__).parent


def write_report(store: Store, record: CampaignRecord, path: Path, generated: datetime | None = None) -> None:
    """Write a campaign's report.

    Parameters
    ----------
    store, record
        The campaign, in any state.
    path
        File to write; its directory must exist.
    generated
        Moment to print; without it the file depends on the store's content only.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with writing(path):
        path.parent.stat()  # before the charts are drawn, which takes seconds
    write_whole(path, report_html(Findings(store, record), generated).encode())


def report_html(findings: Findings, generated: datetime | None = None) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("orchestrator.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = _address
    script = (_HERE / "tables.js").read_text(encoding="utf-8")
    return environment.get_template("template.html.j2").render(
        name=findings.record.name,
        state=findings.record.state.value,
        parts=list(_parts(findings)),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        version=wm.__version__,
        max_rows=MAX_ROWS,
        generated=None if generated is None else moment(generated.astimezone(UTC).timestamp()),
    )


def _parts(findings: Findings) -> Iterator[tuple[str, str, str, Shown]]:
    """Yield name, title, first sentences and content of each part: the sections between summary and terms."""
    found = list(sections(findings))
    headline = [line for _, shown in found for line in shown.headline]
    if missing := not_asked_for(findings):
        headline.append(("Not part of this campaign", f"{missing}."))
    caveats = tuple(text for _, shown in reversed(found) for text in shown.caveats)
    yield "summary", "Summary", "", Shown(facts=tuple(headline), caveats=caveats)
    terms: list[tuple[str, str]] = []
    for section, shown in found:
        about = declared().get(section.name, {})
        yield section.name, section.title, f"{about.get('lead', '')} {shown.lead}".strip(), shown
        if shown.tables:
            terms += about.get("terms", {}).items()
    yield "reading", "How to read this", "", Shown(facts=tuple(terms))


def _address(figure: Figure) -> str:
    # Behind a data address each figure keeps its element ids to itself: inline, those of several clash.
    content = base64.b64encode(render(figure.draw(), "svg")).decode("ascii")
    return f"data:image/svg+xml;base64,{content}"


def figures_of(findings: Findings) -> list[Figure]:
    """Return every figure that a campaign's results allow, in the order of the page."""
    return [figure for _, shown in sections(findings) for figure in shown.figures]


def write_figures(
    store: Store, record: CampaignRecord, directory: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write all figures of a campaign, and their captions, and return the paths.

    Parameters
    ----------
    store, record
        The campaign.
    directory
        Made if it is missing; files of the same names are replaced.
    formats
        Some of ``png``, ``svg``, ``pdf``.

    Raises
    ------
    OutputError
        A format that is not known, or a file that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise OutputError(f"unknown figure format {unknown[0]!r}; known are: {', '.join(FORMATS)}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise OutputError(f"{directory}: cannot be made ({reason.strerror or reason})") from reason
    figures = figures_of(Findings(store, record))
    paths = []
    for figure in figures:
        for name in formats:
            paths.append(directory / f"{figure.name}.{name}")
            write_whole(paths[-1], render(figure.draw(), name, description=figure.alt_text))
    if figures:
        paths.append(directory / "captions.txt")
        captions = "\n\n".join(f"{figure.name}: {figure.title}\n{figure.caption}" for figure in figures)
        write_whole(paths[-1], f"{captions}\n".encode())
    return paths
