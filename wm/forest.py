"""Forest: the form in which engines and attacks see every model.

An ordered ensemble of decision trees in immutable flat arrays, in scikit-learn's layout, tree after tree. A
node sends an instance left iff ``x[feature] <= threshold``, where x is cast to the forest's input type first
(float32, as in scikit-learn's forests, unless said otherwise); a leaf votes for the class with the largest
value, the first one on a tie. A forest may say for each node where a missing value (NaN) goes; without that
it refuses rows that hold one.

Models whose trees add margins instead of voting are a `wm.models.TreeModel`: a forest of signs beside the
margins.

`Forest.predict` takes the majority of votes (the paper's rule), `Forest.predict_proba` averages the leaves'
class shares (scikit-learn's rule). They can differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ModelError
from wm.formats import forest_file, npz
from wm.formats.bounded import read_bounded
from wm.formats.forest_checks import InputDtype, as_matrix, check_arrays
from wm.tree_structure import TreeStructure, read_only

_PATHS_AT_ONCE = 100_000
"""Pairs of row and tree followed together, so that the arrays of a step fit the processor's cache."""

_ROUNDING = 1e-9
"""Tolerance for a sum of class shares to be 1; sums of class counts are whole numbers."""

NODE_ARRAYS = ("left", "right", "feature", "threshold", "value")
"""The arrays that have a row for each node."""


@dataclass(frozen=True, eq=False)
class Forest(TreeStructure):
    """An ordered ensemble of m trees over d features.

    Build it with `from_sklearn`, `from_arrays` or `load`, which check their input.

    Attributes
    ----------
    offset : (m + 1,) int64
        Nodes of tree t are rows ``offset[t]:offset[t + 1]`` of the arrays below; the first is its root.
    left, right : (nodes,) int32
        Child's index within its tree, -1 at a leaf.
    feature : (nodes,) int32
        Feature tested, -1 at a leaf.
    threshold : (nodes,) float64
        Left iff ``x[feature] <= threshold``; 0 at a leaf.
    value : (nodes, c) float64
        Class weights; those at leaves decide the vote.
    n_features : int
        d.
    classes : (c,)
        Class values, ascending, in the order of `value`'s columns.
    missing_left : (nodes,) bool, or None
        Whether a missing value goes left; False at a leaf. None: rows with missing values are refused.
    input_dtype : "float32" or "float64"
        Type to which an instance's numbers are cast before they are compared.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> forest = Forest.from_sklearn(model)
    >>> forest.votes(X).shape
    (569, 5)
    >>> bool((forest.predict_proba(X) == model.predict_proba(X)).all())
    True
    """

    offset: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    n_features: int
    classes: NDArray[Any]
    missing_left: NDArray[np.bool_] | None = None
    input_dtype: InputDtype = "float32"

    @classmethod
    def from_arrays(
        cls,
        *,
        offset: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        value: ArrayLike,
        n_features: int,
        classes: ArrayLike,
        missing_left: ArrayLike | None = None,
        input_dtype: InputDtype = "float32",
        copy: bool = True,
    ) -> Forest:
        """Build a forest from flat arrays (shapes as in the class's attributes).

        Parameters
        ----------
        copy
            False keeps arrays that need no change as they are; only for arrays that nobody else has.

        Raises
        ------
        ModelError
            Wrong shapes, indexes out of range, nodes that do not form trees, thresholds or values that are
            not finite.
        """
        arrays = check_arrays(
            offset=offset,
            left=left,
            right=right,
            feature=feature,
            threshold=threshold,
            value=value,
            n_features=n_features,
            classes=classes,
            missing_left=missing_left,
            input_dtype=input_dtype,
            copy=copy,
        )
        return cls(n_features=int(n_features), input_dtype=input_dtype, **arrays)

    @classmethod
    def from_sklearn(cls, model: Any) -> Forest:
        """Build a forest from a model of scikit-learn, or from a list of its decision trees.

        Parameters
        ----------
        model
            A fitted `RandomForestClassifier`, `ExtraTreesClassifier`, `BaggingClassifier` of trees or
            `DecisionTreeClassifier`, or a sequence of fitted `DecisionTreeClassifier` with the same classes
            and features. Boosted models are read by `wm.models.TreeModel`.

        Raises
        ------
        ModelError
            Any other kind of model, a model that is not fitted, or one with several outputs.
        """
        from wm.formats import sklearn_trees

        return cls.from_arrays(**sklearn_trees.arrays(model), copy=False)

    @cached_property
    def node_class(self) -> NDArray[np.int64]:
        """Column of `classes` that each node votes for, the first one on a tie: (nodes,)."""
        found = np.zeros(len(self.value), dtype=np.int64)
        largest = self.value[:, 0]
        for code in range(1, self.value.shape[1]):  # many times faster than argmax over few columns
            larger = self.value[:, code] > largest
            found[larger] = code
            largest = np.where(larger, self.value[:, code], largest)
        return read_only(found)

    @cached_property
    def _tested(self) -> NDArray[np.int32]:
        """Feature that each node tests, 0 at a leaf: (nodes,)."""
        return read_only(np.maximum(self.feature, 0))

    def as_input(self, X: ArrayLike) -> NDArray[np.floating[Any]]:
        """Return instances, (n, d), as the trees compare them.

        Raises
        ------
        ModelError
            X has the wrong shape, or holds values that are infinite in `input_dtype`, or NaN and the forest
            does not say where it goes.
        """
        return as_matrix(X, self.n_features, dtype=self.input_dtype, missing=self.missing_left is not None)

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the global index of the leaf that each instance reaches in each tree.

        Parameters
        ----------
        X : (n, d)
            Instances; cast to `input_dtype`.

        Returns
        -------
        (n, m) int64
        """
        matrix = self.as_input(X)
        reached = np.empty((len(matrix), self.n_trees), dtype=np.int64)
        rows_at_once = max(1, _PATHS_AT_ONCE // self.n_trees)
        for start in range(0, len(matrix), rows_at_once):
            some = slice(start, start + rows_at_once)
            reached[some] = self._leaves_reached(matrix[some])
        return reached

    def _leaves_reached(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        """Follow each row down each tree, level by level: (n, d) -> (n, m)."""
        values = rows.ravel()
        first = np.repeat(np.arange(len(rows)) * self.n_features, self.n_trees)
        node = np.tile(self.offset[:-1], len(rows))
        reached, path = np.empty_like(node), np.arange(len(node))
        while len(path):
            value = values.take(first + self._tested.take(node))
            goes_left = value <= self.threshold.take(node)
            if self.missing_left is not None:
                goes_left |= np.isnan(value) & self.missing_left.take(node)
            node = self.child.take(2 * node + ~goes_left)
            arrived = self.is_leaf.take(node)
            if 3 * np.count_nonzero(arrived) > len(node):  # a few are cheaper to follow than to sort out
                reached[path] = node
                rest = np.flatnonzero(~arrived)
                node, first, path = node.take(rest), first.take(rest), path.take(rest)
        return reached.reshape(len(rows), self.n_trees)

    def vote_codes(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return each tree's vote as a column of `classes`: (n, m)."""
        return self.node_class[self.apply(X)]

    def votes(self, X: ArrayLike) -> NDArray[Any]:
        """Return each tree's class for each instance: (n, m) class values; the paper's model output.

        Raises
        ------
        ModelError
            As in `as_input`.
        """
        return self.classes[self.vote_codes(X)]

    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of trees that vote for each class: (n, c), rows sum to 1."""
        codes = self.vote_codes(X)
        return np.stack([(codes == code).mean(axis=1) for code in range(len(self.classes))], axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the majority of votes, the paper's rule: (n,) class values.

        On a tie the class that comes first in `classes` wins.
        """
        majority: NDArray[Any] = self.classes[np.argmax(self.vote_shares(X), axis=1)]
        return majority

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the mean over trees of the leaf's class shares (scikit-learn's rule): (n, c)."""
        weight = self.value.sum(axis=1, keepdims=True)
        # Newer scikit-learn stores shares and does not divide them again, even if they sum to 1 + 1e-16.
        shares = np.where(np.abs(weight - 1.0) < _ROUNDING, self.value, self.value / weight)
        # Added tree by tree, in scikit-learn's order, so that rounding is the same.
        leaves = self.apply(X)
        total = np.zeros((len(leaves), len(self.classes)))
        for tree in range(self.n_trees):
            total += shares[leaves[:, tree]]
        return total / self.n_trees

    def accuracy(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the share of instances with the right majority vote."""
        return _accuracy(self.predict(X), y)

    def accuracy_of_mean(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the share of instances with the right class by scikit-learn's rule."""
        return _accuracy(self.classes[np.argmax(self.predict_proba(X), axis=1)], y)

    def select(self, trees: Sequence[int] | NDArray[np.integer[Any]]) -> Forest:
        """Return the forest of the given trees, in the given order (a tree may occur more than once).

        Raises
        ------
        ModelError
            No tree, or an index outside 0..m - 1.
        """
        indexes = np.asarray(trees)
        if indexes.ndim != 1 or not len(indexes) or indexes.dtype.kind not in "iu":
            raise ModelError("select needs a list of one or more tree indexes")
        if (indexes < 0).any() or (indexes >= self.n_trees).any():
            raise ModelError(f"a selected tree is outside 0..{self.n_trees - 1}")
        chosen = [np.arange(self.offset[tree], self.offset[tree + 1]) for tree in indexes]
        rows = np.concatenate(chosen)
        nodes = {name: getattr(self, name)[rows] for name in NODE_ARRAYS}
        if self.missing_left is not None:
            nodes["missing_left"] = self.missing_left[rows]
        return self.changed(offset=np.cumsum([0, *map(len, chosen)]), **nodes)

    def changed(self, **arrays: ArrayLike | None) -> Forest:
        """Return the forest with some arrays replaced; arguments and errors as in `from_arrays`.

        Raises
        ------
        ModelError
            As in `from_arrays`, or nodes that move without the directions of their missing values.
        """
        if self.missing_left is not None and "left" in arrays and "missing_left" not in arrays:
            raise ModelError("the nodes' directions of missing values (missing_left) must move with them")
        own: dict[str, Any] = {name: getattr(self, name) for name in (*forest_file.ARRAYS, "missing_left")}
        return Forest.from_arrays(**own | arrays, n_features=self.n_features, input_dtype=self.input_dtype)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of the forest's arrays, independent of their file."""
        return npz.content_hash(forest_file.contents(self))

    def to_bytes(self) -> bytes:
        """Return the forest as npz bytes, with schema version and content hash."""
        return forest_file.pack(self)

    @classmethod
    def from_bytes(cls, data: bytes, *, what: str = "forest", max_bytes: int = npz.MAX_BYTES) -> Forest:
        """Read a forest from the bytes of `to_bytes`; `what` names the file in errors.

        Raises
        ------
        ModelError
            Damaged or hostile bytes, another schema version, or a wrong content hash.
        """
        arrays, stated = forest_file.unpack(data, what=what, max_bytes=max_bytes)
        try:
            forest = cls.from_arrays(**arrays, copy=False)
        except ModelError as reason:
            raise ModelError(f"{what}: {reason}") from reason
        if stated != forest.content_hash:
            raise ModelError(f"{what}: the content does not fit its hash: the file was damaged or edited")
        return forest

    def save(self, path: str | Path) -> None:
        """Write the forest to an npz file."""
        Path(path).write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | Path, *, max_bytes: int = npz.MAX_BYTES) -> Forest:
        """Read a forest from an npz file; nothing in it is unpickled.

        Raises
        ------
        ModelError
            No such file, or as in `from_bytes`; a file that unpacks to more than `max_bytes` is refused.
        """
        limit = max_bytes + forest_file.ZIP_OVERHEAD
        data = read_bounded(path, error=ModelError, max_bytes=limit, kind="a forest file")
        return cls.from_bytes(data, what=str(path), max_bytes=max_bytes)


def _accuracy(predicted: NDArray[Any], y: ArrayLike) -> float:
    truth = np.asarray(y)
    if truth.shape != predicted.shape:
        raise ModelError(f"{len(predicted)} instances have labels of shape {truth.shape}")
    return float(np.mean(predicted == truth))
