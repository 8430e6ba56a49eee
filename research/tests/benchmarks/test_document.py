"""The document says what the results say, and leaves out what is missing."""

from __future__ import annotations

from research.benchmarks import document


def test_sections_of_the_results_that_are_there(run_benchmark, tmp_path):
    assert document.write(tmp_path) == document.INTRODUCTION
    run_benchmark("fuzz", "--count", 16)
    text = document.write(tmp_path)
    assert "16 queries, each put to 6 engines and to brute force: 0 disagreements" in text
    assert "## Growing" not in text
