"""What the watermarking estimators have in common: rows in, labels out, as scikit-learn expects it."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from wm import streams
from wm.datasets.labels import coded
from wm.embedding.matrices import dense, filled, medians
from wm.embedding.merging import MergedRows, merged_rows
from wm.embedding.secretive import Secretive
from wm.errors import ClaimError, FitError
from wm.streams import Role


class WatermarkedClassifier(Secretive, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Base of an estimator with parameters `scheme`, `class_weight`, `missing` and `random_state`.

    Attributes
    ----------
    classes_ : (c,)
        Class labels.
    fill_ : (d,), or None
        What stands for a missing value in each column; None: they are refused.
    """

    scheme: str
    missing: str
    class_weight: Any
    random_state: Any

    def _training_rows(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> MergedRows:
        """Return checked training rows, and set what is known of them.

        Raises
        ------
        FitError
            Labels of one class only, missing ones, or a class whose rows all have weight 0.
        """
        given, labels = validate_data(
            self, X, y, ensure_min_samples=2, accept_sparse="csr", **self._matrix_rules()
        )
        classes, codes = coded(labels, error=FitError)
        check_classification_targets(labels)
        weight = _check_sample_weight(sample_weight, given, dtype=np.float64, ensure_non_negative=True)
        weight = weight * compute_sample_weight(self.class_weight, labels)
        matrix = dense(given)
        self.fill_ = None if self.missing == "refuse" else medians(matrix)
        matrix = filled(matrix, self.fill_)
        self.classes_ = classes
        rows = merged_rows(matrix, codes, weight)
        self._check_classes(rows)
        return rows

    def _matrix_rules(self) -> dict[str, Any]:
        return {"dtype": np.float32, "ensure_all_finite": "allow-nan" if self.missing == "median" else True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "median"
        tags.classifier_tags.multi_class = self.scheme != "lineup"
        return tags

    def _check_classes(self, rows: MergedRows) -> None:
        if self.scheme == "lineup" and len(self.classes_) > 2:
            raise FitError(
                "Only binary classification is supported. The type of the target is multiclass: scheme "
                "lineup compares models of two classes"
            )
        if len(self.classes_) < 2:
            raise FitError(f"the labels are of one class, {self.classes_[0]!r}: two classes are needed")
        present = np.bincount(rows.codes, minlength=len(self.classes_)) > 0
        if not present.all():
            raise FitError(f"class {self.classes_[np.argmin(present)]!r} has no row of weight above 0")

    def _seed(self) -> int:
        if self.random_state is None:
            return secrets.randbits(62)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _secret_seed(self, seed: int) -> int | None:
        """Return a seed for a claim's secrets: one of 62 bits is for rehearsals, a real claim's have 256."""
        return None if self.random_state is None else streams.integer_seed(seed, Role.OWNER_TREE, 0)

    def _kept_claim(self) -> Any:
        """Return the claim; raise `ClaimError` for a copy from a pickle, which has none."""
        check_is_fitted(self)
        if not hasattr(self, "claim_"):
            raise ClaimError("a copy from a pickle has no claim: verify with the claim that was kept")
        return self.claim_

    def _class_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.classes_))

    def _feature_names(self, features: int) -> tuple[str, ...]:
        return tuple(map(str, getattr(self, "feature_names_in_", [f"x{index}" for index in range(features)])))

    def _checked(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self)
        given = validate_data(self, X, reset=False, accept_sparse="csr", **self._matrix_rules())
        return filled(dense(given), self.fill_)

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of each class: (n, c), rows sum to 1."""

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`: (n, c); -inf for a class without a share."""
        with np.errstate(divide="ignore"):
            result: NDArray[np.float64] = np.log(self.predict_proba(X))
        return result

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest share, the first of equals: (n,) class labels."""
        share = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[np.argmax(share, axis=1)]
        return labels
