"""Suspect models, pipelines of scikit-learn among them, which take a claim's rows as raw columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wm.claims.pooled import Header
from wm.datasets.preparation import NumberColumn, Preparation
from wm.errors import ClaimError
from wm.formats.pipelines import prepared
from wm.models import TreeModel
from wm.verification.adaptation import coded
from wm.verification.answers import Answers
from wm.verification.judgement import Response, model_response
from wm.verification.samples import Sample

if TYPE_CHECKING:
    import pandas as pd


def suspect_response(model: TreeModel, sample: Sample, *, what: str) -> Response:
    """Return a suspect model's votes on all rows that a claim shows; a pipeline is given raw columns.

    Raises
    ------
    ModelError
        Trees that add margins, or rows that the pipeline cannot prepare.
    ClaimError
        A model of one class.
    """
    if model.preparation is None:
        return model_response(model.voting_forest(what), sample)
    forest = model.trees_that_vote(what)
    if len(forest.classes) < 2:
        raise ClaimError(f"{what}: has {len(forest.classes)} class: two are needed")
    rows = prepared(model.preparation, _raw_frame(sample.header, sample.X))
    votes, notes = coded(forest.vote_codes(rows), forest, sample)
    notes = ("the pipeline prepared raw rows", *notes)
    return Response({"votes": Answers("votes", votes)}, np.arange(len(sample.y)), notes=notes)


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
