"""`wm queries`: the rows for a suspect that only answers questions."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["rows.txt", "rows", "no/such/rows.csv", "directory.npz", "/proc/rows.csv"])
def test_queries_go_nowhere_else(wm, model, name: str) -> None:
    Path("directory.npz").mkdir()
    ran = wm("queries", model.claim, "-o", name)
    assert (ran.code, ran.out) == (2, "")
    assert name in ran.err


def test_queries_on_a_full_disk(wm, model, tmp_path: Path) -> None:
    (tmp_path / "rows.npz").symlink_to("/dev/full")
    assert wm("queries", model.claim, "-o", "rows.npz").code == 4


def test_trigger_rows_are_hidden_among_decoys(wm, model) -> None:
    arguments = ("--decoys", model.decoys, "--decoys-for-each", 3, "--repeats", 4, "--order-seed", 11)
    ran = wm("queries", model.claim, *arguments, "-o", "rows.npz", "--order", "order.json")
    assert (ran.code, ran.out, ran.err) == (0, "32 rows of 30 features: rows.npz\n", "")
    assert stat.S_IMODE(Path("order.json").stat().st_mode) == 0o600
    order = json.loads(Path("order.json").read_text())
    with np.load("rows.npz") as arrays:
        X = arrays["X"]
    assert X[order["triggers"]].tolist() == model.content["trigger_set"]["rows"]
    assert (len(order["decoys"]), len(order["repeats"])) == (21, 4)
    assert order["commitment"] == model.content["commitment"]
    assert wm("queries", model.claim, *arguments, "-o", "again.npz", "--order", "again.json").code == 0
    assert Path("again.npz").read_bytes() == Path("rows.npz").read_bytes()
    refusal = wm("queries", model.claim, *arguments, "-o", "other.npz", "--order", "order.json").refusal()
    assert "exists already: choose another name" in refusal
    assert not Path("other.npz").exists()


@pytest.mark.parametrize("arguments", [["--order", "order.json"], ["--decoys"]])
def test_decoys_and_their_order_go_together(wm, model, arguments: list[str]) -> None:
    given = [*arguments, model.decoys] if arguments == ["--decoys"] else arguments
    ran = wm("queries", model.claim, *given, "-o", "rows.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "go together" in ran.err
    assert list(Path().iterdir()) == []
