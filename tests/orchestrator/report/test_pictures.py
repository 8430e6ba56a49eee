"""The catalogue of pictures, and writing them as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import OrchestratorError
from orchestrator.report.findings import gather
from orchestrator.report.pictures import all_pictures, write_figures
from workers.jobs import JobKind

_NAMES = [
    "accuracy-over-trigger-share",
    "accuracy-over-ones-share",
    "detection",
    "suppression",
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
    made = make_campaign(unfinished=frozenset(JobKind))
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
        """
    made = make_campaign(text=text, repeats=1)
    pictures = all_pictures(gather(made.store, made.record))
    assert [picture.name for picture in pictures][1:] == ["detection-1", "detection-2"]
    assert "7% trigger rows" in pictures[-1].alternative


def test_faulty_requests_are_one_clear_line(make_campaign: Callable[..., Any], tmp_path: Path) -> None:
    made = make_campaign(unfinished=frozenset(JobKind))
    with pytest.raises(OrchestratorError, match="unknown picture format 'gif'; known are: png, svg, pdf"):
        write_figures(made.store, made.record, tmp_path, ["gif"])
    (tmp_path / "file").touch()
    with pytest.raises(OrchestratorError, match="file: cannot be made"):
        write_figures(made.store, made.record, tmp_path / "file")
