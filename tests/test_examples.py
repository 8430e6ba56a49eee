"""What the README and public docstrings show is run here: examples that do not work are worse than none."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wm

ROOT = Path(__file__).resolve().parent.parent
WITH_EXAMPLES = [
    "wm",
    "wm.api",
    "wm.attacks",
    "wm.attacks.hardness",
    "wm.embedding.estimator",
    "wm.embedding.options",
    "wm.engines",
    "wm.forest",
    "wm.formats.csv_cells",
    "wm.signature",
]
PROGRAMS = {
    f"{file.name}: {number}": code
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", file.read_text(), re.M | re.S))
}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_docstrings_do_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.FAIL_FAST)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_the_programs_in_the_documentation_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "program", "exec"), {"__name__": "program"})  # noqa: S102 - our own documentation


def test_the_readme_has_a_program():
    assert any(name.startswith("README.md") for name in PROGRAMS)


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
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", ["wm", "workers", "orchestrator"])
def test_the_packages_say_that_they_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()
