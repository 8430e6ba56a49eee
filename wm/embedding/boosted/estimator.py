"""WatermarkedBoostingClassifier: gradient boosting with a watermark, as a scikit-learn estimator.

The fitted estimator is secret: it holds the claim. Release what `save` writes.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_settings import BoostingSettings
from wm.claims.pooled import PooledClaim
from wm.codebook import BOOSTED
from wm.embedding.boosted.claimed import OwnedBoosted, embed_boosted, trees_of_rounds, write_released
from wm.embedding.claimed import commit_pool, own_receipt, owner_key
from wm.embedding.classifier import WatermarkedClassifier
from wm.embedding.common import trigger_size
from wm.embedding.drawn_claims import check_claim
from wm.embedding.lineup.boosting import OwnedBoostedLineup
from wm.embedding.lineup.rows import fitted_boosted_lineup
from wm.embedding.merging import MergedRows
from wm.embedding.options import DEFAULT_DEPTH, DEFAULT_SUBSAMPLE, BoostedOptions, GradientOptions
from wm.errors import ClaimError, EmbeddingError, FitError
from wm.models import TreeModel
from wm.owner_rows import OwnerRows
from wm.verification.boosted import wrong_signs
from wm.verification.codebook import log10_floor
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, verify
from wm.verification.samples import sample_of

_DEFAULTS = BoostedOptions()

LINEUP = "lineup"


class WatermarkedBoostingClassifier(WatermarkedClassifier):
    """Gradient boosting that carries its owner's watermark, or that is recognised without one.

    Parameters
    ----------
    n_estimators
        Rounds, at least 2: of two classes each has one tree, of more a tree for each class. The number of all
        trees must be even.
    learning_rate
        Factor of what each tree adds, in (0, 1].
    max_depth
        Of each tree.
    trigger_share
        Share of the distinct training rows that become the trigger set, in (0, 1); at least one row.
    fit_share
        Share of the trigger rows on which each tree is to show its bits, above 0.5.
    max_weight
        Most weight of a trigger row, beside 1 of others; at least 1.
    scheme
        "boosted" marks the trigger rows. "lineup", for two classes, trains an honest model whose rounds have
        keyed seeds (docs/schemes.md): it has no trigger rows, and takes whole numbers as weights only.
    subsample
        Of scheme "lineup": share of the rows that each round sees, in (0, 1].
    model_id
        The owner's name for the model, written into the claim.
    class_weight
        "balanced", or a weight for each class; multiplies the rows' weights.
    missing
        "median": a missing value (NaN) becomes the median of its column's training rows, see `fill_`;
        "refuse".
    random_state
        Determines the trigger set, so it must be secret: None, for real watermarks, draws a fresh secret.

    Attributes
    ----------
    classes_ : (c,)
        Class labels.
    claim_ : PooledClaim or LineupClaim
        The owner's evidence for a judge, that given to `fit` if any. Not in pickles.
    model_ : TreeModel
        The model as released. Its classes 0, 1, ... are `classes_` in order.
    fill_ : (d,), or None
        What stands for a missing value in each column: `model_` takes filled rows. None: they are refused.
    feature_importances_ : (d,)
        Mean impurity decrease of the trees as trained, as in scikit-learn; they add up to 1.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     *load_breast_cancer(return_X_y=True), random_state=0
    ... )
    >>> model = WatermarkedBoostingClassifier(n_estimators=40, trigger_share=0.03).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.85
    True
    >>> model.verify().log10_p < -10
    True
    >>> claim = model.claim_  # a secret; model.save("model.json") writes what is to be released
    >>> claim.header.trees
    40
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "trigger_share": [Interval(Real, 0, 1, closed="neither")],
        "fit_share": [Interval(Real, 0.5, 1, closed="right")],
        "max_weight": [Interval(Real, 1, 1e6, closed="both")],
        "scheme": [StrOptions({BOOSTED, LINEUP})],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "model_id": [str],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "missing": [StrOptions({"median", "refuse"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 70,
        *,
        learning_rate: float = _DEFAULTS.learning_rate,
        max_depth: int = DEFAULT_DEPTH,
        trigger_share: float = _DEFAULTS.trigger_share,
        fit_share: float = _DEFAULTS.fit_share,
        max_weight: float = _DEFAULTS.max_weight,
        scheme: Literal["boosted", "lineup"] = "boosted",
        subsample: float = DEFAULT_SUBSAMPLE,
        model_id: str = "model",
        class_weight: dict[Any, float] | str | None = None,
        missing: Literal["median", "refuse"] = "median",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.trigger_share = trigger_share
        self.fit_share = fit_share
        self.max_weight = max_weight
        self.scheme = scheme
        self.subsample = subsample
        self.model_id = model_id
        self.class_weight = class_weight
        self.missing = missing
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # sklearn is untyped
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        claim: PooledClaim | LineupClaim | None = None,
    ) -> Self:
        """Train the model and embed the watermark.

        Parameters
        ----------
        X : (n, d)
            Finite in float32, or NaN for a missing value; a sparse matrix is made dense.
        y : (n,)
            Labels of any type, of two classes or more.
        sample_weight : (n,) or None
            Not negative; a row of weight 2 counts as two equal rows.
        claim
            A claim of scheme `boosted` (`wm.embedding.claimed.commit_pool`) of these rows, with a beacon's
            receipt, or of a boosted line-up (`wm.embedding.lineup.claimed.commit_lineup`): what it fixes has
            no meaning here then. None: a claim that no beacon drew, which is an indication at best.

        Raises
        ------
        FitError
            Labels of one class only, a claim of other rows, trees or classes, an odd number of trees, or a
            watermark that does not show.
            It is a ValueError, as are scikit-learn's own for malformed data.
        """
        rows = self._training_rows(X, y, sample_weight)
        seed = self._seed()
        made: OwnedBoosted | OwnedBoostedLineup
        try:
            if isinstance(claim, LineupClaim) or (claim is None and self.scheme == LINEUP):
                made = self._recognised(rows, seed, claim)
            else:
                made = self._embedded(rows, seed, claim)
        except (ClaimError, EmbeddingError) as reason:
            raise FitError(str(reason)) from reason
        self.claim_: Any = made.claim
        self.model_ = made.model
        self.feature_importances_ = made.importances
        self._content = made.content
        return self

    def _recognised(self, rows: MergedRows, seed: int, claim: LineupClaim | None) -> OwnedBoostedLineup:
        if claim is not None:
            check_claim(claim, self._class_names(), trees=self.n_estimators)
        training = BoostingSettings(
            max_depth=int(self.max_depth),
            learning_rate=float(self.learning_rate),
            subsample=float(self.subsample),
        )
        return fitted_boosted_lineup(
            rows,
            claim,
            names=self._class_names(),
            features=self._feature_names(rows.X.shape[1]),
            rounds=int(self.n_estimators),
            model_id=self.model_id,
            training=training,
            seed=self._secret_seed(seed),
        )

    def _embedded(self, rows: MergedRows, seed: int, claim: PooledClaim | None) -> OwnedBoosted:
        trees = trees_of_rounds(BOOSTED, self.n_estimators, len(self.classes_))
        drawn = self._new_claim(rows, seed, trees) if claim is None else claim
        check_claim(drawn, self._class_names(), trees=trees)
        made = embed_boosted(
            drawn,
            drawn.receipts,
            rows.X,
            rows.codes,
            options=GradientOptions.of(
                **{name: getattr(self, name) for name in GradientOptions.model_fields}
            ),
            max_depth=int(self.max_depth),
            seed=seed,
            sample_weight=rows.weight,
            level=1.0,
        )
        found, needed = made.evidence, math.log10(DEFAULT_LEVEL)
        follows = found.matched_bits >= self.fit_share * found.total_bits
        # Of so few trees or rows that all bits would not do, nothing is asked.
        if not follows and log10_floor(made.codebook.array == 1, 0.5) <= needed < found.log10_p:
            raise EmbeddingError(
                f"the watermark does not show: the trees have {found.matched_bits} of {found.total_bits} "
                f"bits, p = 10^{found.log10_p:.1f}: raise max_weight, max_depth or n_estimators"
            )
        return made

    def _new_claim(self, rows: MergedRows, seed: int, trees: int) -> PooledClaim:
        """Return a claim that no beacon drew; with few rows or trees it may be too weak for any judge."""
        count, secret = len(rows.codes), self._secret_seed(seed)
        names, features = self._class_names(), self._feature_names(rows.X.shape[1])
        claim = commit_pool(
            OwnerRows(rows.X, rows.codes, names, features),
            trees=trees,
            ones_share=_DEFAULTS.ones_share,
            trigger_size=trigger_size(count, max(self.trigger_share, 1 / count)),
            owner=public_hex(owner_key(secret)),
            model_id=self.model_id,
            scheme=BOOSTED,
            level=1.0,
            seed=secret,
        )
        return claim.model_copy(update={"receipts": (own_receipt(secret),)})

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class: (n, c), rows sum to 1."""
        rows = self._checked(X)
        return self.model_.predict_proba(rows)

    def save(self, path: str | Path) -> None:
        """Write what is to be released, XGBoost's json; errors as in `write_released`."""
        check_is_fitted(self)
        write_released(path, self._content)

    def verify(self, suspect: TreeModel | None = None, *, level: float = DEFAULT_LEVEL) -> Evidence:
        """Judge this estimator's claim by the signs of a suspect's margins, by default its own.

        `wm.verify` tries more, also on models whose trees were shuffled or lost.

        Parameters
        ----------
        suspect
            A boosted model of the classes 0, 1, ... and as many trees, as `model_`.
        level
            Level for the p-value, in (0, 1).

        Raises
        ------
        ClaimError
            A copy from a pickle, a model of another number of trees, or a line-up, whose judge needs the
            training rows.
        """
        claim = self._kept_claim()
        if isinstance(claim, LineupClaim):
            raise ClaimError(
                "a line-up is judged with its training rows: wm.verify(claim_, model_, rows=(X, y))"
            )
        sample = sample_of(claim)
        X, y = sample.X[sample.is_trigger], sample.y[sample.is_trigger]
        wrong = wrong_signs(self.model_ if suspect is None else suspect, X, y)
        return verify(
            wrong.astype(np.int64), np.zeros(len(y), dtype=np.int64), sample.draw.signature, level=level
        )
