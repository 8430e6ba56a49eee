"""P-values of scheme `boosted` on honest boosted models and random draws: they should be super-uniform.

The models are scikit-learn's, of the claimant's own training rows: a third trained on them as they are, a
third with 30% label noise, a third on rows of others. Pool, models and answers stay; a draw takes the trigger
rows and tosses the bits. So every p-value of a draw is judged under its own null hypothesis, by the same call
as a verdict, `wm.verification.boosted.boosted_tests`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from wm.boosting import outputs
from wm.codebook import random_codebook
from wm.formats.objects import model_of
from wm.models import TreeModel
from wm.verification.answers import AnswerKind, Answers
from wm.verification.boosted import boosted_tests
from wm.verification.randomization import RowTruth

P = NDArray[np.float64]

TREES, K = 60, 10
"""Trees of each model, and trigger rows of each draw."""

DATA: dict[str, tuple[Callable[..., Any], int]] = {
    "breast-cancer, 2 classes": (load_breast_cancer, 150),
    "wine, 3 classes": (load_wine, 80),
}
"""Data sets, and the rows of their pools."""

SMALLEST = "smallest, after Holm"


def p_values(models: int, draws: int) -> dict[tuple[str, str], P]:
    """Return the p-values of all models and draws by data set and test."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed, (name, (load, size)) in enumerate(DATA.items()):
        X, y = load(return_X_y=True)
        own, others, y_own, y_others = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        rng = np.random.default_rng(seed)
        places = rng.choice(len(own), size=size, replace=False)
        rows, labels = own[places].astype(np.float32), y_own[places].astype(np.int64)
        classes = len(np.unique(y))
        for model in _honest(models, (own, y_own), (others, y_others), rng):
            answers = _answers(model, rows, classes)
            for _ in range(draws):
                is_trigger = np.isin(np.arange(size), rng.choice(size, size=K, replace=False))
                truth = RowTruth(labels, is_trigger, random_codebook(K, TREES, 0.5, rng))
                tests = boosted_tests(answers, truth)
                for test in tests:
                    found[name, test.name].append(10.0**test.log10_p)
                found[name, SMALLEST].append(10.0 ** min(each.log10_adjusted for each in tests))
    return {key: np.array(values) for key, values in found.items()}


def _honest(
    count: int, own: tuple[Any, Any], others: tuple[Any, Any], rng: np.random.Generator
) -> Iterator[TreeModel]:
    """Yield honest models, of three kinds in turn."""
    rounds = TREES // outputs(len(np.unique(own[1])))
    for number in range(count):
        X, y = others if number % 3 == 2 else own
        if number % 3 == 1:
            y = np.where(rng.random(len(y)) < 0.3, rng.permutation(y), y)
        model = GradientBoostingClassifier(
            n_estimators=rounds, max_depth=3, subsample=0.8, max_features="sqrt", random_state=number
        )
        yield model_of(model.fit(X, y))


def _answers(model: TreeModel, rows: NDArray[np.float32], classes: int) -> dict[AnswerKind, Answers]:
    shares, margins = model.predict_proba(rows), model.margins
    own = None if classes == 2 or margins is None else margins.column
    return {
        "probabilities": Answers("probabilities", shares[:, 1] if classes == 2 else shares),
        "votes": Answers("votes", model.forest.vote_codes(rows), tree_classes=own),
    }
