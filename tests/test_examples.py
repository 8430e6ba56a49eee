"""What the README and public docstrings show is run here: examples that do not work are worse than none."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import shlex
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.core import UNSET

import wm
from orchestrator.cli import cli
from orchestrator.spec import parse_spec
from tests import ending
from tests.documents import DOCUMENTS, Block, blocks, matches

ROOT = Path(__file__).resolve().parent.parent
WITH_EXAMPLES = [
    "wm",
    "wm.api",
    "wm.attacks",
    "wm.attacks.hardness",
    "wm.codebook",
    "wm.embedding.estimator",
    "wm.embedding.options",
    "wm.engines",
    "wm.forest",
    "wm.formats.csv_cells",
    "wm.formats.export",
    "wm.signature",
]
STORIES = {
    document for document in DOCUMENTS if any(block.language == "console" for block in blocks(document))
}
"""Their programs belong to the commands around them: `tests/orchestrator/cli/test_story.py` runs both."""
PROGRAMS = {
    f"{document.relative_to(ROOT)}: {number}": (block, after.text if after.language == "text" else None)
    for document in DOCUMENTS
    if document not in STORIES
    for number, (block, after) in enumerate(pairwise([*blocks(document), Block("", "", 0)]))
    if block.language == "python"
}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_docstrings_do_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.FAIL_FAST)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(("block", "output"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_programs_in_the_documentation_run_and_print_what_is_shown(
    block, output, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, "program", "exec"), {"__name__": "program"})  # noqa: S102 - our own documentation
    if output is not None:
        assert matches(output, printed := capsys.readouterr().out), printed


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "gallery").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_the_gallery_has_a_program_its_output_and_its_picture(page):
    shown = [block.language for block in blocks(page)]
    if page.stem == "index":
        return
    assert shown == ["python", "text"]
    (picture,) = re.findall(r"!\[.+\]\((images/.*\.svg)\)", page.read_text())
    assert (page.parent / picture).is_file()
    assert f'"{Path(picture).name}"' in blocks(page)[0].text


def test_every_block_of_the_documentation_is_one_that_some_test_runs():
    languages = {block.language for document in DOCUMENTS for block in blocks(document)}
    assert {language for language in languages if not language.startswith("{")} <= {
        *("python", "console", "text", "toml", "sh", "")
    }


SHELL = [
    (f"{document.relative_to(ROOT)}:{block.line}", line)
    for document in DOCUMENTS
    for block in blocks(document)
    if block.language in ("sh", "")
    for line in re.sub(r"\s*\\\n\s*", " ", block.text).splitlines()
]


@pytest.mark.parametrize(
    ("place", "line"), [(place, line) for place, line in SHELL if re.match(r"(\$ )?wm ", line)]
)
def test_commands_that_need_more_than_a_test_has_are_written_right(place, line):
    """Their options and arguments are those of the command; they name servers and files of a reader."""
    words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
    command, context = cli, click.Context(cli, info_name="wm", **cli.context_settings)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"{place}: {line}"
        command, context = found, click.Context(found, info_name=words.pop(0), parent=context)
    if words and words[-1] == "&":
        words.pop()
    values, rest, _ = command.make_parser(context).parse_args(words)
    assert rest == [], f"{place}: {line}"
    for parameter in command.params:
        is_given = values.get(parameter.name or "") not in (None, UNSET, ())
        assert is_given or not parameter.required, f"{place}: {line} lacks {parameter.name}"


@pytest.mark.parametrize(
    ("place", "line"), [(place, line) for place, line in SHELL if re.match(r"(\$ )?make ", line)]
)
def test_targets_of_make_are_there(place, line):
    target = line.removeprefix("$ ").split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), f"{place}: {line}"


TABLES = {
    f"{document.relative_to(ROOT)}:{block.line}": block.text
    for document in DOCUMENTS
    for block in blocks(document)
    if block.language == "toml"
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_campaign_files_are_valid_and_fragments_fit_into_one(text):
    given = tomllib.loads(text)
    head = "" if "name" in given else 'name = "whole"\nseed = 1\n'
    missing = {
        "dataset": '[dataset]\nname = "breast-cancer"\n',
        "forest": "[forest]\nn_estimators = 70\n",
        "attack": '[[attack]]\nkind = "leakage"\n[[attack]]\nkind = "forgery"\neps = 0.3\n',
    }
    tail = "".join(part for name, part in missing.items() if name not in given)
    for name in (None, *given.get("profile", ())):
        assert parse_spec(f"{head}{text}\n{tail}", profile=name).attack


def test_the_readme_has_a_program_and_at_most_120_lines():
    assert any(name.startswith("README.md") for name in PROGRAMS)
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("name", sorted(set(wm.__all__) - {"__version__", "attacks", "engines"}))
def test_every_public_name_shows_how_it_is_used(name):
    assert ">>> " in getattr(wm, name).__doc__


def test_public_names_are_found_without_being_imported_and_others_are_not():
    assert set(wm.__all__) <= set(dir(wm))
    assert wm.Forest is importlib.import_module("wm.forest").Forest
    assert wm.hardness is importlib.import_module("wm.attacks.hardness")
    with pytest.raises(AttributeError, match="module 'wm' has no attribute 'nothing'"):
        wm.nothing  # noqa: B018 - that reading it fails is the point


def test_importing_wm_imports_nothing_that_its_names_need():
    code = (
        "import sys, wm; print(*sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'pydantic'}))"
    )
    done = ending.run([sys.executable, "-c", code], cwd=ROOT)
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", ["wm", "workers", "orchestrator"])
def test_the_packages_say_that_they_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def _cells(file):
    """Return the source and the stored outputs of each cell of code."""
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"]), cell["outputs"]


def _words(outputs):
    """Return the texts in the pictures among outputs, and their captions."""
    pictures = [
        "".join(text)
        for output in outputs
        for kind, text in output.get("data", {}).items()
        if kind != "text/plain"
    ]
    assert all("<svg" in picture for picture in pictures)
    return re.findall(r"<(?:text|figcaption)[^>]*>([^<]+)", "".join(pictures))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_prints_and_draws_what_it_shows(file, tmp_path, monkeypatch, capsys):
    """Its cells, without Jupyter; `make wheel` runs it with a kernel in an empty environment."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for source, stored in _cells(file):
        *lines, last = ast.parse(source).body
        if not isinstance(last, ast.Expr):
            lines, last = [*lines, last], None
        exec(compile(ast.Module(lines, []), file.name, "exec"), names)  # noqa: S102 - our own
        value = last and eval(compile(ast.Expression(last.value), file.name, "eval"), names)  # noqa: S307
        streams = (output["text"] for output in stored if output["output_type"] == "stream")
        assert capsys.readouterr().out == "".join(text for lines in streams for text in lines)
        drawn = "" if value is None else _drawn(value)
        assert _words(stored) == _words([{"data": {"image": drawn}}] if drawn else [])


def _drawn(value):
    """Return the picture of a value, as Jupyter shows it."""
    if hasattr(value, "_repr_html_") and not hasattr(value, "_repr_mimebundle_"):
        return value._repr_html_()
    return value._repr_mimebundle_()["image/svg+xml"]
