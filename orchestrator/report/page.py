"""The report as one HTML file that needs nothing else, and its figures as files."""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

import wm
from orchestrator.errors import OutputError
from orchestrator.files import write_whole, writing
from orchestrator.report.charts import Figure
from orchestrator.report.data import Findings
from orchestrator.report.rendering import FORMATS, inline, own
from orchestrator.report.sections import cards, not_asked_for, sections
from orchestrator.report.table import MAX_ROWS
from orchestrator.report.wording import counted, declared
from orchestrator.store.campaigns import CampaignRecord, find_campaign
from orchestrator.store.database import Store


def write_report(store: Store, record: CampaignRecord, path: Path) -> None:
    """Write the report of a campaign in any state; the file depends on the store's content only.

    Raises
    ------
    OutputError
        The file cannot be written, as its directory does not exist.
    """
    with writing(path):
        path.parent.stat()  # before the charts are drawn, which takes seconds
    write_whole(path, report_html(Findings(store, record)).encode())


def report_html(findings: Findings) -> str:
    """Return the page."""
    found = list(sections(findings))
    about = declared()
    return (
        environment()
        .get_template("template.html.j2")
        .render(
            name=findings.record.name,
            state=findings.record.state.value,
            cards=cards(found),
            caveats=[text for _, shown in reversed(found) for text in shown.caveats],
            missing=not_asked_for(findings),
            parts=[(section, about.get(section.name, {}).get("lead", ""), shown) for section, shown in found],
            terms={
                section.name: tuple(
                    about.get(section.name, {}).get("terms", {}).items() if shown.tables else ()
                )
                for section, shown in found
            },
            style=own("page.css") + own("marks.css"),
            script=SCRIPT,
            policy=POLICY,
            version=wm.__version__,
            max_rows=MAX_ROWS,
        )
    )


def environment() -> Environment:
    """Return the environment of the templates in this package."""
    made = Environment(
        loader=PackageLoader("orchestrator.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["svg"] = lambda figure: inline(figure)  # looked up late: tests leave charts out
    made.globals["counted"] = counted
    return made


SCRIPT = own("tables.js") + own("marks.js")
_SCRIPT_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")

POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_SCRIPT_HASH}'"
"""The page's content security policy: no script but its own, nothing from outside."""


def figures_of(findings: Findings) -> list[Figure]:
    """Return every figure that a campaign's results allow, in the order of the page."""
    return [figure for _, shown in sections(findings) for figure in shown.figures]


def figures_in(store_url: str, campaign: str) -> dict[str, Figure]:
    """Return the figures of a campaign's report by name, for a notebook, which shows them as the page does.

    Parameters
    ----------
    store_url
        As `WM_STORE_URL` has it.
    campaign
        Name or id.

    Raises
    ------
    OrchestratorError
        There is no such store or campaign, or several have the name.
    """
    with closing(Store(store_url)) as store:
        store.check()
        findings = Findings(store, find_campaign(store, campaign))
        return {figure.name: figure for figure in figures_of(findings)}


def write_figures(store: Store, record: CampaignRecord, directory: Path) -> list[Path]:
    """Write all figures of a campaign in each of `FORMATS`, and their captions, and return the paths.

    The directory is made if it is missing; files of the same names are replaced.

    Raises
    ------
    OutputError
        The directory or a file cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise OutputError(f"{directory}: cannot be made ({reason.strerror or reason})") from reason
    figures = figures_of(Findings(store, record))
    paths = []
    for figure in figures:
        for name in FORMATS:
            paths.append(directory / f"{figure.name}.{name}")
            figure.save(paths[-1])
    if figures:
        paths.append(directory / "captions.txt")
        captions = "\n\n".join(f"{figure.name}: {figure.title}\n{figure.caption}" for figure in figures)
        write_whole(paths[-1], f"{captions}\n".encode())
    return paths
