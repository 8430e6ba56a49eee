"""Models as their files have them: a forest, and the margins where trees add numbers instead of voting.

Engines and attacks see every model as a `Forest`. A boosted model's trees do not vote: each adds a margin.
Its forest has the same nodes and the **sign** of each leaf's margin about the tree's centre as that leaf's
vote (docs/adr/0022): above the centre, the vote is the second class, and otherwise the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.forest_checks import InputDtype
from wm.signature import Signature

_ANSWERS = "it has no votes to judge, give its answers instead, as probabilities or labels"


class Link(StrEnum):
    """What turns a model's margins into its answer."""

    IDENTITY = "identity"
    """None: the margins are the answer."""
    EXP = "exp"
    """Exponential function, of counts and rates."""
    LOGISTIC = "logistic"
    """Probability of class 1 of two."""
    ONE_AGAINST_ALL = "one against all"
    """Logistic for each class; the outputs do not add up to 1."""
    SOFTMAX = "softmax"
    """Exponentials, divided by their sum."""


@dataclass(frozen=True, eq=False)
class Margins:
    """What a model's trees add up to.

    Attributes
    ----------
    leaf : (nodes,) float64
        What each leaf adds; 0 at inner nodes.
    column : (m,) int64
        Output to which each tree adds, in 0..k - 1.
    base : (k,) float64
        Outputs before any tree has added to them.
    link
        What follows.
    scale
        Factor of the outputs before the link.
    is_mean
        Whether a column is the mean of its trees, not their sum.
    added_in
        Type in which the model's library adds.
    """

    leaf: NDArray[np.float64]
    column: NDArray[np.int64]
    base: NDArray[np.float64]
    link: Link
    scale: float = 1.0
    is_mean: bool = False
    added_in: InputDtype = "float64"


@dataclass(frozen=True, eq=False)
class Traces:
    """What a model's file holds beyond its predictions.

    Attributes
    ----------
    rows : (nodes,) or None
        Number of training rows at each node, 0 where the file does not say.
    weight : (nodes,) or None
        Sum of weights or second derivatives (hessians) of a node's training rows, 0 where it does not say.
    fields
        Names of the file's fields that hold these.
    notes
        Other parts that predictions do not need: name and excerpt.
    """

    rows: NDArray[np.float64] | None = None
    weight: NDArray[np.float64] | None = None
    fields: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A model as its file has it.

    Attributes
    ----------
    framework
        The framework that made it, as in "xgboost".
    forest
        The form that engines and attacks see. Its classes are the model's own where trees vote or where one
        margin decides between two classes; else 0 and 1, for at most the tree's centre and above it.
    margins
        None where trees vote.
    adds_votes
        Whether every margin is one number or its negative, so that the sum is a majority of votes.
    classes : (c,) or None
        The model's class values in the order of its outputs; None for a regression.
    feature_names
        d names, or none where the file has none.
    traces
        What the file holds beyond.
    preparation
        Transformer of a scikit-learn pipeline that makes the trees' input from raw rows; None without one.
    """

    framework: str
    forest: Forest
    margins: Margins | None = None
    adds_votes: bool = False
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] = ()
    traces: Traces = field(default_factory=Traces)
    preparation: Any = None

    @property
    def answers(self) -> str:
        """What the model's trees give: "votes" or "margins"."""
        return "votes" if self.margins is None or self.adds_votes else "margins"

    def voting_forest(self, what: str, advice: str = _ANSWERS) -> Forest:
        """Return the forest of a model whose trees vote.

        Parameters
        ----------
        what, advice
            Name of the model in errors, and what they end in.

        Raises
        ------
        ModelError
            The trees add margins, or the model prepares its rows before.
        """
        forest = self.trees_that_vote(what, advice)
        if self.preparation is not None:
            raise ModelError(
                f"{what}: the pipeline prepares rows ({_names_of(self.preparation)}) before its trees see "
                f"them: {advice}, or give the last step alone"
            )
        return forest

    def trees_that_vote(self, what: str, advice: str = _ANSWERS) -> Forest:
        """Return the forest whose trees vote, whatever prepares its rows; parameters as in `voting_forest`.

        Raises
        ------
        ModelError
            The trees add margins.
        """
        if self.answers == "margins":
            raise ModelError(
                f"{what}: the trees of this {self.framework} model add margins and do not vote: {advice}"
            )
        return self.forest

    def raw(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the outputs before the link: (n, k) sums of margins; shares of classes where trees vote.

        Parameters
        ----------
        X : (n, d)
            Input of the trees.
        """
        margins = self.margins
        if margins is None:
            return self.forest.predict_proba(X)
        leaves = self.forest.apply(X)
        added, columns = margins.leaf.astype(margins.added_in), len(margins.base)
        start = np.zeros(columns) if margins.is_mean else margins.base
        total = np.tile(start.astype(margins.added_in), (len(leaves), 1))
        for tree, column in enumerate(
            margins.column.tolist()
        ):  # in the library's order: rounding is the same
            total[:, column] += added[leaves[:, tree]]
        if margins.is_mean:
            total = total / np.maximum(1, np.bincount(margins.column, minlength=columns)) + margins.base
        return total.astype(np.float64)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class shares or probabilities, (n, c); for a regression its answer, (n, k)."""
        raw = self.raw(X)
        if self.margins is None:
            return raw
        return _linked(self.margins.link, raw * self.margins.scale)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class, the first one on a tie, (n,); for a regression its answer."""
        found = self.predict_proba(X)
        if self.classes is None:
            return found[:, 0] if found.shape[1] == 1 else found
        chosen: NDArray[Any] = self.classes[np.argmax(found, axis=1)]
        return chosen

    def prescribed(self, signature: Signature, label: Any) -> tuple[NDArray[np.int8], Any]:
        """Return bits and label of the forgery query for a signature that trees must show on a label.

        Bit 0 asks a tree to be right, 1 to be wrong. A tree that adds to the margin of one class among
        several is right if it votes for that class on its rows and against it on others.
        """
        bits = np.asarray(signature.array, dtype=np.int8)
        if self.margins is None or self.classes is None:
            return bits, label
        if len(self.margins.base) == 1:
            return bits, self.forest.classes[self.classes.tolist().index(label)]
        own = self.classes[self.margins.column]
        return np.where(own == label, bits, 1 - bits).astype(np.int8), 1


def _names_of(preparation: Any) -> str:
    steps = getattr(preparation, "steps", [("", preparation)])
    return ", ".join(type(step).__name__ for _, step in steps)


def _linked(link: Link, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import expit, softmax

    match link:
        case Link.IDENTITY:
            return margins
        case Link.EXP:
            return np.exp(margins)
        case Link.LOGISTIC:
            positive = expit(margins[:, 0])
            return np.stack([1.0 - positive, positive], axis=1)
        case Link.ONE_AGAINST_ALL:
            each: NDArray[np.float64] = expit(margins)
            return each
        case Link.SOFTMAX:
            shares: NDArray[np.float64] = softmax(margins, axis=1)
            return shares
