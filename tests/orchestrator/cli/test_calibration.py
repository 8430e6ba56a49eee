"""The exit code of a calibration campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

CAMPAIGN = """\
name = "calibration"
seed = 5

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 10
max_depth = 3

[[attack]]
kind = "calibration"
honest = 12
other_owners = 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "calibration.toml").write_text(CAMPAIGN)
    return tmp_path / "calibration.toml"


@pytest.mark.system
def test_promises_that_hold_are_no_news(wm, file: Path) -> None:
    ran = wm("campaign", "run", file, "--store", "sqlite:///wm.db", "--workers", 1)
    assert ran.code == 0
    assert "anti-conservative" not in ran.err
    rows = wm("results", "calibration", "calibration", "--store", "sqlite:///wm.db", "--json").json()
    assert {row["trials"] for row in rows} == {12}
    assert not any(row["anti_conservative"] for row in rows)


@pytest.mark.system
def test_a_p_value_that_promises_too_much_is_a_negative_verdict(
    wm, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Jobs are run in processes of their own; what they brought back is judged here, as if all were hits.
    from wm.attacks.calibration import attack as calibration

    honest = calibration.calibrate
    monkeypatch.setattr(
        calibration,
        "calibrate",
        lambda populations: honest(
            {
                population: {name: [1e-9] * len(values) for name, values in named.items()}
                for population, named in populations.items()
            }
        ),
    )
    ran = wm("campaign", "run", file, "--store", "sqlite:///wm.db", "--workers", 1)
    assert ran.code == 1
    assert "anti-conservative p-value: verify: votes over honest: 12 of 12 at 0.05, rate 1" in ran.err
