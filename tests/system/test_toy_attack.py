"""An attack is added in one place: a package's module of forty lines runs from campaign file to report."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

import pytest

from tests import ending, toy_attack

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]

CAMPAIGN = """
name = "toy"
seed = 5
dataset = { name = "breast-cancer" }
forest = { n_estimators = 8, max_depth = 4 }
embedding = { training = "per-tree", repeats = 2 }

[[attack]]
kind = "lean"
sample = 30
"""


@pytest.fixture
def wm(tmp_path):
    """Run the command where a package with the toy attack is installed; its exit code must be as given."""
    package = tmp_path / "site"
    (package / "lean-1.0.dist-info").mkdir(parents=True)
    (package / "lean.py").write_text(Path(toy_attack.__file__).read_text())
    (package / "lean-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lean\nVersion: 1.0\n"
    )
    (package / "lean-1.0.dist-info" / "entry_points.txt").write_text(
        "[treeproof.attacks]\nlean = lean:ATTACK\n"
    )
    (tmp_path / "toy.toml").write_text(CAMPAIGN)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}

    def run(*words, code=0, path=environment["PYTHONPATH"]):
        command = [sys.executable, "-m", "orchestrator.cli", *map(str, words)]
        done = ending.run(command, cwd=tmp_path, env=environment | {"PYTHONPATH": path}, code=code)
        return done.stdout + (done.stderr if code else "")

    return run


def test_a_toy_attack_of_forty_lines_runs_from_file_to_report(wm, tmp_path):
    code = [line for line in Path(toy_attack.__file__).read_text().splitlines() if line.strip()]
    assert len(code) <= 40
    wm("campaign", "run", "toy.toml", "--workers", "1")
    rows = json.loads(wm("results", "lean", "toy", "--json"))
    assert len(rows) == 2 * 8
    assert list(rows[0]) == ["scheme", "trigger_share", "ones_share", "repeat", "tree", "lean", "bit"]
    assert [row["lean"] for row in rows[:8]] == sorted((row["lean"] for row in rows[:8]), reverse=True)
    wm("results", "lean", "toy", "-o", "lean.csv")
    with (tmp_path / "lean.csv").open() as file:
        assert [int(row["tree"]) for row in csv.DictReader(file)] == [row["tree"] for row in rows]
    wm("report", "toy", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert toy_attack.ATTACK.summary in page
    assert "How far each tree leans" in wm("results", "--help")


def test_what_ran_is_shown_where_the_package_is_not_installed(wm, tmp_path):
    """It was a traceback of pydantic."""
    wm("campaign", "run", "toy.toml", "--workers", "1")
    shown = wm("campaign", "show", "toy", path=str(ROOT))
    assert [line.split() for line in shown.splitlines() if "attack.0.sample" in line] == [
        ["attack.0.sample", "30"]
    ]
    whole = json.loads(wm("campaign", "show", "toy", "--json"))
    assert whole["spec_sha256"] in shown
    wm("report", "toy", "-o", "report.md", path=str(ROOT))
    assert "Results of the attack lean. 16 rows on 2 forests." in (tmp_path / "report.md").read_text()
    assert json.loads(wm("results", "schemes", "toy", "--json", path=str(ROOT)))
    missing = wm("results", "lean", "toy", code=2, path=str(ROOT))
    assert "no results 'lean'" in missing
    assert "need its package installed" in missing
    refused = wm("campaign", "rename", "toy", "other", code=2, path=str(ROOT))
    assert refused == "wm: attack 'lean' is not installed here\n"


def test_mistakes_in_its_table_are_reported_with_their_lines(wm, tmp_path):
    (tmp_path / "toy.toml").write_text(CAMPAIGN.replace("sample = 30", "sample = 0\nsimple = 1"))
    output = wm("campaign", "validate", "toy.toml", code=2)
    assert "toy.toml:10: attack.0.sample: input should be greater than or equal to 1 (got 0)" in output
    assert "toy.toml:11: attack.0.simple: unknown key" in output
