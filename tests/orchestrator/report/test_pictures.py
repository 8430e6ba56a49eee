"""The catalogue of pictures, and writing them as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.errors import OrchestratorError
from orchestrator.report.findings import Findings, gather
from orchestrator.report.pictures import all_pictures, write_figures
from orchestrator.report.pictures.calibration import calibration_pictures
from orchestrator.report.pictures.modification import modification_pictures, tradeoff_pictures
from orchestrator.report.sections import sections
from workers.jobs import KINDS

_NAMES = [
    "accuracy-over-trigger-share",
    "accuracy-over-ones-share",
    "detection",
    "suppression",
    "budget",
    "forgery-paper-trigger-1-ones-50",
    "forgery-paper-trigger-2-ones-50",
]
_MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_captions_stand_alone(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign()
    pictures = all_pictures(gather(made.store, made.record))
    assert [picture.name for picture in pictures] == _NAMES
    for picture in pictures:
        assert "Data set breast-cancer; campaign made-up, seed 7; n = 3 repeats (0 to 2)" in picture.caption
        assert picture.alternative
    assert "percent" in pictures[0].caption
    assert "171 test rows" in pictures[0].caption
    assert "3 signatures in 3 repeats" in pictures[-1].caption
    assert "time limit 60 s" in pictures[-1].caption
    assert "True trigger set: 8." in pictures[-1].alternative


def test_single_repeat_is_said_in_captions(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(repeats=1)
    first = all_pictures(gather(made.store, made.record))[0]
    assert "One repeat only: the points have no spread." in first.caption
    assert first.caption.endswith("seed 7, n = 1 repeat.")


def test_files_are_written_in_each_format_twice_the_same(
    make_campaign: Callable[..., Any], tmp_path: Path
) -> None:
    text = """
        name = "bare"
        seed = 1
        [dataset]
        name = "breast-cancer"
        [forest]
        n_estimators = 20
        [embedding]
        repeats = {repeats}
        [[attack]]
        kind = "detection"
        methods = ["strategies"]
        """
    made = make_campaign(text=text)
    first = write_figures(made.store, made.record, tmp_path / "new" / "first")
    second = write_figures(made.store, made.record, tmp_path / "second")
    names = [f"{name}.{ending}" for name in ("accuracy-over-trigger-share", "detection") for ending in _MAGIC]
    assert [path.name for path in first] == [*names, "captions.txt"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(_MAGIC.get(one.suffix.removeprefix("."), b"accuracy"))
    assert sorted((tmp_path / "second").iterdir()) == sorted(second)


def test_campaign_without_results_has_no_pictures(make_campaign: Callable[..., Any], tmp_path: Path) -> None:
    made = make_campaign(unfinished=frozenset(KINDS))
    assert write_figures(made.store, made.record, tmp_path / "none") == []


def test_many_configurations_are_spread_over_several_pictures(make_campaign: Callable[..., Any]) -> None:
    text = """
        name = "many"
        seed = 1
        [dataset]
        name = "breast-cancer"
        [forest]
        n_estimators = 20
        [embedding]
        trigger_share = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07]
        repeats = {repeats}
        [[attack]]
        kind = "detection"
        methods = ["strategies"]
        """
    made = make_campaign(text=text, repeats=1)
    pictures = all_pictures(gather(made.store, made.record))
    assert [picture.name for picture in pictures][1:] == ["detection-1", "detection-2"]
    assert "7% trigger rows" in pictures[-1].alternative


def test_faulty_requests_are_one_clear_line(make_campaign: Callable[..., Any], tmp_path: Path) -> None:
    made = make_campaign(unfinished=frozenset(KINDS))
    with pytest.raises(OrchestratorError, match="unknown picture format 'gif'; known are: png, svg, pdf"):
        write_figures(made.store, made.record, tmp_path, ["gif"])
    (tmp_path / "file").touch()
    with pytest.raises(OrchestratorError, match="file: cannot be made"):
        write_figures(made.store, made.record, tmp_path / "file")


_ATTACK_NAMES = [
    "accuracy-over-trigger-share",
    "detection",
    "guesses",
    "spectrum",
    "suppression",
    "budget",
    "distances",
    "tradeoff",
    "modification-paper-trigger-1-ones-50",
    "modification-paper-trigger-2-ones-50",
    "calibration-verification",
    "calibration-detection",
]


def test_captions_of_attacks_stand_alone(attacked: Findings) -> None:
    pictures = {picture.name: picture for picture in all_pictures(attacked)}
    assert list(pictures) == _ATTACK_NAMES
    for picture in pictures.values():
        assert "Data set breast-cancer; campaign attacked, seed 7" in picture.caption
        assert picture.alternative.endswith(".")
        if not picture.name.startswith("calibration"):
            assert "n = 3 repeats (0 to 2)" in picture.caption
    undecided = attacked.distances["status"].isin(["timeout", "memout", "error"]).sum()
    distances = pictures["distances"].caption
    assert "4 signatures in 3 repeats; time limit 45 s" in distances
    assert f"{undecided} of {len(attacked.distances)} instances have no decision" in distances
    assert "up to eps 1;" in distances
    assert "10 random orders" in pictures["budget"].caption
    assert "Only the first of 3 repeats is drawn" in pictures["spectrum"].caption
    assert "over 3 repeats and 2 tries each; bands: least to most" in pictures["tradeoff"].caption
    assert "random signatures (at least 0.0001)" in pictures["tradeoff"].caption
    verification = pictures["calibration-verification"].caption
    assert "over 20 forests (honest) and 20 forests (other owners)" in verification
    assert "20 forests (presence)" in pictures["calibration-detection"].caption


def test_alternatives_of_attacks_have_the_numbers(attacked: Findings) -> None:
    pictures = {picture.name: picture for picture in all_pictures(attacked)}
    guesses = attacked.guesses
    own = guesses[(guesses["trigger_share"] == 0.01) & (guesses["measure"] == "leaf-volume")]
    assert (
        f"leaf-volume: {own['bits'].mean():.1%} of the bits (unrelated guesses 58.8%)"
        in pictures["guesses"].alternative
    )
    assert "100% after 6, 100% after 7, 100% after 8" in pictures["budget"].alternative
    assert "true trigger set 4, mean " in pictures["distances"].alternative
    assert "right for " in pictures["spectrum"].alternative
    alarm = "Too many: detect: depth A exact, honest, level 0.05: 20 of 20"
    assert alarm in pictures["calibration-detection"].alternative
    assert "None is larger than chance explains." in pictures["calibration-verification"].alternative
    frame = attacked.modification
    row = frame[(frame["trigger_share"] == 0.01) & (frame["strengths"] == "0.003")]
    exact = f"exact in {row['exact_match'].sum()} of 6"
    assert exact in pictures["modification-paper-trigger-1-ones-50"].alternative


def test_calibration_without_detection_has_its_pictures_in_its_own_section(attacked: Findings) -> None:
    jobs = attacked.jobs[attacked.jobs["kind"] != "detection".value]
    places = {picture.name: picture.section for picture in calibration_pictures(replace(attacked, jobs=jobs))}
    assert places == {"calibration-verification": "verification", "calibration-detection": "calibration"}


def test_only_the_first_configurations_are_drawn_modification_by_modification(attacked: Findings) -> None:
    frame = attacked.modification
    more = pd.concat([frame.assign(trigger_share=frame["trigger_share"] + 0.02 * step) for step in range(4)])
    many = replace(attacked, modification=more)
    assert len(list(modification_pictures(many))) == 2
    assert [picture.name for picture in tradeoff_pictures(many)] == ["tradeoff-1", "tradeoff-2"]
    (section,) = [one for one in sections(many, ()) if one.name == "modification"]
    assert "Of 8 configurations the first 2 are drawn modification by modification" in section.lead
    (table,) = section.tables
    assert len(table.rows) == 8 * 9
