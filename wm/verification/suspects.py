"""Suspect models, pipelines of scikit-learn among them, which take a claim's rows as raw columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wm.boosting import outputs
from wm.datasets.preparation import NumberColumn, Preparation
from wm.errors import ClaimError, ModelError
from wm.formats.pipelines import prepared
from wm.models import TreeModel
from wm.verification.adaptation import best_answered, inputs, used_features
from wm.verification.answers import AnswerKind, Answers, name_of
from wm.verification.asked_rows import Header, Rows
from wm.verification.coding import CLEARLY_BETTER, areas, coded
from wm.verification.judgement import Response, model_response
from wm.verification.samples import Sample
from wm.verification.schemes import OF_MARGINS

if TYPE_CHECKING:
    import pandas as pd


def suspect_response(model: TreeModel, sample: Sample, *, what: str) -> Response:
    """Return a suspect model's votes on all rows that a claim shows; a pipeline is given raw columns.

    Of a boosted model the votes are the signs of its trees' margins, and its probabilities are answers too:
    also for a claim on a forest of two classes, whose votes a thief may have made margins.

    Raises
    ------
    ModelError
        Trees that add margins of several classes where the claim is on a forest, or other margins than the
        claim's; rows that the pipeline cannot prepare.
    ClaimError
        A model of one class.
    """
    of_margins = sample.header.scheme in OF_MARGINS or len(sample.header.class_names) == 2
    if of_margins and model.answers == "margins":
        return _of_margins(adapted_margins(model, sample, what))
    classes = len(sample.header.class_names)
    found = _of_votes(model, sample, what)
    if sample.header.scheme in OF_MARGINS and classes > 2:
        return _without_votes(found, classes)
    return found


def _of_votes(model: TreeModel, sample: Sample, what: str) -> Response:
    """Return the votes of a model's trees, and the mean of their class shares where it differs."""
    if model.preparation is None:
        return model_response(model.voting_forest(what), sample, model.feature_names)
    return prepared_votes(model, sample, what)


def prepared_votes(model: TreeModel, sample: Rows, what: str) -> Response:
    """Return the votes on all rows of the trees at the end of a pipeline, which is given raw columns.

    Raises
    ------
    ModelError
        Trees that add margins, or rows that the pipeline cannot prepare.
    ClaimError
        A model of one class.
    """
    forest = model.trees_that_vote(what)
    if len(forest.classes) < 2:
        raise ClaimError(f"{what}: has {len(forest.classes)} class: two are needed")
    rows = prepared(model.preparation, _raw_frame(sample.header, sample.X))
    answers, _, notes = coded(forest.apply(rows), forest, sample)
    notes = ("the pipeline prepared raw rows", *notes)
    return Response(answers, np.arange(len(sample.y)), notes=notes)


def _without_votes(found: Response, classes: int) -> Response:
    """Return class shares only: votes for one of several classes are not for or against each of them."""
    answers = dict(found.answers)
    votes = answers.pop("votes")
    shares = answers.get("probabilities") or Answers("probabilities", votes.shares(classes))
    others = tuple(_without_votes(each, classes) for each in found.others)
    return replace(found, answers={"probabilities": shares}, others=others)


@dataclass(frozen=True, eq=False)
class AdaptedMargins:
    """What a boosted model answers to a claim's rows.

    Attributes
    ----------
    shares : (n, c)
        Probabilities of the claim's classes.
    signs : (n, m)
        Whether each tree's margin is above its centre, 0 and 1.
    outputs : (n, m)
        What each tree adds to its margin.
    tree_classes : (m,)
        The claim's class of each tree's margin.
    notes
        What was adapted, in words.
    others
        By other adaptations that are answered nearly as well.
    """

    shares: NDArray[np.float64]
    signs: NDArray[np.int64]
    outputs: NDArray[np.float64]
    tree_classes: NDArray[np.int64]
    notes: tuple[str, ...]
    others: tuple[AdaptedMargins, ...] = ()

    @property
    def votes(self) -> NDArray[np.int64]:
        """Of two classes the one that each tree leans to: (n, m)."""
        return np.where(self.tree_classes == 1, self.signs, 1 - self.signs)

    @property
    def added(self) -> NDArray[np.float64]:
        """What each tree adds for class 1 of two: (n, m)."""
        return np.where(self.tree_classes == 1, self.outputs, -self.outputs)


def adapted_margins(model: TreeModel, rows: Rows, what: str) -> AdaptedMargins:
    """Return the answers of a boosted model by the adaptation that it answers best.

    That is measured by its probabilities: signs of trees that add next to nothing must not decide.

    Raises
    ------
    ModelError
        Other classes than as many as the claim's, margins of another form than one for two classes or one for
        each, or rows that the pipeline cannot prepare.
    """
    margins, classes = model.margins, len(rows.header.class_names)
    of_each = margins is not None and len(margins.base) == classes
    if margins is None or model.classes is None or len(model.classes) != classes:
        fits = False
    else:
        fits = of_each or len(margins.base) == outputs(classes)
    if margins is None or not fits:
        raise ModelError(
            f"{what}: the claim is on boosted models of {classes} classes: of others give probabilities or "
            "labels"
        )
    columns = margins.column if of_each else np.ones(model.forest.n_trees, dtype=np.int64)
    forms: Iterable[tuple[NDArray[np.floating], tuple[str, ...]]]
    if model.preparation is None:
        used, compact = used_features(model.forest)
        forms = inputs(model.forest, used, rows, model.feature_names)
    else:
        compact = model.forest
        raw = _raw_frame(rows.header, rows.X)
        forms = [(prepared(model.preparation, raw), ("the pipeline prepared raw rows",))]
    asked = replace(model, forest=compact)

    def answer(given: NDArray[np.floating], notes: tuple[str, ...]) -> tuple[float, AdaptedMargins]:
        with np.errstate(all="ignore"):  # of margins of any size
            shares = np.nan_to_num(asked.predict_proba(given), nan=0.0)
        places, quality, class_notes = _class_places(model, shares, rows)
        total = shares.sum(axis=1, keepdims=True)
        ordered = np.empty_like(shares)
        ordered[:, places] = np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / classes)
        leaves = compact.apply(given)
        return quality, AdaptedMargins(
            shares=ordered,
            signs=compact.node_class[leaves],
            outputs=margins.scale * margins.leaf[leaves],
            tree_classes=np.array(places)[columns],
            notes=(*notes, *class_notes),
        )

    found, *others = best_answered(forms, answer, model.forest, rows)
    return replace(found, others=tuple(others))


def _of_margins(found: AdaptedMargins) -> Response:
    """Return the signs of a boosted model's margins, and its probabilities."""
    answers: dict[AnswerKind, Answers] = {
        "probabilities": Answers("probabilities", found.shares),
        "votes": Answers("votes", found.signs, tree_classes=found.tree_classes),
    }
    if found.shares.shape[1] == 2:
        answers = {
            "probabilities": Answers("probabilities", found.shares[:, 1]),
            "votes": Answers("votes", found.votes),
        }
    others = tuple(map(_of_margins, found.others))
    return Response(answers, np.arange(len(found.shares)), notes=found.notes, others=others)


def _class_places(
    model: TreeModel, shares: NDArray[np.float64], rows: Rows
) -> tuple[list[int], float, tuple[str, ...]]:
    """Return the claim's class of each class of a model, how well it then tells them apart, and notes.

    Classes are matched by name unless others are clearly better: by the area under the curve, the same for
    all probabilities in the same order, and one half where no row's class is known.
    """
    from scipy.optimize import linear_sum_assignment

    wanted = rows.header.class_names
    found = np.full((len(wanted), len(wanted)), 0.5)
    known = np.isin(rows.y, np.arange(len(wanted)))
    for label in np.unique(rows.y[known]):
        found[label] = areas(shares[known], rows.y[known] == label)
    labels, columns = linear_sum_assignment(-found)
    matched = [int(labels[columns == column][0]) for column in range(len(wanted))]
    names = [name_of(each) for each in np.asarray(model.classes).tolist()]
    for spelt in (wanted, tuple(map(str, range(len(wanted))))):
        if set(names) == set(spelt):
            named = [spelt.index(name) for name in names]
            if _trace(found, named) + CLEARLY_BETTER >= _trace(found, matched):
                return named, _trace(found, named), ()
            return matched, _trace(found, matched), ("classes exchanged",)
    return matched, _trace(found, matched), ("classes matched by the labels",)


def _trace(found: NDArray[np.float64], places: list[int]) -> float:
    """Return the mean area of the labels' classes if the model's classes are those."""
    return float(found[places, np.arange(len(places))].mean())


def _raw_frame(header: Header, X: NDArray[np.float32]) -> pd.DataFrame:
    """Return rows of model input as a frame of raw columns, typed as pandas reads them from csv."""
    import pandas as pd

    preparation = header.preparation
    if not isinstance(preparation, Preparation):
        raw = X if preparation is None else preparation.inverse(X)
        return pd.DataFrame(raw.astype(np.float64), columns=list(header.feature_names))
    names = [column.name for column in preparation.columns]
    frame = pd.DataFrame(preparation.cells(X), columns=names, dtype=object)
    for column in preparation.columns:
        cells = frame[column.name]
        if not isinstance(column, NumberColumn):
            frame[column.name] = cells.where(cells != "", np.nan)
        elif column.words is None:
            frame[column.name] = cells.astype(np.float64)
        elif column.is_truth:
            frame[column.name] = cells == column.words[1]
    return frame
