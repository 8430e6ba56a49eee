"""Compare models read from files with the libraries that wrote them, and print the table of docs/formats.md.

python -m research.formats

Rows lie on every threshold of a model and one ulp to either side, in float32 and float64, once as they are and,
where the model takes them, once with missing values. A row differs if it reaches another leaf in any tree than
its library says; of ONNX, whose runtime names no leaves, if its label differs or a share by more than 1e-6.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import catboost
import joblib
import lightgbm
import numpy as np
import onnxruntime
import xgboost
from numpy.typing import NDArray
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from orchestrator.report.markdown import table
from wm.attacks.forgery import Forger, attacker_signature
from wm.attacks.leakage.files import inspect_file
from wm.engines import ForgeryQuery, Status
from wm.engines.protocol import ON_GRID
from wm.errors import ModelError
from wm.formats.reading import read_model
from wm.formats.units import Domain
from wm.models import TreeModel
from wm.testing import on_thresholds

TREES, DEPTH, INSTANCES = 10, 4, 20
MISSING = 0.1

Rows = NDArray[np.floating[Any]]
Reached = Callable[[TreeModel, Rows], NDArray[np.bool_]]
"""Which rows of some reach another leaf than the library says."""


@dataclass(frozen=True)
class Case:
    """A format, how a model gets into its file, and how its library is asked."""

    name: str
    file: Path
    differ: Reached


def by_leaves(leaves: Callable[[Rows], Any], *, apart: bool = False, repeat: int = 1) -> Reached:
    """Compare leaves by their number in a tree: among all nodes, or `apart` among its leaves."""

    def differ(model: TreeModel, X: Rows) -> NDArray[np.bool_]:
        forest = model.forest
        own = forest.apply(X)
        if apart:
            leaf = np.cumsum(forest.is_leaf) - 1
            roots = forest.offset[:-1]
            number = leaf[own] - leaf[roots] - ~forest.is_leaf[roots]
        else:
            number = own - forest.offset[:-1]
        theirs = np.repeat(np.asarray(leaves(X)).reshape(len(X), -1), repeat, axis=1)
        return np.asarray((number != theirs).any(axis=1))

    return differ


def leaves_of_all(trees: list[Any], X: Rows) -> NDArray[np.int64]:
    """Return the leaf of each row in each of some trees: (n, m)."""
    return np.stack([tree.apply(X) for tree in trees], axis=1)


def by_margins(trees: list[Any]) -> Reached:
    """Compare what each tree of histogram gradient boosting adds."""
    none = np.zeros((0, 8), dtype=np.uint32), np.zeros(0, dtype=np.uint32)

    def differ(model: TreeModel, X: Rows) -> NDArray[np.bool_]:
        theirs = np.stack([tree.predict(X.astype(np.float64), *none, 1) for tree in trees], axis=1)
        leaf = model.margins.leaf if model.margins is not None else np.zeros(0)
        return np.asarray((leaf[model.forest.apply(X)] != theirs).any(axis=1))

    return differ


def by_answers(file: Path) -> Reached:
    """Compare labels and probabilities with onnxruntime's."""
    session = onnxruntime.InferenceSession(str(file))

    def differ(model: TreeModel, X: Rows) -> NDArray[np.bool_]:
        label, shares = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
        away = np.abs(model.predict_proba(X.astype(np.float32)) - shares).max(axis=1)
        return np.asarray((model.predict(X.astype(np.float32)) != label) | (away > 1e-6))

    return differ


def cases(X: Rows, holes: Rows, y: NDArray[np.int64], folder: Path) -> Iterator[Case]:
    """Yield a model of each kind, written to a file."""
    sizes = {"n_estimators": TREES, "max_depth": DEPTH, "random_state": 0}
    outputs = 1 if len(np.unique(y)) == 2 else len(np.unique(y))
    for name, made in (
        ("scikit-learn RandomForest", RandomForestClassifier(**sizes)),
        ("scikit-learn ExtraTrees", ExtraTreesClassifier(**sizes)),
        (
            "scikit-learn Bagging",
            BaggingClassifier(DecisionTreeClassifier(max_depth=DEPTH), TREES, random_state=0),
        ),
        ("scikit-learn DecisionTree", DecisionTreeClassifier(max_depth=DEPTH, random_state=0)),
        ("scikit-learn GradientBoosting", GradientBoostingClassifier(**sizes)),
        (
            "scikit-learn HistGradientBoosting",
            HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=12),
        ),
    ):
        made.fit(X if isinstance(made, GradientBoostingClassifier) else holes, y)
        file = folder / f"{type(made).__name__}.joblib"
        joblib.dump(made, file)
        if isinstance(made, HistGradientBoostingClassifier):
            yield Case(name, file, by_margins([tree for each in made._predictors for tree in each]))
        elif isinstance(made, BaggingClassifier):
            yield Case(name, file, by_leaves(partial(leaves_of_all, made.estimators_)))
        else:
            yield Case(name, file, by_leaves(made.apply))
    boosted = xgboost.XGBClassifier(**sizes).fit(holes, y).get_booster()
    for ending in ("json", "ubj"):
        boosted.save_model(file := folder / f"xgboost.{ending}")
        yield Case(
            f"XGBoost ({ending})",
            file,
            by_leaves(lambda X: boosted.predict(xgboost.DMatrix(X), pred_leaf=True)),
        )
    grown = (
        lightgbm.LGBMClassifier(n_estimators=TREES, num_leaves=12, verbose=-1, random_state=0)
        .fit(holes, y)
        .booster_
    )
    grown.save_model(file := folder / "lightgbm.txt")
    yield Case("LightGBM (text)", file, by_leaves(lambda X: grown.predict(X, pred_leaf=True), apart=True))
    quiet = {"verbose": 0, "allow_writing_files": False}
    made = catboost.CatBoostClassifier(iterations=TREES, depth=DEPTH, random_seed=0, **quiet)
    made.fit(holes, y).save_model(str(file := folder / "catboost.json"), format="json")
    yield Case("CatBoost (json)", file, by_leaves(made.calc_leaf_indexes, apart=True, repeat=outputs))
    for name, converted in (
        ("ONNX, of RandomForest", RandomForestClassifier(**sizes)),
        ("ONNX, of GradientBoosting", GradientBoostingClassifier(**sizes)),
    ):
        content = to_onnx(converted.fit(X, y), X[:1].astype(np.float32), options={"zipmap": False})
        file = folder / f"{type(converted).__name__}.onnx"
        file.write_bytes(content.SerializeToString())
        yield Case(name, file, by_answers(file))


def compared(case: Case, model: TreeModel, X: Rows) -> tuple[int, int]:
    """Return the rows compared and those that differ."""
    rng = np.random.default_rng(1)
    edges = np.vstack([X, on_thresholds(model.forest, X, rng)])
    if model.forest.missing_left is not None:
        edges = np.vstack([edges, np.where(rng.random(edges.shape) < 0.2, np.nan, edges)])
    asked: list[Rows] = [edges.astype(np.float32), edges.astype(np.float64)]
    return sum(map(len, asked)), sum(int(case.differ(model, rows).sum()) for rows in asked)


def forged(model: TreeModel, X: Rows, y: NDArray[Any]) -> str:
    """Return the outcomes of forging a random signature on some rows."""
    domain = Domain.of(X, model.forest.input_dtype)
    forest, rows = domain.unit_forest(model.forest), domain.to_unit(X)
    signature = attacker_signature(0, number=0, length=forest.n_trees, ones_share=0.5, repeat=0)
    with Forger(forest, "sat", timeout_s=60) as forger:
        found = []
        for row, label in zip(rows[:INSTANCES], y, strict=False):
            bits, wanted = model.prescribed(signature, label)
            found.append(forger.ask(ForgeryQuery(signature=bits, label=wanted, centre=row, eps=1.0)).status)
    counts: dict[str, int] = {status.value: found.count(status) for status in Status}
    if domain.slack(model.forest, forest) is None and model.forest.input_dtype == "float64":
        counts = {
            (f"{name} {ON_GRID}" if name == "impossible" else name): count for name, count in counts.items()
        }
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def row_of(case: Case, X: Rows, y: NDArray[Any]) -> list[str]:
    """Return a format's row of the table."""
    model = read_model(case.file, trust_pickle=True)
    asked, differing = compared(case, model, X)
    try:
        model.voting_forest(case.file.name)
        judged = "by votes"
    except ModelError:
        two = model.classes is not None and len(model.classes) == 2
        judged = "by signs" if two else "refused"
    report = inspect_file(case.file, trust_pickle=True)
    found = ", ".join(dict.fromkeys(f"`{each.name}`" for each in report.findings)) or "nothing"
    kind = "float32" if model.forest.input_dtype == "float32" else "float64"
    misses = "yes" if model.forest.missing_left is not None else "no"
    return [
        case.name,
        kind,
        misses,
        f"{differing} of {asked:,}",
        model.answers,
        found,
        forged(model, X, y),
        judged,
    ]


TITLES = ("format", "compares", "NaN", "rows that differ", "trees give", "audit finds", "forge", "verify")


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")  # of converters, about themselves
    for title, loaded in (
        ("breast-cancer, two classes", load_breast_cancer()),
        ("wine, three classes", load_wine()),
    ):
        X, y = loaded.data[:, :10], loaded.target
        holes = np.where(np.random.default_rng(0).random(X.shape) < MISSING, np.nan, X)
        with tempfile.TemporaryDirectory() as folder:
            rows = [row_of(case, X, y) for case in cases(X, holes, y, Path(folder))]
        print(f"### {title}\n\n{table(TITLES, rows)}\n")


if __name__ == "__main__":
    main()
