"""The section of claims counts verdicts as they are."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.sections.claims import verdict_summary

PLACE = {"scheme": "paper", "trigger_share": 0.02, "ones_share": 0.5}


def rows(*judged: tuple[str, int, str, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                **PLACE,
                "repeat": repeat,
                "claim": "true",
                "suspect": suspect,
                "answers": "model",
                "accuracy": 0.9,
                "verdict": verdict,
                "log10_p": log10_p,
                "shared_mistakes": None,
            }
            for suspect, repeat, verdict, log10_p in judged
        ]
    )


def test_verdicts_are_counted_by_suspect_and_answers():
    frame = rows(
        ("shuffled", 0, "verified", -14.0),
        ("shuffled", 1, "not verified", -1.0),
        ("honest", 0, "not verified", 0.0),
        ("honest", 0, "cannot be judged", 0.0),
    )
    found = verdict_summary(frame).set_index("suspect")
    assert found["verified"].to_dict() == {"shuffled": 1, "honest": 0}
    assert found["n"].to_dict() == {"shuffled": 2, "honest": 2}
    assert found.loc["shuffled", "log10_p_median"] == -7.5
    assert pd.isna(found.loc["honest", "shared_mistakes_mean"])
