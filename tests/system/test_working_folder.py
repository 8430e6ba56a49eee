"""Nothing in the folder where the command is called is run as code, by itself or by its child processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import ending

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]

CAMPAIGN = """
name = "c"
seed = 1
dataset.name = "breast-cancer"
forest = { n_estimators = 4, max_depth = 3 }
embedding.trigger_share = 0.01

[[attack]]
kind = "forgery"
engine = "sat"
eps = 0.3
signatures = 1
"""


def test_files_named_as_modules_are_not_imported(tmp_path):
    ran = tmp_path / "ran"
    for name in ("numpy.py", "random.py", "workers/__init__.py", "sklearn/__init__.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            f"with open({str(ran)!r}, 'a') as file:\n"
            f"    print({name!r}, file=file)\n"
            "raise ImportError('a file of the folder')\n"
        )
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    command = [sys.executable, "-P", "-m", "orchestrator.cli", "campaign", "run", "c.toml", "--workers", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = ending.run(command, cwd=tmp_path, env=environment, code=None)
    assert not ran.exists(), ran.read_text()
    assert done.returncode == 0, done.stderr


def test_every_launcher_leaves_the_folder_out_of_the_path():
    for launcher in ("scripts/setup.sh", "Dockerfile"):
        text = (ROOT / launcher).read_text()
        assert "-P -m orchestrator.cli" in text
        assert "python -m orchestrator.cli" not in text
