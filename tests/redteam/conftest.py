"""One owner on breast-cancer, with the forest that a thief takes, and people who know nothing of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from tests.pools import JUDGE, OWNER, TRUST, owners, receipt_of, witnessed
from wm.claims.keys import public_hex
from wm.claims.pooled import MinMax
from wm.embedding.claimed import OwnedForest, commit_pool, embed_claim
from wm.embedding.options import PaperOptions
from wm.embedding.tuning import Hyperparameters
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.judgement import Judgement, Response, judge_sample, model_response
from wm.verification.samples import Sample, sample_of

TREES, K = 30, 7


@dataclass(frozen=True, eq=False)
class Data:
    """Breast-cancer: raw rows, scaled rows, labels; the owner's rows and those of others."""

    raw: NDArray[np.float64]
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    low: NDArray[np.float64]
    span: NDArray[np.float64]
    own: NDArray[np.int64]
    others: NDArray[np.int64]


@pytest.fixture(scope="session")
def data() -> Data:
    raw, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    own, others = order[:350], order[350:]
    low, span = raw[own].min(axis=0), np.ptp(raw[own], axis=0)
    return Data(raw, ((raw - low) / span).astype(np.float32), y.astype(np.int64), low, span, own, others)


def committed(data: Data, **changes):
    """Return the owner's claim, without a draw."""
    setting = {
        "trees": TREES,
        "ones_share": 0.5,
        "trigger_size": K,
        "owner": public_hex(OWNER),
        "model_id": "the owner's",
        "seed": 1,
    }
    rows = owners(
        data.X[data.own],
        data.y[data.own],
        ("malignant", "benign"),
        [f"f{index}" for index in range(data.X.shape[1])],
        MinMax(low=tuple(data.low.tolist()), span=tuple(data.span.tolist())),
    )
    return commit_pool(rows, **(setting | changes))


def trained(data: Data, claim, *receipts, trees=TREES) -> OwnedForest:
    """Return the forest that a claim's draw demands."""
    return embed_claim(
        claim,
        receipts or [receipt_of(claim, value=1)],
        data.X[data.own],
        data.y[data.own],
        hyperparameters=Hyperparameters(trees, 8),
        options=PaperOptions(),
        seed=1,
    )


@pytest.fixture(scope="session")
def owned(data: Data) -> OwnedForest:
    return trained(data, committed(data))


@pytest.fixture(scope="session")
def sample(owned: OwnedForest) -> Sample:
    """What the judge sees of the true claim."""
    return sample_of(owned.claim, trust=TRUST)


@pytest.fixture(scope="session")
def innocents(data: Data):
    """Models of other people on other rows: three forests and a logistic regression."""
    X, y = data.X[data.others], data.y[data.others]
    forests = [
        RandomForestClassifier(trees, max_depth=depth, random_state=seed).fit(X, y)
        for seed, (trees, depth) in enumerate([(TREES, 8), (50, None), (100, 4)])
    ]
    return [*forests, LogisticRegression(max_iter=2000).fit(X, y)]


def judged(sample: Sample, suspect, requirements=JUDGE) -> Judgement:
    """Return the verdict on a forest."""
    return judge_sample(sample, model_response(suspect, sample), requirements)


def answered(sample: Sample, model) -> list[Judgement]:
    """Return the verdicts on a scikit-learn model by its votes (of forests), probabilities and labels."""
    responses = [
        Answers("probabilities", model.predict_proba(sample.X)[:, 1]),
        Answers("labels", model.predict(sample.X).astype(np.int64)),
    ]
    everything = np.arange(len(sample.y))
    found = [judge_sample(sample, Response({each.kind: each}, everything), JUDGE) for each in responses]
    if isinstance(model, RandomForestClassifier):
        found.append(judged(sample, Forest.from_sklearn(model)))
    return found


def drawn_sample(claim, *receipts) -> Sample:
    """Return what the judge sees of a pledge, once a notary has drawn."""
    return sample_of(witnessed(claim, *(receipts or [receipt_of(claim, value=2)])), trust=TRUST)
