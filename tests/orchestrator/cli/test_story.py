"""The stories of the documentation, command by command, with their output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import orchestrator, worker
from tests import ending, forked
from tests.documents import DOCUMENTS, ROOT, Block, Step, blocks, matches, steps
from tests.imitations import Imitation, Served, mlflow_shares
from wm.claims.keys import public_hex, read_key
from wm.datasets import Source, load
from wm.forest import Forest

STORIES = [
    ("docs/verification.md",),
    ("docs/start/owner.md", "docs/start/judge.md"),
    ("docs/start/researcher.md",),
    ("docs/story-credit.md",),
    ("docs/story-pandas.md",),
]
"""Documents that are run in one directory, one after the other."""
OPERATOR = "docs/start/operator.md"
SERVERS = "docs/servers.md"
TABLES = "docs/tables.md"
WM = ["orchestrator.cli"]


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


@dataclass
class StoryRunner:
    """Runs the blocks of documents in the current directory."""

    wm: Callable[..., Any]
    places: Mapping[str, str] = field(default_factory=dict)
    """What to put in place of words in capitals, and of addresses."""
    outside: bool = False
    """Whether each `wm` is a process of its own, which closes its connections at its end."""
    environment: dict[str, str] = field(default_factory=lambda: os.environ | {"PYTHONPATH": str(ROOT)})
    background: list[forked.Process] = field(default_factory=list)

    def run_document(self, document: Path) -> int:
        """Run all blocks of a document and return the number of its commands and programs."""
        found = blocks(document)
        count = 0
        for number, block in enumerate(found):
            if block.language == "console":
                for step in steps(block):
                    self._run(step)
                    count += 1
            elif block.language == "python":
                after = found[number + 1] if number + 1 < len(found) else Block("", "", 0)
                self._program(block, after.text if after.language == "text" else "")
                count += 1
            elif block.language == "toml":
                name = block.text.split('"', 2)[1]
                Path(f"{name}.toml").write_text(block.text)
        return count

    def _run(self, step: Step) -> None:
        program, *arguments = shlex.split(step.command)
        arguments = [self._placed(word) for word in arguments]
        if program == "export":
            name, _, value = arguments[0].partition("=")
            self.environment[name] = value
        elif program == "python":
            ending.run([sys.executable, *arguments], env=self.environment)
        elif arguments[-1] == "&":
            self._start(arguments[:-1])
        else:
            assert program == "wm"
            ran = self._outside(arguments) if self.outside else self.wm(*arguments)
            assert ran.code == step.code, f"{step.command}: {ran.out}{ran.err}"
            assert matches(step.output, ran.out), f"{step.command} printed:\n{ran.out}"

    def _placed(self, word: str) -> str:
        if word == "NOTARY":
            return public_hex(read_key(Path("notary.key")))
        for name, value in self.places.items():
            word = re.sub(rf"\b{re.escape(name)}\b", lambda _found, value=value: value, word)
        return word

    def _outside(self, arguments: list[str]) -> Ran:
        done = forked.run(*WM, *arguments, env=self.environment, code=None)
        return Ran(done.returncode, done.stdout, done.stderr)

    def _start(self, arguments: list[str]) -> None:
        """Start a service and wait until the store knows it."""
        url = self.environment["WM_STORE_URL"]
        before = _services(url)
        self.background.append(forked.start(*WM, *arguments, env=self.environment))
        end = time.monotonic() + 120
        while _services(url) == before:
            assert self.background[-1].poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)

    def _program(self, block: Block, output: str) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"line {block.line}", "exec"), {"__name__": "program"})  # noqa: S102 - ours
        assert matches(output, printed.getvalue())


def _services(url: str) -> int:
    store = Store(url)
    count = sum(len(store.rows(sa.select(table.c.name))) for table in (worker, orchestrator))
    store.close()
    return count


@pytest.mark.parametrize("documents", STORIES, ids=lambda documents: documents[-1])
def test_the_story_happens_as_it_is_told(documents: tuple[str, ...], wm) -> None:
    runner = StoryRunner(wm)
    assert sum(runner.run_document(ROOT / document) for document in documents) >= 5


def test_the_operators_story_happens_as_it_is_told(wm, postgres_url: str, broker_url: str) -> None:
    runner = StoryRunner(wm, {"POSTGRES": postgres_url, "BROKER": broker_url}, outside=True)
    try:
        assert runner.run_document(ROOT / OPERATOR) > 8
    finally:
        for process in runner.background:
            process.terminate()
        codes = [process.wait(60) for process in runner.background]
    assert codes == [0, 0]


def test_the_story_of_a_model_behind_a_server_happens_as_it_is_told(wm) -> None:
    """With an imitation of the server; `make interop` tells it with the real one."""
    names = tuple(load(Source(name="breast-cancer")).feature_names)
    copy = Served(lambda rows: Forest.load("mine/forest.npz").vote_shares(rows), names)
    with Imitation(copy, mlflow_shares, "") as server:
        assert StoryRunner(wm, {"http://127.0.0.1:5001": server.url}).run_document(ROOT / SERVERS) > 7
    assert Path("model.joblib").exists()


def test_forests_of_several_classes_are_judged_as_documented(wm) -> None:
    assert StoryRunner(wm, {}).run_document(ROOT / TABLES) == 3


def test_every_document_with_commands_and_output_is_told() -> None:
    with_console = {
        str(path.relative_to(ROOT))
        for path in DOCUMENTS
        if any(block.language == "console" for block in blocks(path))
    }
    assert with_console == {OPERATOR, SERVERS, TABLES, *(document for story in STORIES for document in story)}
