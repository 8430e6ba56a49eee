"""Suspect models, pipelines of scikit-learn among them, which take a claim's rows as raw columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wm.boosting import outputs
from wm.datasets.preparation import NumberColumn, Preparation
from wm.errors import ClaimError, ModelError
from wm.formats.pipelines import prepared
from wm.models import TreeModel
from wm.verification.adaptation import (
    CLEARLY_BETTER,
    Header,
    Rows,
    balanced_accuracy,
    coded,
    inputs,
    model_answers,
    used_features,
)
from wm.verification.answers import AnswerKind, Answers, name_of
from wm.verification.judgement import Response, model_response
from wm.verification.samples import Sample
from wm.verification.schemes import OF_MARGINS

if TYPE_CHECKING:
    import pandas as pd


def suspect_response(model: TreeModel, sample: Sample, *, what: str) -> Response:
    """Return a suspect model's votes on all rows that a claim shows; a pipeline is given raw columns.

    Of a boosted model, for a claim on such, the votes are the signs of its trees' margins, and its
    probabilities are answers too.

    Raises
    ------
    ModelError
        Trees that add margins where the claim is on a forest, or margins of several classes; rows that the
        pipeline cannot prepare.
    ClaimError
        A model of one class.
    """
    if sample.header.scheme in OF_MARGINS and model.answers == "margins":
        return _of_margins(model, sample, what)
    if model.preparation is None:
        return model_response(model.voting_forest(what), sample)
    forest = model.trees_that_vote(what)
    if len(forest.classes) < 2:
        raise ClaimError(f"{what}: has {len(forest.classes)} class: two are needed")
    rows = prepared(model.preparation, _raw_frame(sample.header, sample.X))
    votes, notes = coded(forest.vote_codes(rows), forest, sample)
    notes = ("the pipeline prepared raw rows", *notes)
    return Response({"votes": Answers("votes", votes)}, np.arange(len(sample.y)), notes=notes)


@dataclass(frozen=True, eq=False)
class AdaptedMargins:
    """What a boosted model of two classes answers to a claim's rows.

    Attributes
    ----------
    votes : (n, m)
        Signs of its trees' margins about their centres, 0 and 1.
    outputs : (n, m)
        What each tree adds to the margin of class 1.
    probabilities : (n,)
        Of class 1.
    notes
        What was adapted, in words.
    """

    votes: NDArray[np.int64]
    outputs: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    notes: tuple[str, ...]


def adapted_margins(model: TreeModel, rows: Rows, what: str) -> AdaptedMargins:
    """Return the answers of a boosted model by the adaptation that answers best.

    Raises
    ------
    ModelError
        Margins of another form than one for two classes, or rows that the pipeline cannot prepare.
    """
    margins = model.margins
    if model.classes is None or margins is None or len(margins.base) != 1:
        raise ModelError(f"{what}: the claim is on models of one margin for two classes")
    if model.preparation is None:
        adapted = model_answers(model.forest, rows)
        votes, notes = adapted.answers.values, adapted.notes
        model = replace(model, forest=used_features(model.forest)[1])
        asked: NDArray[np.floating] = adapted.rows
    else:
        asked = prepared(model.preparation, _raw_frame(rows.header, rows.X))
        votes, class_notes = coded(model.forest.vote_codes(asked), model.forest, rows)
        notes = ("the pipeline prepared raw rows", *class_notes)
    exchanged = bool((votes[model.forest.vote_codes(asked) == 1] == 0).any())
    added = margins.scale * margins.leaf[model.forest.apply(asked)]
    return AdaptedMargins(
        votes,
        -added if exchanged else added,
        model.predict_proba(asked)[:, 0 if exchanged else 1],
        notes,
    )


def _of_margins(model: TreeModel, sample: Sample, what: str) -> Response:
    """Return the signs of a boosted model's margins, and its probabilities."""
    classes = len(sample.header.class_names)
    if model.classes is None or model.margins is None or len(model.margins.base) != outputs(classes):
        margins = "one margin for two classes" if classes == 2 else f"a margin for each of {classes} classes"
        raise ModelError(f"{what}: the claim of scheme {sample.header.scheme} is on models of {margins}")
    if classes > 2:
        return _of_several(model, sample)
    found = adapted_margins(model, sample, what)
    answers: dict[AnswerKind, Answers] = {
        "probabilities": Answers("probabilities", found.probabilities),
        "votes": Answers("votes", found.votes),
    }
    return Response(answers, np.arange(len(sample.y)), notes=found.notes)


def _of_several(model: TreeModel, sample: Sample) -> Response:
    """Return the signs of margins of several classes, and probabilities, in the form that answers best.

    Which form, and which class is which, is chosen by all shown rows, as in `wm.verification.adaptation`.
    """
    forms: Iterator[tuple[NDArray[np.floating], tuple[str, ...]]]
    if model.preparation is None:
        used, compact = used_features(model.forest)
        forms = inputs(model.forest, used, sample)
        model = replace(model, forest=compact)
    else:
        raw = _raw_frame(sample.header, sample.X)
        forms = iter([(prepared(model.preparation, raw), ("the pipeline prepared raw rows",))])
    best: tuple[float, Response] | None = None
    for rows, notes in forms:
        shares = model.predict_proba(rows)
        places, class_notes = _class_places(model, shares, sample)
        ordered = np.empty_like(shares)
        ordered[:, places] = shares / shares.sum(axis=1, keepdims=True)
        quality = balanced_accuracy(ordered.argmax(axis=1), sample.y)
        if best is None or quality > best[0] + CLEARLY_BETTER:
            signs = model.forest.vote_codes(rows)
            own = np.array(places)[model.margins.column] if model.margins is not None else None
            answers: dict[AnswerKind, Answers] = {
                "probabilities": Answers("probabilities", ordered),
                "votes": Answers("votes", signs, tree_classes=own),
            }
            best = quality, Response(answers, np.arange(len(sample.y)), notes=(*notes, *class_notes))
        if best[0] + CLEARLY_BETTER >= 1.0:
            break
    if best is None:
        raise ClaimError(
            f"the suspect model takes {model.forest.n_features} features, the claim has "
            f"{sample.X.shape[1]}: these are too many to find out which column is which"
        )
    return best[1]


def _class_places(
    model: TreeModel, shares: NDArray[np.float64], sample: Sample
) -> tuple[list[int], tuple[str, ...]]:
    """Return the claim's class of each class of a model: by name, unless agreement is clearly better."""
    from scipy.optimize import linear_sum_assignment

    wanted = sample.header.class_names
    agreement = np.zeros((len(wanted), len(wanted)))
    for label in np.unique(sample.y):
        agreement[label] = shares[sample.y == label].mean(axis=0)
    rows, columns = linear_sum_assignment(-agreement)
    matched = [int(rows[columns == column][0]) for column in range(len(wanted))]
    names = [name_of(each) for each in np.asarray(model.classes).tolist()]
    for known in (wanted, tuple(map(str, range(len(wanted))))):
        if set(names) == set(known):
            named = [known.index(name) for name in names]
            if _trace(agreement, named) + CLEARLY_BETTER >= _trace(agreement, matched):
                return named, ()
            return matched, ("classes exchanged",)
    return matched, ("classes matched by the labels",)


def _trace(agreement: NDArray[np.float64], places: list[int]) -> float:
    """Return the mean probability of the label's class if the model's classes are those."""
    return float(agreement[places, np.arange(len(places))].mean())


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
