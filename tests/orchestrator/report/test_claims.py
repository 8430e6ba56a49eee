"""The section of claims counts verdicts as they are."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.data import Findings
from orchestrator.report.sections.claims import show, verdict_answers, verdict_summary
from orchestrator.report.sections.section import Grade

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


JUDGED = rows(
    ("as released", 0, "verified", -14.0),
    ("as released", 1, "verified", -14.0),
    ("as released", 2, "not verified", -2.0),
    *((name, 0, "verified", -14.0) for name in ("shuffled", "renamed", "dropped")),
    ("shuffled", 1, "not verified", -1.0),
    ("renamed", 1, "verified", -14.0),
    ("dropped", 1, "not verified", -1.0),
    *((name, 2, "not verified", -2.0) for name in ("shuffled", "renamed", "dropped")),
)


def test_changed_copies_are_those_of_verified_forests(attacked: Findings):
    """A copy that is verified in some forests was said to evade in all; the forest itself was a copy."""
    honest = rows(("honest", 0, "not verified", 0.0))
    (survives, _) = verdict_answers(pd.concat([JUDGED, honest], ignore_index=True))
    assert (survives.number, survives.grade) == ("4 of 6", Grade.MIXED)
    said = dict(show(attacked.with_frames(claims=pd.concat([JUDGED, honest]))).headline)["Claims"]
    assert said.startswith(
        "By the model itself, 4 of 6 changed copies of forests that are verified as released are verified; "
        "not verified: dropped (1 of 2) and shuffled (1 of 2). Innocent"
    )


def test_claims_that_are_not_verified_have_nothing_to_survive():
    (answer,) = verdict_answers(JUDGED[JUDGED["repeat"] == 2])
    assert f"{answer.number} {answer.of}" == "Nothing to survive: no claim was verified before"
    (unknown,) = verdict_answers(JUDGED[(JUDGED["repeat"] == 2) & (JUDGED["suspect"] != "as released")])
    assert (unknown.number, unknown.grade) == ("0 of 3", Grade.BAD)
