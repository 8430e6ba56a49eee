"""`wm audit`: what a file gives away, by exit code, JSON and table; pickles only on demand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import minmax_scale

from wm.forest import Forest
from wm.formats.export import save_model
from wm.formats.sklearn_metadata import from_model

TRIGGERS = np.arange(0, 25, 5)
BITS = np.array([0, 1, 1, 0, 1, 0, 0, 1] * 3)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return minmax_scale(load_breast_cancer().data).astype(np.float32)


@pytest.fixture(scope="module")
def leaking(rows: np.ndarray) -> RandomForestClassifier:
    """A forest as the paper's scheme leaves it: half of the trees on flipped labels, under other weights."""
    y = load_breast_cancer().target
    flipped = y.copy()
    flipped[TRIGGERS] = 1 - flipped[TRIGGERS]
    kinds = []
    for labels, extra in ((y, 2.0), (flipped, 32.0)):
        weight = np.ones(len(y))
        weight[TRIGGERS] = extra
        forest = RandomForestClassifier(
            12, bootstrap=False, max_leaf_nodes=19, random_state=10**6 + int(extra)
        )
        kinds.append(iter(forest.fit(rows, labels, sample_weight=weight).estimators_))
    model = RandomForestClassifier(24, bootstrap=False, max_leaf_nodes=2, random_state=1).fit(rows, y)
    model.estimators_ = [next(kinds[bit]) for bit in BITS]
    return model


def _npz(model: RandomForestClassifier, *prefixes: str) -> dict[str, Any]:
    arrays = from_model(model).arguments()
    return {prefix + name: array for prefix in prefixes for name, array in arrays.items()}


@pytest.fixture
def files(leaking: RandomForestClassifier, rows: np.ndarray) -> None:
    np.savez("model.npz", **_npz(leaking, ""))
    np.savez("two.npz", **_npz(leaking, "first_", "second_"))
    joblib.dump(leaking, "model.joblib")
    joblib.dump(leaking, "model.pkl")
    np.savez("rows.npz", X=rows)
    np.savetxt("rows.csv", rows, delimiter=",", header=",".join(["name"] * 30), comments="")


def _told(report: dict[str, Any]) -> None:
    assert report["leaks"] is True
    assert np.mean(np.array(report["signature"]) == BITS) in (0.0, 1.0)
    assert (report["trigger_size"], report["weights"]) == (5, [2.0, 32.0])
    assert (report["n_trees"], report["distinct_seeds"]) == (24, 24)
    names = [finding["name"] for finding in report["findings"]]
    assert names[:4] == ["root-weights", "class-priors", "root-impurity", "heavy-leaves"]
    for finding in report["findings"]:
        assert set(finding) == {"name", "severity", "detail", "remedy"}
        assert finding["severity"] in ("critical", "high", "info")
        assert finding["detail"]
        assert finding["remedy"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["model.npz"],
        ["two.npz", "--prefix", "second_"],
        ["model.joblib", "--trust-pickle"],
        ["model.pkl", "--trust-pickle"],
    ],
    ids=" ".join,
)
def test_a_leaking_model_is_reported_in_every_form(wm, files, arguments: list[str]) -> None:
    ran = wm("audit", *arguments, "--json")
    assert (ran.code, ran.err) == (1, "")
    _told(ran.json())
    assert ran.json()["membership"] is None


def test_a_skops_file_needs_its_types_named(wm, leaking: RandomForestClassifier) -> None:
    skops = pytest.importorskip("skops.io", reason="the extra `skops` is not installed")
    skops.dump(leaking, "model.skops")
    assert "holds types that are not trusted: sklearn.tree._tree.Tree" in wm("audit", "model.skops").refusal()
    ran = wm("audit", "model.skops", "--trust-type", "sklearn.tree._tree.Tree", "--json")
    assert ran.code == 1
    _told(ran.json())


@pytest.mark.parametrize("name", ["rows.npz", "rows.csv"])
def test_trigger_rows_are_recognized_among_candidates(wm, files, name: str) -> None:
    ran = wm("audit", "model.npz", "--rows", name, "--json")
    membership = np.array(ran.json()["membership"])
    assert membership.shape == (569,)
    assert set(TRIGGERS) <= set(np.flatnonzero(membership == 1.0))
    assert (membership < 1.0).mean() > 0.9
    table = wm("audit", "model.npz", "--rows", name)
    assert table.code == 1
    assert f"{(membership == 1).sum()} of 569 rows fall into heavy leaves in every tree" in table.out


def test_a_person_reads_a_table(wm, files) -> None:
    ran = wm("audit", "model.npz")
    assert (ran.code, ran.err) == (1, "")
    for word in ("severity", "critical", "what the file reveals", "how to fix it", "scrub", "leaks"):
        assert word in ran.out
    assert "".join(map(str, BITS)) in ran.out or "".join(map(str, 1 - BITS)) in ran.out


def test_a_released_forest_is_clean(wm, model, leaking: RandomForestClassifier) -> None:
    save_model(Forest.from_sklearn(leaking), "clean.joblib", trust_pickle=True)
    for arguments in ([model.forest], ["clean.joblib", "--trust-pickle"]):
        ran = wm("audit", *arguments, "--json")
        assert (ran.code, ran.err) == (0, "")
        report = ran.json()
        assert (report["leaks"], report["findings"], report["signature"]) == (False, [], None)
        assert (report["trigger_size"], report["heavy_leaves"], report["weights"]) == (None, 0, [])
        assert "nothing secret found" in wm("audit", *arguments).out


def test_the_authors_own_files(wm, published_file: Path) -> None:
    refusal = wm("audit", published_file).refusal()
    assert "several forests" in refusal
    assert "watermarked_" in refusal
    assert wm("audit", published_file, "--prefix", "standard_").code == 0
    ran = wm("audit", published_file, "--prefix", "watermarked_", "--json")
    assert ran.code == 1
    report = ran.json()
    assert (report["trigger_size"], report["weights"], report["distinct_seeds"]) == (7, [2.0, 32.0], 35)
    assert sum(report["signature"]) == 35


@pytest.fixture(scope="module")
def published_file() -> Path:
    file = Path(os.environ.get("WM_DATA_DIR", "missing")) / "published_breast_cancer.npz"
    if not file.is_file():
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    return file


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["model.joblib"], "say that you trust pickles"),
        (["model.pkl"], "say that you trust pickles"),
        (["two.npz"], "choose a prefix among"),
        (["two.npz", "--prefix", "third_"], "no forest with prefix 'third_'"),
        (["model.joblib", "--trust-pickle", "--prefix", "a"], "a prefix chooses a forest in a .npz file"),
        (["rows.npz"], "holds no forest"),
        (["looped.npz"], "looped.npz: "),
        (["rows.csv"], "a model file ends in"),
        (["model.npz", "--rows", "model.npz"], "has no array 'X'"),
        (["model.npz", "--rows", "short.csv"], "the trees test"),
        (["model.npz", "--rows", "words.csv"], "line 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_line(wm, files, arguments: list[str], word: str) -> None:
    Path("short.csv").write_text("0,1\n1,0\n")
    Path("words.csv").write_text("0,1\na,0\n")
    with np.load("model.npz") as arrays:
        np.savez("looped.npz", **dict(arrays) | {"left": np.zeros_like(arrays["left"])})
    assert word in wm("audit", *arguments).refusal()
