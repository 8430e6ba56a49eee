"""The report as Markdown: sentences and tables, no figures, of one campaign or several side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

import wm
from orchestrator.files import write_whole
from orchestrator.report.data import Findings
from orchestrator.report.sections import SECTIONS, Section, Shown, cards, sections
from orchestrator.report.sections.section import Question
from orchestrator.report.table import Cell, Table
from orchestrator.report.wording import MISSING, counted, declared, listed
from orchestrator.results import fingerprint
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_LEFT_TO_THE_PAGE = "provenance"
"""Machine, versions and the whole specification: of them the overview has what tells results apart."""

_DIGITS = 16
"""Of hashes: enough to tell campaigns apart."""

_MARKUP = re.compile(r"[\\`*<|&]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown would not show as it is; an underscore within a word it does."""


def write_markdown(store: Store, records: Sequence[CampaignRecord], path: Path) -> None:
    """Write a report on campaigns of a store, in any state, into a file whose directory must exist.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    write_whole(path, report_markdown([Findings(store, record) for record in records]).encode())


def report_markdown(campaigns: Sequence[Findings]) -> str:
    """Return the report, section by section, each with what every campaign says of it."""
    shown = [(one.record.name, list(sections(one))) for one in campaigns]
    blocks = list(_beginning(campaigns))
    blocks.append(_overview(shown))
    blocks.append(_list((name, text) for name, parts in shown for _, part in parts for text in part.caveats))
    found = {section.name: section for _, parts in shown for section, _ in parts}
    for section in sorted(found.values(), key=_place):
        if section.name != _LEFT_TO_THE_PAGE:
            mine = [(name, part) for name, parts in shown for one, part in parts if one.name == section.name]
            blocks += _section(section, mine, is_one_of_many=len(campaigns) > 1)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _place(section: Section) -> tuple[bool, int]:
    """Return a key that sorts sections as those of one campaign; attacks without one follow the others."""
    names = [one.name for one in SECTIONS]
    return not section.kind, names.index(section.name) if section.name in names else len(names)


def _beginning(campaigns: Sequence[Findings]) -> Iterator[str]:
    names = [one.record.name for one in campaigns]
    yield f"# Watermark report: {escaped(listed(names))}"
    yield (
        f"Written by treeproof {wm.__version__}, `wm report CAMPAIGN... -o FILE.md`, from the campaigns' "
        "results alone. Tables give the mean or the median of a sample, as the heading says, with the "
        "smallest and the largest value in brackets; n is its size. The repeats of a campaign share a "
        "split of the data, but have different seeds of owner and attacker. Figures, the whole "
        "specification, versions and machine are in the HTML report (`-o FILE.html`)."
    )
    rows = [
        (
            one.record.name,
            one.record.state.value,
            one.dataset,
            str(one.record.seed),
            one.record.spec_sha256[:_DIGITS],
            fingerprint(one.store, one.record.id)[:_DIGITS],
        )
        for one in campaigns
    ]
    titles = ("Campaign", "State", "Data set", "Seed", "Specification (SHA-256)", "Results (fingerprint)")
    yield table(titles, [[escaped(text) for text in row] for row in rows])


def _overview(shown: Sequence[tuple[str, list[tuple[Section, Shown]]]]) -> str:
    """Return the page's cards as a table: questions in their order, the worst answer of each first."""
    rows = [
        (
            question.value,
            name,
            f"{answer.grade.sign} {answer.grade}",
            f"{answer.number} {answer.of}",
            answer.spread or MISSING,
            section.title,
        )
        for question in Question
        for name, parts in shown
        for card in cards(parts)
        if card.question is question
        for section, answer in card.answers
    ]
    titles = ("Question", "Campaign", "Grade", "Answer", "Spread", "Section")
    return table(titles, [[escaped(text) for text in row] for row in rows]) if rows else ""


def _section(section: Section, parts: Sequence[tuple[str, Shown]], *, is_one_of_many: bool) -> Iterator[str]:
    about = declared().get(section.name, {})
    yield f"## {escaped(section.title)}"
    yield escaped(about.get("lead", ""))
    if any(part.tables for _, part in parts):
        yield _list(about.get("terms", {}).items())
    for name, part in parts:
        yield f"### {escaped(name)}" if is_one_of_many else ""
        yield escaped(part.lead)
        yield _list(pair for pair in part.headline if pair[1] != part.lead)
        yield _list(part.facts)
        yield from (_table(one) for one in part.tables if one.rows)


def _list(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- **{escaped(term)}**: {escaped(text)}" for term, text in pairs)


def _table(shown: Table) -> str:
    same = "; ".join(f"{escaped(title)} {_cell(cell)}" for title, cell in shown.same)
    cells = [[_cell(cell) for cell in row] for row in shown.rows]
    parts = [
        f"**{escaped(shown.caption)}.**",
        f"In every row: {same}." if same else "",
        table([escaped(column.title) for column in shown.columns], cells),
        f"{counted(shown.left_out, 'more row')} in the store: `wm results`." if shown.left_out else "",
    ]
    if shown.is_long:
        parts[0] = f"<details><summary>{escape(shown.caption)} ({len(cells)} rows)</summary>"
        parts.append("</details>")
    return "\n\n".join(part for part in parts if part)


def _cell(cell: Cell) -> str:
    ends = " to ".join(end.text for end in cell.ends)
    return escaped(f"{cell.text} ({ends})" if ends else cell.text)


def escaped(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts in Markdown, one for each title in each row."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, ["---"] * len(titles), *rows))
