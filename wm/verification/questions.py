"""Questions to a suspect that is known by its answers: rows of a claim's pool, shuffled, some of them twice.

Trigger rows and controls are rows of one kind, so that nothing but the draw tells one from the other. The
order, which says what each question is, stays with the judge until the suspect has answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wm.claims.document import Document, Hash, named_errors, read_document
from wm.claims.pooled import MAX_CELLS
from wm.datasets.preparation import Preparation
from wm.errors import ClaimError
from wm.verification.answers import AnswerKind, Answers
from wm.verification.judgement import Response
from wm.verification.samples import Sample
from wm.verification.samples import controls_needed as controls_needed

if TYPE_CHECKING:
    from wm.verification.asked_rows import Header
    from wm.verification.lineup.order import LineupOrder

Units = Literal["model", "raw"]
"""Whether rows are asked as model input or in the owner's raw units."""


class Order(Document):
    """What each question is.

    Attributes
    ----------
    commitment
        Of the claim whose rows are asked.
    units
        See `Units`.
    asked
        For each question the row's number in the pool; a number that comes again is a repeat.
    """

    format: Literal["treeproof-order"] = "treeproof-order"
    version: Literal[2] = 2
    commitment: Hash
    units: Units
    asked: Annotated[tuple[Annotated[int, Field(ge=0, lt=MAX_CELLS)], ...], Field(min_length=1)]


_Order = TypeVar("_Order", bound="Order | LineupOrder")


@dataclass(frozen=True, eq=False)
class Questions(Generic[_Order]):
    """Rows for a suspect to answer.

    Attributes
    ----------
    X : (q, d) float32
        The rows, in the order in which they are asked.
    order
        What they are.
    spare : (s, d) float32
        Controls that are none of the questions, to find out how the suspect is asked.
    cells
        The rows as raw cells, a column for each of `names`; None: `X` has all that there is.
    names
        Of the columns.
    """

    X: NDArray[np.float32]
    order: _Order
    spare: NDArray[np.float32]
    names: tuple[str, ...]
    cells: list[list[str | float]] | None = None


def build_questions(
    sample: Sample,
    rng: np.random.Generator,
    *,
    controls: int,
    repeats: int = 0,
    units: Units = "model",
    spare: int = 0,
) -> Questions[Order]:
    """Ask a claim's shown trigger rows and some of its controls, shuffled.

    Parameters
    ----------
    rng
        The judge's own; neither owner nor suspect may foresee its draws.
    controls
        Number of controls, at least 1; all of them if there are fewer.
    repeats
        Number of rows that are asked twice, at least 0; all of them if there are fewer.
    spare
        Number of controls that are set aside, at least 0; fewer if else none would be left to ask. A suspect
        that sees them first may guess what they are, so that they are no part of any test.

    Raises
    ------
    ClaimError
        Raw units of a claim without preparation.
    """
    triggers, others = np.flatnonzero(sample.is_trigger), np.flatnonzero(~sample.is_trigger)
    others = rng.permutation(others)
    aside = min(spare, max(0, len(others) - 1))
    first = np.concatenate([triggers, others[aside:][:controls]])
    again = rng.choice(first, size=min(repeats, len(first)), replace=False)
    places = rng.permutation(np.concatenate([first, again]))
    asked = tuple(sample.indices[places].tolist())
    order = Order(commitment=sample.commitment, units=units, asked=asked)
    return asked_rows(sample.X[places], order, sample.header, spare=sample.X[others[:aside]])


def asked_rows(
    rows: NDArray[np.float32], order: _Order, header: Header, *, spare: NDArray[np.float32]
) -> Questions[_Order]:
    """Return rows, given as model input, in the units of an order; errors as in `build_questions`."""
    preparation = header.preparation
    if order.units == "model":
        return Questions(rows, order, spare, header.feature_names)
    if preparation is None:
        raise ClaimError("the claim has no preparation: its rows are in raw units already")
    raw, spared = preparation.inverse(rows), preparation.inverse(spare)
    if isinstance(preparation, Preparation):
        names = tuple(column.name for column in preparation.columns)
        return Questions(raw, order, spared, names, preparation.cells(rows))
    return Questions(raw, order, spared, header.feature_names)


def sort_answers(answers: Mapping[AnswerKind, Answers], order: Order, sample: Sample) -> Response:
    """Return the first answer to each row, and how often a repeated row was answered otherwise.

    Raises
    ------
    ClaimError
        The order is of another claim or of rows that it does not show, or answers are missing.
    """
    if order.commitment != sample.commitment:
        raise ClaimError("the order is of another claim's rows: its commitment differs")
    asked = np.array(order.asked, dtype=np.int64)
    if not np.isin(asked, sample.indices).all():
        raise ClaimError("the order asks rows that the claim does not show")
    found = first_answers(answers, asked)
    return replace(found, asked=np.searchsorted(sample.indices, found.asked))


def first_answers(answers: Mapping[AnswerKind, Answers], asked: NDArray[np.int64]) -> Response:
    """Return the first answer to each question; `asked` holds the questions' numbers in the order of asking.

    Raises
    ------
    ClaimError
        Answers are missing.
    """
    for kind, given in answers.items():
        if given.ids is None and len(given) != len(asked):
            raise ClaimError(
                f"{len(asked)} rows were asked, but {len(given)} are answered by {kind}: a line for "
                "each row is needed, in the order of the questions; a column id, as wm queries --ids "
                "writes it, would tell which"
            )
    answers = {kind: given.take(_places_of(given, len(asked), kind)) for kind, given in answers.items()}
    numbers, first, place = np.unique(asked, return_index=True, return_inverse=True)
    again = np.setdiff1d(np.arange(len(asked)), first)
    differs = np.zeros(len(again), dtype=bool)
    for given in answers.values():
        unequal = given.values[again] != given.values[first[place[again]]]
        differs |= unequal.any(axis=tuple(range(1, unequal.ndim)))
    return Response(
        answers={kind: given.take(first) for kind, given in answers.items()},
        asked=numbers,
        asked_twice=len(again),
        answered_differently=int(differs.sum()),
    )


def _places_of(given: Answers, count: int, kind: str) -> NDArray[np.int64]:
    """Return for each of `count` questions the place of its answer."""
    if given.ids is None:
        return np.arange(count)
    numbers, first, times = np.unique(given.ids, return_index=True, return_counts=True)
    questions = np.arange(1, count + 1)
    for faulty, fault in (
        (np.setdiff1d(questions, numbers), f"not answered by {kind}"),
        (np.setdiff1d(numbers, questions), f"answered by {kind}, but were not asked"),
        (numbers[times > 1], f"answered by {kind} more than once"),
    ):
        if len(faulty):
            named = ", ".join(map(str, faulty[:5])) + (
                f" and {len(faulty) - 5} more" if len(faulty) > 5 else ""
            )
            raise ClaimError(f"of the {count} questions, these ids are {fault}: {named}")
    return first


def read_order(path: str | Path) -> Order:
    """Read an order file; raise `ClaimError` for a faulty one."""
    with named_errors(str(path), "a valid order of questions"):
        return Order.model_validate_json(read_document(path, "an order"))
