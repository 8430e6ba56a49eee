"""A judge's questions to a suspect that is known by its answers: which there are, and in which order."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from wm.claims.document import Document, Hash, named_errors, read_document
from wm.claims.lineup import LineupHeader
from wm.errors import ClaimError
from wm.verification.answers import AnswerKind, Answers
from wm.verification.judgement import Response
from wm.verification.questions import Questions, Units, asked_rows, first_answers

if TYPE_CHECKING:
    from wm.verification.lineup.queries import Queries


class Counts(Document):
    """Number of queries of each kind; fewer where there are fewer rows, or few divided points are found."""

    natural: int = Field(
        default=500, ge=0, le=100_000, description="For a line-up: test rows to ask; all if there are fewer."
    )
    mixups: int = Field(
        default=500, ge=0, le=100_000, description="For a line-up: mixtures of two training rows to ask."
    )
    boundary: int = Field(
        default=8000,
        ge=0,
        le=100_000,
        description="For a line-up: points to ask on which an honest forest's vote is nearly tied, for "
        "suspects that give labels only.",
    )
    leaning: int = Field(
        default=8000,
        ge=0,
        le=100_000,
        description="For a line-up: points to ask on which it is less divided, for suspects that answer at "
        "random near a tie.",
    )


class LineupOrder(Document):
    """What each question is; keep it secret until the suspect has answered.

    Attributes
    ----------
    commitment
        Of the claim.
    units
        Whether rows are asked as model input or in the owner's raw units.
    seed
        The judge's, from which queries, decoys and places follow.
    counts
        Queries of each kind.
    asked
        For each question the number of the query; a number that comes again is a repeat.
    """

    format: Literal["treeproof-lineup-order"] = "treeproof-lineup-order"
    version: Literal[2] = 2
    commitment: Hash
    units: Units
    seed: str
    counts: Counts
    asked: tuple[Annotated[int, Field(ge=0, le=400_000)], ...] = ()

    def asking(self, count: int, repeats: int) -> LineupOrder:
        """Return the order in which so many queries are asked, shuffled, some of them twice."""
        rng = np.random.default_rng(secrets.randbits(128))
        again = rng.choice(count, size=min(repeats, count), replace=False)
        asked = rng.permutation(np.concatenate([np.arange(count), again]))
        return self.model_copy(update={"asked": tuple(asked.tolist())})


def ask_queries(queries: Queries, order: LineupOrder, header: LineupHeader) -> Questions[LineupOrder]:
    """Return queries as they are asked; raise `ClaimError` for raw units of a claim without any."""
    return asked_rows(queries.X[list(order.asked)], order, header, spare=queries.X[:0])


def sort_lineup_answers(answers: Mapping[AnswerKind, Answers], order: LineupOrder, count: int) -> Response:
    """Return the first answer to each query, and how often a repeated one was answered otherwise.

    Parameters
    ----------
    count
        Number of queries.

    Raises
    ------
    ClaimError
        Answers are missing, or the order is of other queries.
    """
    found = first_answers(answers, np.array(order.asked, dtype=np.int64))
    if not np.array_equal(found.asked, np.arange(count)):
        raise ClaimError(f"the order is of other questions than the {count} of this line-up")
    return found


def read_lineup_order(path: str | Path) -> LineupOrder:
    """Read an order file; raise `ClaimError` for a faulty one."""
    with named_errors(str(path), "the order of a line-up's questions"):
        return LineupOrder.model_validate_json(read_document(path, "an order"))
