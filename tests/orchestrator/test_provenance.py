"""What a campaign ran with, or that it cannot be found out."""

from __future__ import annotations

import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from orchestrator import provenance as module
from orchestrator.provenance import provenance
from tests import ending


def test_versions_and_machine_are_recorded():
    facts = provenance()
    assert facts["numpy"] == np.__version__
    assert facts["python"] == platform.python_version()
    assert set(facts) == {
        "python",
        "machine",
        "processor",
        "system",
        "revision",
        "numpy",
        "scipy",
        "scikit-learn",
        "z3-solver",
        "python-sat",
        "sqlalchemy",
    }
    assert all(isinstance(value, str) and value for value in facts.values())


def test_the_revision_is_that_of_this_source_tree():
    root = Path(module.__file__).resolve().parent.parent
    if (root / ".git").exists():
        head = ending.run(["git", "rev-parse", "HEAD"], cwd=root).stdout.strip()
        shown = re.fullmatch(r"(?:.*-g)?([0-9a-f]{12,})\+?", provenance()["revision"])
        assert shown is not None
        assert head.startswith(shown[1])
    else:
        assert provenance()["revision"] == "unknown"


def test_a_repository_around_an_installed_package_is_not_ours(tmp_path, monkeypatch):
    ending.run(["git", "init", "-q", tmp_path])
    (tmp_path / "site" / "orchestrator").mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "site" / "orchestrator" / "provenance.py"))
    assert provenance()["revision"] == "unknown"


@pytest.mark.parametrize("reason", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)])
def test_without_git_the_revision_is_unknown(monkeypatch, reason):
    def fail(*_, **__):
        raise reason

    monkeypatch.setattr(subprocess, "run", fail)
    assert provenance()["revision"] == "unknown"


def test_a_missing_library_is_unknown(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert provenance()["z3-solver"] == "unknown"


@pytest.fixture
def cpuinfo(monkeypatch):
    """Sets the text of /proc/cpuinfo; None on other systems."""
    read_text = Path.read_text

    def set_text(text):
        def read(path, *arguments, **options):
            if str(path) != "/proc/cpuinfo":
                return read_text(path, *arguments, **options)
            if text is None:
                raise FileNotFoundError(path)
            return text

        monkeypatch.setattr(Path, "read_text", read)

    return set_text


@pytest.mark.parametrize(
    ("text", "processor"),
    [("a: b\nmodel name\t: A CPU @ 3 GHz\nmodel name\t: B\n", "A CPU @ 3 GHz"), ("", "unknown")],
)
def test_the_processor_is_read_on_linux(cpuinfo, text, processor):
    cpuinfo(text)
    assert provenance()["processor"] == processor


def test_elsewhere_python_may_know_the_processor(cpuinfo, monkeypatch):
    cpuinfo(None)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert provenance()["processor"] == "arm"
