"""A classifier of queries, trained on shadow models: forests that the attacker watermarks itself.

The attacker knows the scheme and has rows of the same kind, but not the owner's trigger set. Each shadow
model is watermarked on one part of these rows and answers its trigger rows and rows of a second part. A
classifier learns to separate the two by features that mean the same on any forest: how the votes divide, how
often in the same way, how much along the leading direction, and how far from the votes of an honest forest
that is trained on a third part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.attacks.detection.spectrum import vote_spectrum
from wm.attacks.divisions import disagreement, majority, repeats
from wm.attacks.populations import watermarked_forest
from wm.attacks.suppression.scores import threshold_at_limit
from wm.embedding import SCHEMES
from wm.embedding.common import draw_trigger_rows
from wm.embedding.divided import draw_divided_rows
from wm.embedding.options import PoolRows
from wm.embedding.training import Caps, honest_forest
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.streams import Role

FEATURES = ("disagreement", "repeats", "nearest", "along", "surprise", "doubt")
"""Columns of `query_features`."""

_NEAREST_AMONG = 1500
"""Largest number of queries, the most divided first, among which the nearest division is searched."""


@dataclass(frozen=True)
class ShadowPlan:
    """The attacker's training of shadow models."""

    n_trees: int
    """Trees of each forest, as of the suspect."""
    caps: Caps
    """Limits on each tree, as of the suspect."""
    trigger_rows: int
    """Trigger rows of each shadow model."""
    shadows: int = 4
    """Watermarked models trained; at least 2: the last one sets the threshold."""
    scheme: str = "paper"
    """A key of `wm.embedding.SCHEMES`."""
    seed: int = 0
    repeat: int = 0
    """Seed and repeat of the attacker's streams."""
    pool_rows: PoolRows = "any"
    """How the owner is thought to choose trigger rows."""
    ones_share: float | None = None
    """Share of ones of the shadow models' marks; None: the scheme's own."""


@dataclass(frozen=True, eq=False)
class Spotter:
    """A trained classifier of queries."""

    threshold: float
    """A query with at least this score is suspected: 1% of ordinary queries of the last shadow model."""
    reference: Forest
    """An honest forest, trained on all of the attacker's rows."""
    _model: Any

    def scores(self, X: NDArray[np.float32], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how suspicious each query of a stream is: rows (n, d) and votes (n, m) -> (n,) in [0, 1]."""
        scores: NDArray[np.float64] = self._model.predict_proba(query_features(X, codes, self.reference))[
            :, 1
        ]
        return scores


def query_features(
    X: NDArray[np.float32], codes: NDArray[np.int64], reference: Forest
) -> NDArray[np.float64]:
    """Return the columns `FEATURES` for each query of a stream: (n, 6).

    Parameters
    ----------
    X : (n, d)
    codes : (n, m)
        The suspect's votes: 0, 1, ....
    reference
        An honest forest; its number of trees need not be m, and its classes, whole numbers like the votes,
        may lack some that were not among its rows.
    """
    spectrum = vote_spectrum(codes)
    divided = disagreement(codes)
    # A unanimous query has length 0 and projection 0; the floor keeps the ratio at 0.
    length = np.sqrt(np.maximum(divided * (1 - divided) * codes.shape[1], 1e-9))
    commonest = majority(codes)
    share = (codes == commonest[:, None]).mean(axis=1)
    honest = np.zeros((len(X), 1 + max(codes.max(initial=0), reference.classes.max())))
    honest[:, reference.classes] = reference.vote_shares(X)
    honest_share = honest[np.arange(len(X)), commonest]
    return np.stack(
        [
            divided,
            np.log1p(repeats(codes)),
            _nearest(codes, divided),
            np.abs(spectrum.projections) / length,
            np.abs(share - honest_share),
            1.0 - honest.max(axis=1),
        ],
        axis=1,
    )


def _nearest(codes: NDArray[np.int64], divided: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the similarity, up to complement, of the most similar other division: (n,) in [0, 1]."""
    agrees = np.where(codes == majority(codes)[:, None], 1.0, -1.0)
    agrees -= agrees.mean(axis=1, keepdims=True)
    length = np.linalg.norm(agrees, axis=1)
    found = np.zeros(len(codes))
    compared = np.argsort(-divided, kind="stable")[:_NEAREST_AMONG]
    compared = compared[length[compared] > 1e-9]
    unit = agrees[compared] / length[compared][:, None]
    similarity = np.abs(unit @ unit.T)
    np.fill_diagonal(similarity, 0.0)
    if len(compared) > 1:
        found[compared] = np.minimum(1.0, similarity.max(axis=1))
    return found


def train_spotter(X: NDArray[np.float32], y: NDArray[np.int64], plan: ShadowPlan) -> Spotter:
    """Train shadow models on the attacker's rows and a classifier of their queries.

    Parameters
    ----------
    X : (n, d) float32
        The attacker's rows.
    y : (n,)
        Their labels, 0, 1, ....

    Raises
    ------
    EmbeddingError
        Too few rows, or a shadow whose watermark does not fit.
    """
    from sklearn.ensemble import RandomForestClassifier

    if plan.shadows < 2:
        raise EmbeddingError(
            f"{plan.shadows} shadow models are too few: one trains, another sets the threshold"
        )
    if len(X) < 6 * max(2, plan.trigger_rows):
        raise EmbeddingError(
            f"{len(X)} rows are too few for shadow models with {plan.trigger_rows} trigger rows: at least "
            f"{6 * max(2, plan.trigger_rows)} are needed"
        )
    streams_of = [_shadow_stream(X, y, plan, number) for number in range(plan.shadows)]
    features = np.concatenate([found for found, _ in streams_of[:-1]])
    truth = np.concatenate([is_trigger for _, is_trigger in streams_of[:-1]])
    model = RandomForestClassifier(
        200,
        min_samples_leaf=2,
        class_weight="balanced",
        random_state=streams.integer_seed(plan.seed, Role.ATTACKER_SHADOWS, plan.repeat, "classifier"),
    ).fit(features, truth)
    held_out, is_trigger = streams_of[-1]
    ordinary = model.predict_proba(held_out)[~is_trigger, 1]
    return Spotter(
        threshold=threshold_at_limit(ordinary), reference=_reference(X, y, plan, "all"), _model=model
    )


def _reference(X: NDArray[np.float32], y: NDArray[np.int64], plan: ShadowPlan, part: int | str) -> Forest:
    seed = streams.integer_seed(plan.seed, Role.ATTACKER_SHADOWS, plan.repeat, "reference", part)
    return honest_forest(X, y, n_trees=plan.n_trees, caps=plan.caps, seed=seed)


def _shadow_stream(
    X: NDArray[np.float32], y: NDArray[np.int64], plan: ShadowPlan, number: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the features of one shadow model's queries, and which of them are its trigger rows."""
    rng = streams.generator(plan.seed, Role.ATTACKER_SHADOWS, plan.repeat, number)
    order = rng.permutation(len(X))
    marked, ordinary, honest = np.split(order, [len(X) // 2, 3 * len(X) // 4])
    rows = draw_trigger_rows(X[marked], plan.trigger_rows, rng)
    seeds = rng.choice(2**31 - 1, size=2, replace=False)
    scheme = SCHEMES[plan.scheme]
    share = scheme.ones_share if plan.ones_share is None else plan.ones_share
    if plan.pool_rows == "divided":
        rows = draw_divided_rows(X[marked], y[marked], plan.trigger_rows, share, caps=plan.caps, rng=rng)
    signature = scheme.draw(plan.trigger_rows, plan.n_trees, share, rng)
    forest = watermarked_forest(X[marked], y[marked], signature, rows, plan.caps, seeds, plan.scheme)
    queries = np.concatenate([X[marked][rows], X[ordinary]])
    reference = _reference(X[honest], y[honest], plan, number)
    features = query_features(queries, forest.votes(queries), reference)
    return features, np.arange(len(queries)) < len(rows)
