"""The report as Markdown: what the page says, of one campaign or of several."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchestrator.report.data import Findings
from orchestrator.report.markdown import escaped, report_markdown
from orchestrator.report.sections import NOTHING_YET, cards, sections
from orchestrator.report.sections.section import Question
from orchestrator.report.wording import declared
from tests.orchestrator.report.conftest import Made


@pytest.fixture(scope="module")
def attacked_markdown(attacked: Findings) -> str:
    return report_markdown([attacked])


def _headings(text: str, level: int) -> list[str]:
    return re.findall(rf"^{'#' * level} (.*)$", text, re.MULTILINE)


def test_every_sentence_and_row_of_the_page_is_there(attacked: Findings, attacked_markdown: str) -> None:
    found = [one for one in sections(attacked) if one[0].name != "provenance"]
    assert _headings(attacked_markdown, 2) == [section.title for section, _ in found]
    assert not _headings(attacked_markdown, 3), "one campaign needs no heading of its own"
    for section, shown in found:
        assert escaped(declared().get(section.name, {}).get("lead", "")) in attacked_markdown
        for text in (shown.lead, *shown.caveats, *(text for _, text in shown.headline)):
            assert escaped(text) in attacked_markdown
        for table in shown.tables:
            for row in table.rows:
                line = " | ".join(
                    escaped(
                        f"{cell.text} ({cell.ends[0].text} to {cell.ends[1].text})"
                        if cell.ends
                        else cell.text
                    )
                    for cell in row
                )
                assert f"| {line} |" in attacked_markdown
            for title, cell in table.same:
                assert f"{escaped(title)} {escaped(cell.text)}" in attacked_markdown
    assert "nothing was forged" in attacked_markdown


def test_cards_of_the_page_are_a_table(paper: Findings, attacked: Findings) -> None:
    text = report_markdown([paper, attacked])
    rows = [line for line in text.splitlines() if re.match(r"\| (Is|What|Can|Does) [^|]*\? \|", line)]
    expected = [
        (card.question, one.record.name, answer)
        for one in (paper, attacked)
        for card in cards(sections(one))
        for _, answer in card.answers
    ]
    assert len(rows) == len(expected) > 5
    for question, name, answer in expected:
        begins = f"| {question} | {name} | {answer.grade.sign} {answer.grade} | "
        assert [
            line for line in rows if line.startswith(f"{begins}{escaped(f'{answer.number} {answer.of}')} |")
        ]
    assert [line.split("|")[1].strip() for line in rows] == sorted(
        (line.split("|")[1].strip() for line in rows), key=[str(one) for one in Question].index
    )


def test_tables_are_well_formed(attacked_markdown: str) -> None:
    for block in attacked_markdown.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("| "):
            assert re.fullmatch(r"\| (--- \| )*--- \|", lines[1])
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert attacked_markdown.count("<details>") == attacked_markdown.count("</details>") > 0


def test_several_campaigns_are_side_by_side_in_the_order_of_the_page(
    paper: Findings, attacked: Findings
) -> None:
    text = report_markdown([paper, attacked])
    shown, in_both = (_headings(report_markdown([each]), 2) for each in (attacked, paper))
    assert _headings(text, 2) == shown
    assert _headings(text, 3) == [
        name for title in shown for name in (["made-up"] if title in in_both else []) + ["attacked"]
    ]
    lead = declared()["suppression"]["lead"]
    assert text.count(escaped(lead)) == 1, "what an attack is, is said once"
    assert "| made-up | finished | breast-cancer | 7 |" in text


def test_campaign_without_results_says_so(nothing: Made) -> None:
    text = report_markdown([nothing.findings])
    assert "- **made-up**: This campaign is interrupted." in text
    assert text.count(NOTHING_YET) == len(re.findall(rf"^{re.escape(NOTHING_YET)}$", text, re.MULTILINE)) > 0


def test_hostile_texts_are_shown_as_they_are(small: Findings) -> None:
    hostile = "<script>a</script> | *b* `c` __d__ & e_f\n# g"
    assert escaped(hostile) == r"\<script>a\</script> \| \*b\* \`c\` \_\_d\_\_ \& e_f # g"
    named = replace(small, record=replace(small.record, name=hostile))
    text = report_markdown([named.with_frames(suppression=small.frame("suppression").assign(method=hostile))])
    assert "<script>" not in text.replace(r"\<script>", "")
    assert text.count(escaped(hostile)) > 5
