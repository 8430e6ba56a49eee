"""What becomes of each of many tables: a model that answers its raw rows, or a refusal that helps."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.orchestrator.cli.many_tables import CASES, Case

SMALL = (
    "--trees",
    8,
    "--trigger-rows",
    1,
    "--adjust",
    "artifact",
    "--level",
    0.5,
    "--seed",
    3,
    "-o",
    "m",
    "--force",
)
_KEYS = ("positive =", "label =", "header =", "missing =", "categorical =", "drop =", "sep =")


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_accepted_and_answered_or_refused_with_what_helps(wm, name: str) -> None:
    case = CASES[name]
    Path(case.name).write_bytes(case.content)
    if case.refusal:
        _check_refused(wm, case)
    if not case.refusal or case.fix is not None:
        _check_accepted(wm, case)


def _check_refused(wm, case: Case) -> None:
    ran = wm("embed", "--path", case.name, *case.options.split(), *SMALL)
    assert (ran.code, ran.out) == (2, ""), ran.err
    lines = ran.err.splitlines()
    assert len(lines) <= 10
    assert all(line.startswith("wm: ") for line in lines)
    missing = [part for part in case.refusal if not any(each in ran.err for each in part.split("|"))]
    assert missing == [], ran.err
    assert [key for key in _KEYS if key in ran.err] == [], ran.err


def _check_accepted(wm, case: Case) -> None:
    given = case.options.split() if case.fix is None else _merged(case.options.split(), case.fix.split())
    ran = wm("embed", "--path", case.name, *given, *SMALL, "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["matched_bits"] == ran.json()["total_bits"]
    assert [part for part in case.said if part not in ran.err] == [], ran.err
    found = wm("predict", "m/forest.npz", case.name, *case.read.split())
    assert found.code == 0, found.err
    header, *rows = csv.reader(found.out.splitlines())
    assert header == ["label"]
    right = np.mean([row == [label] for row, label in zip(rows, case.labels, strict=True)])
    assert right >= max(Counter(case.labels).values()) / len(case.labels), right
    assert wm("verify", "m/claim.json", "--model", "m/forest.npz").code == 5  # no beacon: an indication


def _merged(options: list[str], fix: list[str]) -> list[str]:
    """Return the options, of which a fix may replace one."""
    return [*options, *fix] if fix[0] not in options else fix


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 70
    accepted = sum(not case.refusal or case.fix is not None for case in CASES.values())
    assert accepted >= 55
    assert all(re.fullmatch(r"[\w ,/.+-]+", name) for name in CASES)
