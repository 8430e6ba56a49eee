"""The document says what the results say, and leaves out what is missing."""

from __future__ import annotations

from research.benchmarks import common, document
from wm import engines


def test_sections_of_the_results_that_are_there(run_benchmark, tmp_path):
    empty = document.write(tmp_path)
    assert empty.startswith("# Benchmarks\n")
    assert "## " not in empty.replace("# Benchmarks", "")
    run_benchmark("fuzz", "--count", 16)
    text = document.write(tmp_path)
    count = len(engines.names())
    assert f"16 queries, each put to {count} engines and to brute force: 0 disagreements" in text
    assert "## Growing" not in text


def test_the_document_is_that_of_the_results():
    written = (common.ROOT / "docs" / "benchmarks.md").read_text()
    assert written == document.write(common.RESULTS)
