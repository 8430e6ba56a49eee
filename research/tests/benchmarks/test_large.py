"""The benchmark of large tables, on a small one."""

from __future__ import annotations

import json

from research.benchmarks import large


def test_every_way_is_measured(monkeypatch, capsys, tmp_path):
    """Called, not run as a program: its processes import the module by name."""
    words = [
        "large",
        "--rows",
        "1000",
        "--features",
        "6",
        "--trees",
        "20",
        "-o",
        str(tmp_path / "large.json"),
    ]
    monkeypatch.setattr("sys.argv", words)
    assert large.main() == 0
    rows = {row["way"]: row for row in json.loads((tmp_path / "large.json").read_text())["rows"]}
    assert list(rows) == list(large.WAYS)
    assert all(row["peak_mb"] >= row["data_mb"] > 50 and row["leaves"] > 10 for row in rows.values())
    assert [way for way, row in rows.items() if row["verify_s"] is not None] == ["paper"]
    assert "| scikit-learn | 1000 x 6 | 20 |" in capsys.readouterr().out
