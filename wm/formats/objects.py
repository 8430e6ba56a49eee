"""Models that are Python objects: of scikit-learn, XGBoost, LightGBM and CatBoost."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import catboost_json, lightgbm_text, sklearn_margins, sklearn_trees, xgboost_file
from wm.models import TreeModel


def model_of(model: Any) -> TreeModel:
    """Return a fitted model in the one form.

    Parameters
    ----------
    model
        An estimator of scikit-learn that `Forest.from_sklearn` reads, a gradient boosting model, a forest,
        bagging or tree of regression; a pipeline or search whose last step is one; a model of XGBoost,
        LightGBM or CatBoost; or a list of classification trees.

    Raises
    ------
    ModelError
        Anything else, or a model that has no exact form here.
    """
    if (best := getattr(model, "best_estimator_", None)) is not None:
        return model_of(best)
    if (steps := getattr(model, "steps", None)) is not None:
        return _pipeline(model, steps)
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return _with_classes(xgboost_file.read(bytes(booster.save_raw("json"))), model)
    if library == "lightgbm":
        booster = getattr(model, "booster_", model)
        return _with_classes(lightgbm_text.read(booster.model_to_string().encode()), model)
    if library == "catboost":
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            model.save_model(str(file), format="json")
            return catboost_json.read(file.read_bytes())
    if isinstance(own := getattr(model, "forest_", None), Forest):
        return TreeModel("treeproof", own, classes=own.classes)
    if (found := sklearn_margins.read(model)) is not None:
        return found
    forest = Forest.from_arrays(**sklearn_trees.arrays(model, unseen_missing=True))
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    return TreeModel("scikit-learn", forest, classes=forest.classes, feature_names=names)


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a fitted pipeline or search, the model itself if it is neither."""
    if (best := getattr(model, "best_estimator_", None)) is not None:
        return last_step(best)
    steps = getattr(model, "steps", None)
    return model if steps is None else last_step(steps[-1][1])


def _pipeline(model: Any, steps: Sequence[tuple[str, Any]]) -> TreeModel:
    before = [step for _, step in steps[:-1] if step is not None and step != "passthrough"]
    found = model_of(steps[-1][1])
    if not before:
        return found
    if found.preparation is not None:
        raise ModelError("a pipeline in a pipeline prepares rows twice: give the inner one")
    return replace(found, preparation=model[:-1])


def _with_classes(found: TreeModel, model: Any) -> TreeModel:
    """Return a model with the class values of its scikit-learn interface, which its file lacks."""
    given = getattr(model, "classes_", None)
    if found.classes is None or given is None or np.array_equal(given, found.classes):
        return found
    classes = np.asarray(given)
    if classes.dtype.kind == "O" and all(isinstance(each, str) for each in classes.tolist()):
        classes = classes.astype(np.str_)  # as pandas gives text
    if classes.shape != found.classes.shape or classes.dtype.kind not in "iufUb":
        raise ModelError(f"its classes {classes.tolist()!r:.60} are not those of its trees")
    own = classes if found.margins is not None and len(found.margins.base) == 1 else np.array([0, 1])
    return replace(found, classes=classes, forest=found.forest.changed(classes=own))
