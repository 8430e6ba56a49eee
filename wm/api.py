"""The calls that most users need: embed a watermark, verify a claim, audit a model.

More options are in `wm.embedding.watermark`, `wm.verification.verdict` and `wm.attacks.leakage`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import ArrayLike

from wm.attacks.leakage import LeakageReport, inspect
from wm.attacks.leakage.files import inspect_file, inspect_object
from wm.attacks.leakage.margins import inspect_model
from wm.claims.beacons.base import Receipt, Trust
from wm.claims.claim import Claim
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.claims.opened import OpenedClaim
from wm.claims.pooled import PooledClaim
from wm.claims.reading import AnyClaim, read_any_claim
from wm.datasets.preparing import Categorical
from wm.embedding import scheme_of
from wm.embedding.boosted.claimed import OwnedBoosted, embed_boosted, trees_of_rounds
from wm.embedding.claimed import OwnedForest, commit_pool, embed_claim, own_receipt, owner_key
from wm.embedding.common import trigger_size
from wm.embedding.lineup.boosting import OwnedBoostedLineup
from wm.embedding.lineup.claimed import OwnedLineup
from wm.embedding.lineup.context import canonical_rows
from wm.embedding.lineup.rows import embed_rows
from wm.embedding.options import DEFAULT_CANDIDATES, BoostedOptions, PoolRows
from wm.embedding.tuning import Hyperparameters
from wm.errors import ClaimError, EmbeddingError, WmError
from wm.forest import Forest
from wm.formats.objects import model_of
from wm.formats.reading import read_model
from wm.formats.sklearn_metadata import REQUIRED
from wm.models import TreeModel
from wm.owner_rows import OwnerRows, rows_of_claim
from wm.verification.answers import checked_answers, model_votes
from wm.verification.judgement import Judgement, Requirements, Response, judge_sample
from wm.verification.lineup.models import judge_model
from wm.verification.lineup.order import Counts
from wm.verification.samples import sample_of
from wm.verification.suspects import suspect_response
from wm.verification.transcript import judge_old_claim


@overload
def embed(
    X: ArrayLike, y: ArrayLike, *, scheme: Literal["lineup"], boosting: Literal[True], **options: Any
) -> OwnedBoostedLineup: ...


@overload
def embed(X: ArrayLike, y: ArrayLike, *, scheme: Literal["lineup"], **options: Any) -> OwnedLineup: ...


@overload
def embed(
    X: ArrayLike, y: ArrayLike, *, scheme: Literal["paper", "codebook"] = ..., **options: Any
) -> OwnedForest: ...


@overload
def embed(X: ArrayLike, y: ArrayLike, *, scheme: Literal["boosted"], **options: Any) -> OwnedBoosted: ...


@overload
def embed(
    X: ArrayLike, y: ArrayLike, *, scheme: str, **options: Any
) -> OwnedForest | OwnedLineup | OwnedBoosted | OwnedBoostedLineup: ...


def embed(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_estimators: int = 70,
    max_depth: int | None = None,
    trigger_rows: int | None = None,
    pool_size: int | None = None,
    pool_rows: PoolRows = "any",
    scheme: str = "paper",
    key: Ed25519PrivateKey | None = None,
    beacon: Callable[[Any], Receipt] | None = None,
    feature_names: Sequence[str] | None = None,
    categorical: Categorical = "refuse",
    missing: Literal["refuse", "median"] = "refuse",
    model_id: str = "model",
    seed: int | None = None,
    n_jobs: int = 1,
    **options: Any,
) -> OwnedForest | OwnedLineup | OwnedBoosted | OwnedBoostedLineup:
    """Train a forest that carries a watermark, and make its owner's claim.

    The owner commits to a pool of rows, a beacon's value draws trigger rows and signature, and the forest is
    trained as they say; in scheme "boosted" a boosted model. In scheme "lineup" the owner commits to keys,
    and the forest is an honest one whose seeds follow from them and from the beacon's value.

    Parameters
    ----------
    X : (n, d)
        Training rows, as the model will take them; finite in float32. Or a pandas frame of raw rows: the
        model and its claim keep how they became numbers (docs/tables.md).
    y : (n,)
        Labels of up to 100 classes, two in scheme "lineup"; sorted, they are the forest's classes 0, 1, ....
    n_estimators
        m, number of trees; at least 2. Of boosted models the rounds: of more than two classes each has a
        tree for each class.
    max_depth
        Depth of the standard forest, which sets the limits of the watermarked one, or of the trees of a
        line-up, or of boosted trees; None: no limit, but 3 for these.
    trigger_rows
        k; None: ``trigger_share`` of the rows.
    pool_size
        N, rows that the owner commits to; None: all that occur once, up to 2,000.
    pool_rows
        "any", or "divided": rows on which honest trees are divided, for scheme "codebook" (docs/schemes.md).
    scheme
        A key of `wm.embedding.SCHEMES`: how the forest is marked, or recognised (docs/schemes.md).
    key
        The owner's, from `wm.claims.keys`; None makes one that is lost: nobody can open this claim in parts.
    beacon
        Returns a receipt for the claim's commitment; None: the owner's own randomness, with which no verdict
        is better than an indication.
    feature_names
        d names; None: x0, x1, ..., or the frame's.
    categorical, missing
        Of a frame: what becomes of text ("refuse", "onehot" or "ordinal"), and of missing values ("refuse" or
        "median"), as in `wm.datasets.Source`.
    model_id
        The owner's name for the model, written into the claim.
    seed
        0 or more, for rehearsals: whoever guesses it knows the secret. Real watermarks use None, which draws
        fresh secrets from the system.
    n_jobs
        Threads, as joblib counts them; they change no result.
    **options
        Fields of the scheme's options, as `wm.embedding.options.PaperOptions`: ``trigger_share``,
        ``ones_share``, ``training``, ``adjust``, ``weight_step``, ``max_rounds``; for "lineup"
        ``min_samples_leaf``, ``max_features`` and ``bootstrap``, or for a boosted model ``boosting=True``,
        ``learning_rate`` and ``subsample``, as `wm.embedding.options.LineupOptions`; for
        "boosted" ``trigger_share``, ``learning_rate``, ``fit_share`` and ``max_weight``, as
        `wm.embedding.options.BoostedOptions`.

    Returns
    -------
    `OwnedForest`, or `OwnedLineup` for "lineup": release its ``forest`` (``save`` keeps the names with it),
    keep its ``claim`` secret. `OwnedBoosted` for "boosted", `OwnedBoostedLineup` for "lineup" with
    ``boosting``: release what its ``save`` writes, XGBoost's json with the same names; XGBoost takes model
    input.

    Raises
    ------
    DataError
        Unusable rows or labels.
    EmbeddingError
        Impossible options, a claim that could never be verified, or a watermark that does not fit.

    Examples
    --------
    >>> import wm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> owned = wm.embed(X, y, n_estimators=40, trigger_rows=7)
    >>> owned.evidence.matched_bits, owned.evidence.total_bits
    (280, 280)
    >>> owned.forest.accuracy(X, y) > 0.9
    True
    >>> owned.save("forest.npz")  # doctest: +SKIP

    An honest forest that can be recognised:

    >>> owned = wm.embed(X, y, n_estimators=40, max_depth=8, scheme="lineup")
    >>> wm.verify(owned.claim, owned.forest, rows=(X, y), candidates=10).log10_p < -20
    True
    """
    chosen = scheme_of(scheme)
    _check_jobs(n_jobs, EmbeddingError)
    given = OwnerRows.of(X, y, feature_names=feature_names, categorical=categorical, missing=missing)
    if beacon is not None and not callable(beacon):
        raise EmbeddingError("beacon is a function that returns a receipt for a claim, or None")
    owner = public_hex(owner_key(seed) if key is None else key)
    if not chosen.marks_rows:
        if trigger_rows is not None or pool_size is not None or pool_rows != "any":
            raise EmbeddingError(f"scheme {scheme} has no trigger rows and no pool: leave them out")
        return embed_rows(
            given,
            trees=n_estimators,
            max_depth=max_depth,
            owner=owner,
            model_id=model_id,
            beacon=beacon,
            seed=seed,
            n_jobs=n_jobs,
            options=options,
        )
    if trigger_rows is not None and "trigger_share" in options:
        raise EmbeddingError("trigger_rows and trigger_share exclude each other: give one of them")
    fields = chosen.options.of(**options)
    try:
        hyperparameters = Hyperparameters(n_estimators, max_depth)
    except ValueError as reason:
        raise EmbeddingError(str(reason)) from reason
    size = trigger_size(len(given.X), fields.trigger_share) if trigger_rows is None else trigger_rows
    claim = commit_pool(
        given,
        trees=trees_of_rounds(scheme, n_estimators, len(given.class_names)),
        ones_share=fields.ones_share,
        trigger_size=size,
        owner=owner,
        model_id=model_id,
        scheme=scheme,
        pool_size=pool_size,
        pool_rows=pool_rows,
        seed=seed,
    )
    receipts = [own_receipt(seed) if beacon is None else beacon(claim)]
    if isinstance(fields, BoostedOptions):
        return embed_boosted(
            claim,
            receipts,
            given.X,
            given.y,
            options=fields,
            max_depth=max_depth,
            seed=secrets.randbits(62) if seed is None else seed,
        )
    made = embed_claim(
        claim,
        receipts,
        given.X,
        given.y,
        hyperparameters=hyperparameters,
        options=fields,
        seed=secrets.randbits(62) if seed is None else seed,
        n_jobs=n_jobs,
    )
    return replace(made, interface=given.interface)


def verify(
    claim: AnyClaim | str | Path,
    suspect: Any,
    *,
    trust: Trust | None = None,
    log: Sequence[str] = (),
    requirements: Requirements | None = None,
    rows: tuple[Any, ArrayLike] | None = None,
    candidates: int | Forest = DEFAULT_CANDIDATES,
    counts: Counts | None = None,
    n_jobs: int = 1,
) -> Judgement:
    """Judge whether a suspect carries the watermark of a claim.

    Parameters
    ----------
    claim
        As `wm.claims.reading.read_any_claim` returns it, which refuses edited files; or its file.
    suspect
        A model's file, a `Forest`, a model that `wm.formats.objects.model_of` reads, a
        `WatermarkedForestClassifier`, or votes of 0, 1, ...: a row for each row that the claim shows, a
        column for each tree in order. Of more than two classes, a boosted model only for a claim on one.
    trust
        Beacons that the judge trusts; None: none, so that no verdict is better than an indication.
    log
        Lines of the notary's log, if the judge has it.
    requirements
        Level, age of the suspect, challenge; None: the defaults.
    rows
        For a claim of scheme "lineup": the owner's training rows and their labels, as they were embedded; of
        one that commits to its candidates rows of the judge's own of the same kind: chosen by the claimant,
        they could make any suspect look like a copy.
    candidates
        For it: number of trees that each tree is compared with, or the candidates that it commits to.
    counts, n_jobs
        For it: number of queries of each kind, and threads.

    Raises
    ------
    ClaimError
        Votes that do not fit the claim, a claim without a draw, or a line-up without its rows.
    ModelError
        A model that cannot be read, or that does not take the claim's rows; a boosted model of more than two
        classes for a claim on a forest.

    Notes
    -----
    The p-value is that of the null hypothesis that the suspect is independent of the beacon's draw. What each
    verdict proves, and what it does not: docs/security.md.

    Examples
    --------
    >>> import wm
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> owned = wm.embed(X, y, n_estimators=40, seed=1)  # a rehearsal: no beacon, and a seed
    >>> found = wm.verify(owned.claim, owned.forest)
    >>> print(found.verdict, found.log10_p < -10)
    indication True
    >>> honest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    >>> print(wm.verify(owned.claim, honest).verdict)
    not verified
    """
    _check_jobs(n_jobs, ClaimError)
    if isinstance(claim, str | Path):
        claim = read_any_claim(claim)
    if not isinstance(claim, Claim | PooledClaim | OpenedClaim | LineupClaim | OpenedLineup):
        raise ClaimError(f"a claim, or its file, comes first, not {type(claim).__name__}")
    model = _model_of(read_model(suspect) if isinstance(suspect, str | Path) else suspect)
    asked = requirements or Requirements()
    if isinstance(claim, Claim):
        forest = None if model is None else model.voting_forest("the suspect")
        votes = suspect if forest is None else model_votes(forest, claim.trigger_set.X, claim.class_names)
        return judge_old_claim(claim, votes, level=asked.level, suspect=forest)
    if isinstance(claim, LineupClaim | OpenedLineup):
        if not isinstance(rows, tuple | list) or len(rows) != 2 or model is None:
            raise ClaimError(
                "a claim of scheme lineup is judged with the owner's training rows, rows=(X, y), and the "
                "suspect as a model; of votes or labels by wm.verification.lineup.judgement.judge_lineup"
            )
        return judge_model(
            claim,
            model,
            canonical_rows(*rows_of_claim(*rows, claim.header.class_names, claim.header.preparation)),
            candidates=candidates,
            counts=counts,
            requirements=asked,
            trust=trust,
            log=tuple(log),
            n_jobs=n_jobs,
        )
    sample = sample_of(claim, trust=trust, log=tuple(log))
    if model is not None:
        return judge_sample(sample, suspect_response(model, sample, what="the suspect"), asked)
    votes = checked_answers(
        "votes", suspect, class_names=sample.header.class_names, error=ClaimError, what="the suspect"
    )
    if len(votes) != len(sample.y):
        raise ClaimError(f"the claim shows {len(sample.y)} rows, but {len(votes)} are answered")
    return judge_sample(sample, Response({"votes": votes}, np.arange(len(sample.y))), asked)


def _check_jobs(n_jobs: int, error: type[WmError]) -> None:
    if n_jobs == 0:
        raise error("n_jobs is 0: give 1 or more threads, or -1 for all cores")


def _model_of(suspect: Any) -> TreeModel | None:
    """Return a suspect model, None for votes."""
    if isinstance(suspect, Forest):
        return TreeModel("treeproof", suspect, classes=suspect.classes)
    if isinstance(suspect, TreeModel):
        return suspect
    trees = isinstance(suspect, list | tuple) and bool(suspect) and hasattr(suspect[0], "predict")
    if not trees and not hasattr(suspect, "predict"):
        return None
    return model_of(suspect)


def audit(model: Any, *, trusted: Sequence[str] = ()) -> LeakageReport:
    """Report what a model's file reveals of its watermark, apart from its votes.

    Parameters
    ----------
    model
        A `Forest`, a model that `wm.formats.objects.model_of` reads, or the path of a file that
        `wm.formats.reading.read_model` reads; pickles are not loaded.
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
    >>> "".join(map(str, careless.signature)) == str(owned.signature)
    True
    """
    if isinstance(model, str | PathLike):
        return inspect_file(Path(model), trusted=trusted)
    if isinstance(model, TreeModel):
        return inspect_model(model)
    if not isinstance(model, Forest):
        return inspect_object(model)
    return inspect(**{name: getattr(model, name) for name in REQUIRED})
