"""Run a benchmark as its docstring says, at its smallest size."""

from __future__ import annotations

import json
import runpy
import sys
import warnings

import pytest


@pytest.fixture
def run_benchmark(tmp_path, monkeypatch, capsys):
    """``run(name, *words)``: what it printed, its exit code checked, and the results it kept.

    As with ``python -m``, but in this process, where all that it imports is there already.
    """

    def run(name, *words):
        output = tmp_path / f"{name}.json"
        module = f"research.benchmarks.{name}"
        monkeypatch.setattr(sys, "argv", [module, *map(str, words), "-o", str(output)])
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "'research.benchmarks", RuntimeWarning)  # imported before
            code = None
            try:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            except SystemExit as left:
                code = left.code
        assert not code, capsys.readouterr().err
        document = json.loads(output.read_text())
        assert document["machine"]
        assert document["cores"] >= 1
        assert document["date"]
        assert document["arguments"]["seed"] == 1
        return capsys.readouterr().out, document

    return run
