"""The tables of docs/schemes.md say what the scoreboards say."""

from __future__ import annotations

import json

import pytest

from research import scoreboard
from research.scoreboard import Row, evidence

LINE = {
    "scheme": "paper",
    "dataset": "d",
    "attack": "none",
    "strength": None,
    "accuracy_change": -0.014,
    "accuracy_change_std": 0.012,
    "log10_p": -20.04,
    "log10_p_min": -21.6,
    "log10_p_max": -20.03,
    "auc": None,
    "tpr_at_1pct_fpr": None,
    "bits": None,
    "null_bits": None,
    "repeats": 10,
}


def row(**changes):
    return Row(**(LINE | changes))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((-20.04, -21.6, -20.03), "-20 (-22 to -20)"),
        ((-20.04, -20.4, -19.6), "-20"),
        ((-6.04, -6.1, -5.9), "-6.0 (-6.1 to -5.9)"),
        ((-5.9, -9.94, -0.04), "**-5.9** (-9.9 to 0)"),
        ((-9.96, -9.96, -9.96), "-10"),
        ((-4000.0, -4000.0, -4000.0), "-4000"),
        ((0.0, 0.0, 0.0), "**0**"),
        ((None, None, None), ""),
    ],
)
def test_evidence_is_the_median_with_its_ends(values, text):
    middle, low, high = values
    assert evidence(row(log10_p=middle, log10_p_min=low, log10_p_max=high)) == text


def test_what_was_not_measured_is_empty():
    assert evidence(None) == ""


def test_a_table_has_what_its_campaigns_have(tmp_path):
    rows = [
        LINE,
        LINE | {"scheme": "lineup", "log10_p": -90.0},
        LINE | {"attack": "modification: shuffle", "strength": 1.0, "log10_p": -3.0},
        LINE | {"attack": "modification: shuffle", "strength": 0.5, "log10_p": -4.0},
        LINE
        | {
            "attack": "suppression: shadow",
            "auc": 0.97,
            "tpr_at_1pct_fpr": 0.5,
            "bits": 0.9,
            "null_bits": 0.65,
        },
    ]
    for name in scoreboard.DATASETS["ijcnn1"]:
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    text = scoreboard.write("before\n\n<!-- scoreboard: ijcnn1 -->\n| old |\n\nafter\n", tmp_path)
    assert "| old |" not in text
    assert text.startswith(
        "before\n\n<!-- scoreboard: ijcnn1 -->\n| log10 p, median (min to max) of 10 repeats |"
    )
    assert text.endswith("|\n\nafter\n")
    assert "| none | -20 (-22 to -20) |  |  | -90 (-22 to -20) |" in text
    assert "| all trees shuffled | **-3.0** (-22 to -20) |" in text
    assert "by 0.3" not in text
    assert "0.97; 50%" in text
    assert "| +25 |" in text


def test_the_document_is_that_of_the_scoreboards():
    written = scoreboard.DOCUMENT.read_text()
    assert written.count("<!-- scoreboard: ") == len(scoreboard.DATASETS)
    assert written == scoreboard.write(written)
