"""`wm results`: the contract for scripts, and files."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import sys
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

from orchestrator.cli import results
from orchestrator.results import COLUMNS, frame

KINDS = ["accuracy", "detection", "suppression", "forgery", "schemes", "jobs"]

NUMBER = (int, float)
SOME_NUMBER = (int, float, NoneType)

CONTRACT: dict[str, dict[str, Any]] = {
    "accuracy": {
        "scheme": str,
        "trigger_share": float,
        "ones_share": float,
        "repeat": int,
        "accuracy_standard": float,
        "accuracy_capped": float,
        "accuracy_watermarked": float,
        "trigger_size": int,
        "rounds": int,
        "seconds": float,
    },
    "detection": {
        "measure": str,
        "strategy": str,
        "correct": int,
        "wrong": int,
        "uncertain": int,
        "p_value": NUMBER,
    },
    "suppression": {"method": str, "auc": float, "tpr_at_1pct_fpr": float},
    "forgery": {
        "scheme": str,
        "trigger_share": float,
        "ones_share": float,
        "repeat": int,
        "signature": int,
        "eps": float,
        "engine": str,
        "instances": int,
        "trigger_size": int,
        "forged": int,
        "impossible": int,
        "timeout": int,
        "memout": int,
        "error": int,
        "seconds": float,
    },
    "schemes": {
        "scheme": str,
        "dataset": str,
        "attack": str,
        "strength": SOME_NUMBER,
        "accuracy_change": SOME_NUMBER,
        "log10_p": SOME_NUMBER,
        "auc": SOME_NUMBER,
        "tpr_at_1pct_fpr": SOME_NUMBER,
        "repeats": int,
        "log10_p_min": SOME_NUMBER,
        "log10_p_max": SOME_NUMBER,
        "accuracy_change_std": SOME_NUMBER,
        "bits": SOME_NUMBER,
        "null_bits": SOME_NUMBER,
    },
    "jobs": {"kind": str, "state": str, "error": str, "seconds": float, "repeat": (int, NoneType)},
}

ROWS = {
    "accuracy": 2,
    "detection": 2 * 18,
    "suppression": 2 * 2,
    "forgery": 2 * 2,
    "schemes": 2 * 10,
    "jobs": 12,
}


@pytest.mark.parametrize("kind", KINDS)
def test_json_keeps_the_contract(wm, tiny, kind: str) -> None:
    ran = wm("results", kind, "tiny", "--store", tiny.url, "--json")
    assert (ran.code, ran.err) == (0, "")
    rows = ran.json()
    assert len(rows) == ROWS[kind]
    for row in rows:
        assert list(row) == list(COLUMNS[kind])
        for name, type_ in CONTRACT[kind].items():
            assert isinstance(row[name], type_), (name, row[name])
            assert not isinstance(row[name], bool)
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))


def test_forgery_rows_are_one_for_each_point_of_the_grid_and_add_up(wm, tiny) -> None:
    rows = wm("results", "forgery", "tiny", "--store", tiny.url, "--json").json()
    assert {(row["signature"], row["eps"]) for row in rows} == {(0, 0.1), (0, 0.5), (1, 0.1), (1, 0.5)}
    for row in rows:
        assert row["trigger_size"] == row["instances"] == 7
        outcomes = ("forged", "impossible", "timeout", "memout", "error")
        assert sum(row[outcome] for outcome in outcomes) == row["instances"]
        assert (row["mean_distance"] is None) == (row["forged"] == 0), "what is missing is null"


def test_shares_lie_between_0_and_1(wm, tiny) -> None:
    for kind, names in (
        ("accuracy", ["accuracy_standard", "accuracy_capped", "accuracy_watermarked"]),
        ("suppression", ["auc", "tpr_at_1pct_fpr"]),
        ("detection", ["p_value", "p_value_exact"]),
    ):
        for row in wm("results", kind, "tiny", "--store", tiny.url, "--json").json():
            assert all(0 <= row[name] <= 1 for name in names)


def test_a_watermark_that_is_stored_holds_every_bit(wm, tiny) -> None:
    for row in wm("results", "accuracy", "tiny", "--store", tiny.url, "--json").json():
        assert row["matched_bits"] == row["total_bits"] == 24 * row["trigger_size"]
        assert row["rounds"] == row["rounds_right"] + row["rounds_wrong"]
        assert row["log10_p"] < -6 < row["log10_p_standard"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_for_people_holds_the_same_rows(wm, tiny, kind: str) -> None:
    ran = wm("results", kind, "tiny", "--store", tiny.url)
    assert (ran.code, ran.err) == (0, "")
    header, _rule, *rows = [line.split() for line in ran.out.splitlines() if line.strip()]
    assert set(header) <= set(COLUMNS[kind])
    assert len(rows) == ROWS[kind]
    assert "\x1b" not in ran.out, "no colours outside a terminal"
    assert "nan" not in ran.out.lower()
    assert "..." not in ran.out
    assert "\u2026" not in ran.out


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_the_printed_values(wm, tiny, kind: str, tmp_path: Path) -> None:
    arguments = ("results", kind, "tiny", "--store", tiny.url)
    printed = wm(*arguments, "--json").json()
    for ending in ("json", "csv"):
        ran = wm(*arguments, "-o", tmp_path / f"out.{ending}")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text()) == printed
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [list(COLUMNS[kind])] * len(printed)
    for row, wanted in zip(rows, printed, strict=True):
        for name, value in wanted.items():
            cell = row[name]
            assert cell == "" if value is None else type(value)(cell) == value, name


def test_parquet_without_its_library_is_one_line_with_the_fix(
    wm, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = wm("results", "accuracy", "tiny", "--store", tiny.url, "-o", "out.parquet")
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("wm: out.parquet: parquet needs pyarrow: pip install")
    assert not Path("out.parquet").exists()


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is an optional dependency")
@pytest.mark.parametrize("kind", KINDS)
def test_parquet_holds_the_printed_values(wm, tiny, kind: str, tmp_path: Path) -> None:
    import pandas as pd

    from orchestrator.frames import records

    arguments = ("results", kind, "tiny", "--store", tiny.url)
    assert wm(*arguments, "-o", tmp_path / "out.parquet").code == 0
    assert records(pd.read_parquet(tmp_path / "out.parquet")) == wm(*arguments, "--json").json()


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.CSV", ".csv", "out.csv.gz"])
def test_an_unknown_ending_is_refused_and_nothing_written(wm, tiny, name: str, tmp_path: Path) -> None:
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "-o", name)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.endswith(f"{name}: the ending must be .csv, .json or .parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_place_that_cannot_be_written_is_the_users_mistake(wm, tiny, ending: str, tmp_path: Path) -> None:
    (tmp_path / f"directory.{ending}").mkdir()
    (tmp_path / "file").touch()
    for place in (f"no/such/x.{ending}", f"directory.{ending}", f"file/x.{ending}", f"/proc/x.{ending}"):
        ran = wm("results", "jobs", "tiny", "--store", tiny.url, "-o", place)
        assert (ran.code, ran.out) == (2, "")
        assert place in ran.err


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_full_disk_is_infrastructure(wm, tiny, ending: str, tmp_path: Path) -> None:
    (tmp_path / f"full.{ending}").symlink_to("/dev/full")
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "-o", f"full.{ending}")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "wm: [Errno 28] No space left on device\n"


def test_the_scoreboards_of_several_campaigns_are_one(wm, tiny) -> None:
    one = wm("results", "schemes", "tiny", "--store", tiny.url, "--json").json()
    assert wm("results", "schemes", "tiny", "tiny", "--store", tiny.url, "--json").json() == one + one
    assert "no campaign 'other'" in wm("results", "schemes", "tiny", "other", "--store", tiny.url).refusal()


def test_rows_and_columns_are_chosen(wm, tiny) -> None:
    arguments = ("results", "forgery", "tiny", "--store", tiny.url, "--json")
    every = wm(*arguments).json()
    ran = wm(*arguments, "--where", "eps<=0.3", "--where", "signature=0|1", "--columns", "eps,forged")
    assert ran.json() == [{"eps": 0.1, "forged": row["forged"]} for row in every if row["eps"] == 0.1]
    (first,) = wm(*arguments, "--sort", "-eps,signature", "--limit", 1, "--columns", "eps,signature").json()
    assert first == {"eps": 0.5, "signature": 0}
    grouped = wm(*arguments, "--group-by", "eps", "--columns", "forged", "--statistic", "sum").json()
    assert "--statistic is of groups" in wm(*arguments, "--statistic", "sum").err
    assert [row["rows"] for row in grouped] == [2, 2]
    for row in grouped:
        assert row["forged"] == sum(each["forged"] for each in every if each["eps"] == row["eps"])


def test_the_table_says_how_many_rows_are_not_shown(wm, tiny) -> None:
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "--limit", 2)
    assert (ran.code, ran.err) == (0, "wm: 2 of 12 rows\n")
    assert len(ran.out.splitlines()) == 4


def test_the_table_of_jobs_says_what_an_error_was(wm, tiny, monkeypatch) -> None:
    """Its first line says only how often the job failed."""
    told = "failed 3 times\nattempt 1: Traceback (most recent call last):\n  a line\nRuntimeError: bad luck\n"
    monkeypatch.setattr(
        results, "frame", lambda store, campaign, name: frame(store, campaign, name).assign(error=told)
    )
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "--limit", 1)
    assert ran.out.splitlines()[2].endswith("   RuntimeError: bad luck")
    assert wm("results", "jobs", "tiny", "--store", tiny.url, "--json").json()[0]["error"] == told


def test_a_condition_that_cannot_be_is_refused(wm, tiny) -> None:
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "--where", "kinds=embed")
    assert "there is no column kinds; did you mean kind? Columns: job, " in ran.refusal()
    ran = wm("results", "jobs", "tiny", "--store", tiny.url, "--columns", "foo")
    assert "there is no column foo. Columns: job, " in ran.refusal()
