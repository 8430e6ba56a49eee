"""Run a benchmark as its docstring says, at its smallest size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run_benchmark(tmp_path):
    """``run(name, *words)``: what it printed, its exit code checked, and the results it kept."""

    def run(name, *words):
        output = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", f"research.benchmarks.{name}", *map(str, words), "-o", str(output)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        document = json.loads(output.read_text())
        assert document["machine"]
        assert document["cores"] >= 1
        assert document["date"]
        assert document["arguments"]["seed"] == 1
        return done.stdout, document

    return run
