"""WatermarkedForestClassifier: a random forest with a watermark, as a scikit-learn estimator.

The fitted estimator is secret: it holds claims and perhaps a key. Release `forest_`, or exports of it by
`wm.formats.export`. Features are not scaled, only converted to float32, as by scikit-learn's trees: claims
hold the raw rows. (Forgery attacks search [0, 1] only; to run them, scale first, in a pipeline.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from wm import streams
from wm.claims.claim import NONCE_BYTES
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.codebook import Marks
from wm.embedding import SCHEMES
from wm.embedding.boosted.scheme import REFUSAL
from wm.embedding.classifier import WatermarkedClassifier
from wm.embedding.common import trigger_size
from wm.embedding.drawn_claims import GivenClaim, by_trigger_rows, check_claim, drawn_rows
from wm.embedding.importances import impurity_importances
from wm.embedding.lineup.claimed import OwnedLineup
from wm.embedding.lineup.rows import fitted_lineup
from wm.embedding.merging import MergedRows
from wm.embedding.options import DEFAULTS, Training, TrainOptions
from wm.embedding.signature_sources import derived_signature, drawn_signature, given_signature
from wm.embedding.training import Caps, adjusted_caps, honest_forest
from wm.embedding.tuning import Hyperparameters
from wm.embedding.watermark import Plan, WatermarkedForest, watermark_rows
from wm.errors import ClaimError, EmbeddingError, FitError, SignatureError
from wm.forest import Forest
from wm.signature import Signature
from wm.streams import Role
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, verify

Adjustment = Literal["auto", "paper", "artifact"] | None


class WatermarkedForestClassifier(WatermarkedClassifier):
    """A random forest without bootstrap that carries its owner's watermark.

    Parameters
    ----------
    n_estimators
        m, trees of the forest; at least 2. With fewer than 23 of scheme "paper" no p-value can reach 10^-6,
        so that without `claim` a judge verifies nothing.
    signature
        m bits (a string, a sequence or a `Signature`), zeros and ones among them. None: derived from
        `owner_key`, else drawn.
    owner_key
        At least 16 secret bytes, or the path of a file that holds them, from which the signature is derived.
        A path, unlike the bytes, is no secret when parameters are printed.
    model_id
        The owner's name for the model, written into claims; distinguishes the models of one key.
    trigger_share
        Share of the distinct training rows that become the trigger set, in (0, 1); at least one row.
    ones_share
        Share of the trees that must err on the trigger set, for drawn and derived signatures; None: the
        scheme's default.
    scheme
        A key of `wm.embedding.SCHEMES`. "codebook" draws bits for each trigger row: it takes no signature and
        no owner_key. Nor does "lineup", for two classes only, whose honest forests have no trigger rows, and
        limits on trees only from the four parameters that scikit-learn has too; weights of rows must be whole
        numbers. "boosted" is for `WatermarkedBoostingClassifier`.
    training, least_weight, max_rounds
        As in `wm.embedding.options.TrainOptions`, with the defaults of `wm embed` and of campaigns.
    max_depth
        Of the standard forest, from which the limits of the watermarked one are taken; None: no limit.
    min_samples_leaf, max_features
        Of every tree, as in scikit-learn's forests. Leaves of many rows make a watermark cost more accuracy:
        a trigger row's leaf errs as a whole.
    class_weight
        "balanced", or a weight for each class; multiplies the rows' weights.
    missing
        "median": a missing value (NaN) becomes the median of its column's training rows, see `fill_`;
        "refuse".
    adjust
        Limits on the trees, which keep both kinds of trees alike: "paper" or "artifact", see
        `wm.embedding.training.adjusted_caps`; None: `max_depth` alone. "auto" tries these three in this order
        and takes the first within which the watermark fits; `caps_` has its limits.
    n_jobs
        Threads for training; changes no result.
    random_state
        Determines the trigger set, so it must be secret: None, for real watermarks, draws a fresh secret.

    Attributes
    ----------
    classes_ : (c,)
        Class labels.
    claim_ : Claim, PooledClaim or LineupClaim
        The owner's evidence for a judge, that given to `fit` if any. Not in pickles.
    forest_ : Forest
        Scrubbed, to be released. Its classes 0, 1, ... are `classes_` in order.
    caps_ : Caps
        The limits on the trees.
    fill_ : (d,), or None
        What stands for a missing value in each column: `forest_` takes filled rows. None: they are refused.
    feature_importances_ : (d,)
        See `wm.embedding.importances`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     *load_breast_cancer(return_X_y=True), random_state=0
    ... )
    >>> model = WatermarkedForestClassifier(n_estimators=40).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.85
    True
    >>> model.verify().exact_match
    True
    >>> claim = model.claim_  # a secret; model.forest_ is to be released
    >>> len(claim.signature)
    40
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 2, None, closed="left")],
        "signature": [None, str, Signature, "array-like"],
        "owner_key": [None, bytes, str, PathLike],
        "model_id": [str],
        "trigger_share": [Interval(Real, 0, 1, closed="neither")],
        "ones_share": [Interval(Real, 0, 1, closed="neither"), None],
        "scheme": [StrOptions(set(SCHEMES))],
        "training": [StrOptions(set(get_args(Training)))],
        "least_weight": ["boolean"],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "missing": [StrOptions({"median", "refuse"})],
        "adjust": [StrOptions({"auto", "paper", "artifact"}), None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 70,
        *,
        signature: Signature | Sequence[Any] | str | None = None,
        owner_key: bytes | str | PathLike[str] | None = None,
        model_id: str = "model",
        trigger_share: float = DEFAULTS.trigger_share,
        ones_share: float | None = None,
        scheme: str = "paper",
        training: Training = DEFAULTS.training,
        least_weight: bool = False,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        max_features: int | float | str | None = "sqrt",
        class_weight: dict[Any, float] | str | None = None,
        missing: Literal["median", "refuse"] = "median",
        adjust: Adjustment = "auto",
        max_rounds: int = DEFAULTS.max_rounds,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.signature = signature
        self.owner_key = owner_key
        self.model_id = model_id
        self.trigger_share = trigger_share
        self.ones_share = ones_share
        self.scheme = scheme
        self.training = training
        self.least_weight = least_weight
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.missing = missing
        self.adjust = adjust
        self.max_rounds = max_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # sklearn is untyped
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        claim: GivenClaim | None = None,
    ) -> Self:
        """Train the forest and embed the watermark.

        Parameters
        ----------
        X : (n, d)
            Finite in float32, or NaN for a missing value; a sparse matrix is made dense.
        y : (n,)
            Labels of any type, of two classes or more.
        sample_weight : (n,) or None
            Not negative; a row of weight 2 counts as two equal rows.
        claim
            A claim of version 3 (`wm.embedding.claimed.commit_pool`) or of a line-up
            (`wm.embedding.lineup.claimed.commit_lineup`) of these rows, with a beacon's receipt: the scheme
            and all that it fixes are those of the claim, `trigger_share`, `signature` and `owner_key` have no
            meaning, and a judge can verify it. None: a claim of version 2, or of a line-up without a beacon,
            which is an indication at best.

        Raises
        ------
        FitError
            Labels of one class only, a signature that does not fit the forest, a claim of other rows, trees
            or classes, or a watermark that does not fit.
            It is a ValueError, as are scikit-learn's own for malformed data.
        """
        rows = self._training_rows(X, y, sample_weight)
        seed = self._seed()
        made: WatermarkedForest | OwnedLineup
        try:
            if claim is not None:
                check_claim(claim, self._class_names(), trees=self.n_estimators)
            if not SCHEMES[self.scheme if claim is None else claim.header.scheme].trees_vote:
                raise FitError(REFUSAL)
            if isinstance(claim, LineupClaim) or (claim is None and not SCHEMES[self.scheme].marks_rows):
                made, self.caps_ = self._recognised(rows, seed, claim)
            else:
                made, self.caps_ = self._watermarked(rows, seed, claim)
        except (ClaimError, EmbeddingError, SignatureError) as reason:
            raise FitError(str(reason)) from reason
        self.claim_: Any = made.claim if claim is None else claim
        self.forest_ = made.forest
        self.feature_importances_ = impurity_importances(self.forest_, rows.X, rows.codes, rows.weight)
        return self

    def _refuse_given_bits(self, scheme: str) -> None:
        if self.signature is not None or self.owner_key is not None:
            raise SignatureError(
                f"scheme {scheme} draws its bits: a signature or an owner_key is for scheme paper"
            )

    def _marks(self, seed: int, rows: int) -> Marks:
        if self.signature is not None and self.owner_key is not None:
            raise SignatureError("give a signature or an owner_key, not both")
        trees, scheme = self.n_estimators, SCHEMES[self.scheme]
        ones_share = scheme.ones_share if self.ones_share is None else self.ones_share
        rng = streams.generator(seed, Role.OWNER_SIGNATURE, 0)
        if self.scheme != "paper":
            self._refuse_given_bits(self.scheme)
            return scheme.draw(trigger_size(rows, self._trigger_share(rows)), trees, ones_share, rng)
        if self.signature is not None:
            return given_signature(self.signature, trees)
        if self.owner_key is not None:
            return derived_signature(self.owner_key, self.model_id, trees, ones_share)
        return drawn_signature(rng, trees, ones_share)

    def _trigger_share(self, rows: int) -> float:
        """Return the share that gives at least one trigger row, however few rows there are."""
        return max(self.trigger_share, 1 / rows)

    def _recognised(self, rows: MergedRows, seed: int, claim: LineupClaim | None) -> tuple[OwnedLineup, Caps]:
        """Return the honest forest of a line-up, and the limits on its trees."""
        self._refuse_given_bits("lineup")
        limits = self._caps(Caps(self.max_depth, None))
        owned = fitted_lineup(
            rows,
            rows.codes,
            claim,
            names=self._class_names(),
            features=self._feature_names(rows.X.shape[1]),
            trees=self.n_estimators,
            model_id=self.model_id,
            limits=limits,
            # A seed of 62 bits is for rehearsals: a real claim's secrets have 256.
            seed=self._secret_seed(seed),
            n_jobs=int(self.n_jobs or 1),
        )
        return owned, limits

    def _watermarked(
        self, rows: MergedRows, seed: int, claim: PooledClaim | None
    ) -> tuple[WatermarkedForest, Caps]:
        """Return the watermarked forest and its limits; a claim draws signature or codebook, and rows."""
        drawn = None if claim is None else drawn_rows(claim, claim.receipts, rows.X, rows.codes)
        attempts = list(self._limits(rows, seed))
        for attempt, caps in enumerate(attempts, start=1):
            plan = Plan(
                scheme=self.scheme if claim is None else claim.header.scheme,
                signature=self._marks(seed, len(rows.codes)) if drawn is None else drawn.signature,
                trigger_rows=None if drawn is None else drawn.trigger_rows,
                trigger_share=self._trigger_share(len(rows.codes)),
                caps=caps,
                seed=seed,
                repeat=0,
                model_id=self.model_id,
                fit=TrainOptions.of(
                    training=str(self.training),
                    max_rounds=int(self.max_rounds),
                    least_weight=bool(self.least_weight),
                    n_jobs=int(self.n_jobs or 1),
                ),
                nonce=streams.generator(seed, Role.OWNER_NONCE, 0).bytes(NONCE_BYTES),
            )
            try:
                made = watermark_rows(
                    rows.X, rows.codes, self._class_names(), plan, sample_weight=rows.uneven
                )
            except EmbeddingError:
                if attempt == len(attempts):
                    raise
            else:
                return made, caps
        raise AssertionError("no limits were tried")

    def _limits(self, rows: MergedRows, seed: int) -> Iterator[Caps]:
        """Yield the limits to try, the strictest first."""
        chosen = Hyperparameters(self.n_estimators, self.max_depth)
        if self.adjust is not None:
            standard = honest_forest(
                rows.X,
                rows.codes,
                n_trees=self.n_estimators,
                caps=self._caps(Caps(self.max_depth, None)),
                seed=streams.integer_seed(seed, Role.STANDARD_FOREST, 0),
                sample_weight=rows.uneven,
                n_jobs=self.n_jobs or 1,
            )
            if self.adjust in ("auto", "paper"):
                yield self._caps(adjusted_caps(standard, chosen.max_depth, "paper"))
            if self.adjust in ("auto", "artifact"):
                yield self._caps(adjusted_caps(standard, chosen.max_depth, "artifact"))
        if self.adjust in ("auto", None):
            yield self._caps(Caps(self.max_depth, None))

    def _caps(self, caps: Caps) -> Caps:
        return replace(caps, min_samples_leaf=self.min_samples_leaf, max_features=self.max_features)

    def predict_all(self, X: ArrayLike) -> NDArray[Any]:
        """Return each tree's vote, the model's output in the paper.

        Parameters
        ----------
        X : (n, d)

        Returns
        -------
        (n, m) class labels.
        """
        rows = self._checked(X)
        labels: NDArray[Any] = self.classes_[self.forest_.vote_codes(rows)]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of votes for each class: (n, c), rows sum to 1."""
        rows = self._checked(X)
        return self.forest_.vote_shares(rows)

    def verify(self, suspect: Forest | None = None, *, level: float = DEFAULT_LEVEL) -> Evidence:
        """Judge this estimator's claim against a suspect's forest, by default its own.

        Parameters
        ----------
        suspect
            Its classes are 0, 1, ..., as those of `forest_`.
        level
            Level for the p-value, in (0, 1).

        Raises
        ------
        ClaimError
            A copy from a pickle, a line-up, which `wm.verify` judges by its training rows, or a forest that
            the claim does not fit; see
            `wm.verification.evidence.verify`.
        """
        claim = by_trigger_rows(self._kept_claim(), self.forest_)
        forest = self.forest_ if suspect is None else suspect
        triggers = claim.trigger_set
        return verify(forest.votes(triggers.X), triggers.y, claim.bits, level=level)
