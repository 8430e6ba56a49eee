"""The code blocks of the documentation, for the tests that run them."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(r"^```([\w-]*|\{[\w-]+\}[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language ("" if none is named), its text, and the line where it begins."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Step:
    """A command of a console block, with its exit code and its output."""

    command: str
    code: int
    output: str


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)
    ]


def steps(block: Block) -> Iterator[Step]:
    """Yield each command of a console block; ``# exit N`` after it is its exit code."""
    text = re.sub(r"\s*\\\n\s*", " ", block.text)  # a command on several lines
    for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = step.partition("\n")
        command, _, code = line.partition(" # exit ")
        yield Step(command.strip(), int(code or 0), output)


def matches(wanted: str, printed: str) -> bool:
    """Return whether a program printed what a document shows, where "..." stands for anything."""
    return doctest.OutputChecker().check_output(wanted, printed, _LOOSE)
