"""What is printed while a watermark is trained."""

from __future__ import annotations

import itertools

import pytest

from orchestrator.cli import embed
from orchestrator.cli.training_progress import TrainingProgress


@pytest.mark.parametrize(
    ("by_tree", "lines"),
    [
        (
            True,
            [
                "1 of 10 trees trained",
                "2 of 10 trees trained (6 s, about 24 s left)",
                "5 of 10 trees trained (9 s, about 9 s left)",
                "5 of 10 trees trained (12 s, about 12 s left)",
                "7 of 10 trees trained (15 s, about 6 s left)",
                "10 of 10 trees trained (18 s)",
            ],
        ),
        (
            False,
            ["right trees, round 1: 5 do not fit yet", "wrong trees, round 1: 3 do not fit yet (6 s)"],
        ),
    ],
)
def test_time_left_is_told_of_long_trainings(capsys, by_tree: bool, lines: list[str]) -> None:
    clock = itertools.count(step=3)
    progress = TrainingProgress({"right": 6, "wrong": 4}, by_tree=by_tree, clock=lambda: float(next(clock)))
    rounds = [
        ("right", 1, 5),
        ("wrong", 1, 3),
        ("right", 2, 2),
        ("wrong", 2, 3),
        ("right", 3, 0),
        ("wrong", 3, 0),
    ]
    for each in rounds[: len(lines)]:
        progress(*each)
    assert capsys.readouterr().err.splitlines() == lines


def test_an_interrupted_training_says_that_nothing_is_written(wm, monkeypatch, tmp_path) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wm.embedding.claimed.embed_claim", interrupted)
    ran = wm("embed", "--dataset", "breast-cancer", "-o", "model")
    assert ran.code == 130
    assert ran.err.rstrip().splitlines()[-1] == "wm: interrupted: no file was written"
    assert list(tmp_path.glob("model/*")) == []


def test_many_rows_on_one_core_are_worth_a_word(wm, monkeypatch) -> None:
    monkeypatch.setattr(embed, "_MANY_ROWS", 398)
    options = ("--dataset", "breast-cancer", "--trees", 4, "--level", 0.5, "--seed", 1, "-o")
    assert "398 training rows: --jobs -1 trains on all cores" in wm("embed", *options, "one").err
    assert "--jobs -1" not in wm("embed", *options, "two", "--jobs", 2).err
