"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a row has a text for each column."""
    return "\n".join(
        [
            _line(columns),
            _line(["---"] * len(columns)),
            *(_line(row) for row in rows),
        ]
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def picture(caption: str, path: str) -> str:
    """Return an image with its caption below."""
    alternative = caption.replace("[", "(").replace("]", ")")
    return f"![{alternative}]({path})\n\n*{caption}*"
