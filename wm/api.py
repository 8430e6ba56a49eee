"""The calls that most users need: embed a watermark, verify a claim, audit a model.

More options are in `wm.embedding.watermark`, `wm.verification.verdict` and `wm.attacks.leakage`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm import streams
from wm.attacks.leakage import LeakageReport, inspect
from wm.claims.claim import NONCE_BYTES, Claim
from wm.claims.opening import Opening
from wm.embedding.common import OnRound
from wm.embedding.options import PaperOptions, TrainOptions
from wm.embedding.signature_sources import drawn_signatures, given_signatures
from wm.embedding.training import adjusted_caps, honest_forest, standard_caps
from wm.embedding.tuning import Hyperparameters
from wm.embedding.watermark import Plan, WatermarkedForest, watermark_rows
from wm.errors import DataError, EmbeddingError
from wm.forest import Forest
from wm.formats.export import load_metadata
from wm.formats.forest_checks import as_matrix
from wm.formats.sklearn_metadata import REQUIRED, from_model
from wm.signature import Signature
from wm.streams import Role
from wm.verification.answers import model_votes
from wm.verification.rules import Policy
from wm.verification.verdict import Verdict, judge


def embed(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_estimators: int = 70,
    max_depth: int | None = None,
    signature: Signature | str | Sequence[int] | None = None,
    model_id: str = "model",
    seed: int | None = None,
    created: str | None = None,
    n_jobs: int = 1,
    **options: Any,
) -> WatermarkedForest:
    """Train a forest that carries a watermark, and make its owner's claim.

    Parameters
    ----------
    X : (n, d)
        Training rows, as the model will take them; finite in float32.
    y : (n,)
        Labels of two classes; the greater one is the forest's class 1.
    n_estimators
        m, number of trees; at least 2.
    max_depth
        Depth of the standard forest, which sets the limits of the watermarked one; None: no limit.
    signature
        m bits, zeros and ones among them; None draws them.
    model_id
        The owner's name for the model, written into the claim.
    seed
        0 or more. It reveals signature and trigger set to anyone who knows it; so real watermarks use None,
        which draws fresh secrets from the system.
    created
        Date for the claim, ISO 8601.
    n_jobs
        Threads, as joblib counts them; they change no result.
    **options
        Fields of `wm.embedding.options.PaperOptions`: ``trigger_share``, ``ones_share``, ``training``,
        ``adjust``, ``weight_step``, ``max_rounds``.

    Returns
    -------
    `WatermarkedForest`: release its ``forest``, keep its ``claim`` secret.

    Raises
    ------
    DataError
        Unusable rows or labels.
    EmbeddingError
        Impossible options, or a watermark that does not fit.
    SignatureError
        A signature that does not fit the forest.

    Examples
    --------
    >>> import wm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> owned = wm.embed(X, y, n_estimators=40, trigger_share=0.01)
    >>> owned.evidence.matched_bits, owned.evidence.total_bits
    (200, 200)
    >>> owned.forest.accuracy(X, y) > 0.9
    True
    >>> owned.forest.save("forest.npz")  # doctest: +SKIP
    """
    chosen = PaperOptions.of(**options)
    try:
        hyperparameters = Hyperparameters(n_estimators, max_depth)
    except ValueError as reason:
        raise EmbeddingError(str(reason)) from reason
    rows, codes, names = _training_rows(X, y)
    secret = secrets.randbits(62) if seed is None else seed
    if signature is None:
        (bits,) = drawn_signatures(secret, 1, n_estimators, chosen.ones_share)
    else:
        (bits,) = given_signatures(signature, 1, n_estimators)
    made, _ = embed_with_standard(
        rows,
        codes,
        names,
        hyperparameters=hyperparameters,
        options=chosen,
        signature=bits,
        seed=secret,
        model_id=model_id,
        n_jobs=n_jobs,
        nonce=streams.generator(secret, Role.OWNER_NONCE, 0).bytes(NONCE_BYTES),
        created=created,
    )
    return made


def embed_with_standard(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    class_names: tuple[str, str],
    *,
    hyperparameters: Hyperparameters,
    options: PaperOptions,
    seed: int,
    n_jobs: int = 1,
    on_round: OnRound | None = None,
    **plan: Any,
) -> tuple[WatermarkedForest, Forest]:
    """Train a standard forest, derive the trees' limits from it, and embed a watermark within these.

    Parameters and errors as in `wm.embedding.watermark.watermark_rows`; `plan` holds the other fields of
    `wm.embedding.watermark.Plan`. Returns the watermarked forest and the standard one.
    """
    standard = honest_forest(
        X,
        y,
        n_trees=hyperparameters.n_estimators,
        caps=standard_caps(hyperparameters),
        seed=streams.integer_seed(seed, Role.STANDARD_FOREST),
    )
    chosen = Plan(
        **({"scheme": "paper"} | plan),
        trigger_share=options.trigger_share,
        caps=adjusted_caps(standard, hyperparameters, options.adjust),
        seed=seed,
        repeat=0,
        fit=TrainOptions(**options.fit_options(), n_jobs=n_jobs),
    )
    return watermark_rows(X, y, class_names, chosen, on_round=on_round), standard


def _training_rows(
    X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[np.float32], NDArray[np.int64], tuple[str, str]]:
    """Return the rows in float32, 0 or 1 for each label, and the names of the two classes."""
    rows, labels = as_matrix(X, None, error=DataError), np.asarray(y)
    if labels.shape != (len(rows),):
        raise DataError(f"rows have shape {rows.shape}, labels {labels.shape}: (n, d) and (n,) are needed")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise DataError(
            f"the labels are of {len(classes)} classes: two are needed; for more, "
            "WatermarkedForestClassifier makes a forest for each"
        )
    return rows, codes.astype(np.int64), (str(classes[0]), str(classes[1]))


def verify(
    claim: Claim | Opening,
    suspect: Any,
    *,
    published: Collection[str] | None = None,
    policy: Policy | None = None,
    challenge: bytes | None = None,
) -> Verdict:
    """Judge whether a suspect carries the watermark of a claim.

    Parameters
    ----------
    claim
        As `wm.claims.opening.read_claim_or_opening` returns it, which refuses edited files.
    suspect
        A `Forest`, a model that `Forest.from_sklearn` reads, a `WatermarkedForestClassifier` for two classes,
        or votes, (k, m), of 0 and 1: a row for each row of the claim, a column for each tree in order.
    published
        Commitments known to be older than the suspect; None leaves this rule unchecked.
    policy
        The judge's requirements; None: the defaults of `wm.verification.rules.Policy`.
    challenge
        The judge's, for a claim of which only some rows are opened.

    Raises
    ------
    ClaimError
        Votes or classes that do not fit the claim.
    ModelError
        A model that cannot be read, or that does not take the claim's rows.

    Examples
    --------
    >>> import wm
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> owned = wm.embed(X, y, n_estimators=40, seed=1)  # a real owner gives no seed
    >>> verdict = wm.verify(owned.claim, owned.forest, published=[owned.claim.commitment])
    >>> verdict.accepted, verdict.evidence.exact_match
    (True, True)
    >>> honest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    >>> print(*wm.verify(owned.claim, honest).stopped_by, sep=", ")
    distinct cells, p-value
    """
    forest = _forest_of(suspect)
    votes = suspect if forest is None else model_votes(forest, claim.trigger_set.X, claim.class_names)
    return judge(claim, votes, policy=policy, published=published, suspect=forest, challenge=challenge)


def _forest_of(suspect: Any) -> Forest | None:
    """Return a suspect's forest, None for votes."""
    if isinstance(suspect, Forest):
        return suspect
    trees = isinstance(suspect, list | tuple) and bool(suspect) and hasattr(suspect[0], "predict")
    if not trees and not hasattr(suspect, "predict"):
        return None
    own: tuple[Forest, ...] = getattr(suspect, "forests_", ())
    return own[0] if len(own) == 1 else Forest.from_sklearn(suspect)


def audit(model: Any, *, trusted: Sequence[str] = ()) -> LeakageReport:
    """Report what a model's file reveals of its watermark, apart from its votes.

    Parameters
    ----------
    model
        A `Forest`, a model that `Forest.from_sklearn` reads, or the path of an npz or skops file; pickles are
        not loaded.
    trusted
        Full names of types that a skops file may hold.

    Raises
    ------
    ModelError
        Another object, or a damaged file.

    Examples
    --------
    The released forest reveals nothing, its training record nearly everything:

    >>> import wm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> owned = wm.embed(X, y, n_estimators=20, training="paper", seed=1)
    >>> wm.audit(owned.forest).leaks
    False
    >>> careless = wm.audit(list(owned.embedded.trees))
    >>> careless.leaks
    True
    >>> "".join(map(str, careless.signature)) == owned.claim.signature
    True
    """
    if isinstance(model, str | PathLike):
        return inspect(**load_metadata(Path(model), trusted=trusted).arguments())
    if not isinstance(model, Forest):
        return inspect(**from_model(model).arguments())
    return inspect(**{name: getattr(model, name) for name in REQUIRED})
