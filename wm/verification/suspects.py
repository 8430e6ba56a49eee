"""Suspect models, pipelines of scikit-learn among them, which take a claim's rows as raw columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wm.claims.pooled import Header
from wm.datasets.preparation import NumberColumn, Preparation
from wm.errors import ClaimError, ModelError
from wm.formats.pipelines import prepared
from wm.models import TreeModel
from wm.verification.adaptation import coded, model_answers, used_features
from wm.verification.answers import AnswerKind, Answers
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


def _of_margins(model: TreeModel, sample: Sample, what: str) -> Response:
    """Return the signs of a boosted model's margins, and its probabilities."""
    if model.classes is None or model.margins is None or len(model.margins.base) != 1:
        raise ModelError(
            f"{what}: a claim of scheme {sample.header.scheme} is on models of one margin for two classes"
        )
    if model.preparation is None:
        adapted = model_answers(model.forest, sample)
        votes, notes = adapted.answers.values, adapted.notes
        model = replace(model, forest=used_features(model.forest)[1])
        rows: NDArray[np.floating] = adapted.rows
    else:
        rows = prepared(model.preparation, _raw_frame(sample.header, sample.X))
        votes, class_notes = coded(model.forest.vote_codes(rows), model.forest, sample)
        notes = ("the pipeline prepared raw rows", *class_notes)
    exchanged = bool((votes[model.forest.vote_codes(rows) == 1] == 0).any())
    answers: dict[AnswerKind, Answers] = {
        "probabilities": Answers("probabilities", model.predict_proba(rows)[:, 0 if exchanged else 1]),
        "votes": Answers("votes", votes),
    }
    return Response(answers, np.arange(len(sample.y)), notes=notes)


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
