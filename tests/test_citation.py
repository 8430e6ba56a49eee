"""`CITATION.cff` is what tools read it as, and names the version that is installed."""

from __future__ import annotations

from pathlib import Path

import yaml

import wm

CITATION = Path(__file__).resolve().parent.parent / "CITATION.cff"


def test_the_citation_is_of_this_version_and_names_the_paper():
    cited = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["title"].startswith("treeproof")
    assert cited["version"] == wm.__version__
    assert [paper["title"] for paper in cited["references"]] == ["Watermarking Decision Tree Ensembles"]
