"""Questions: trigger rows hidden among decoys, and the answers sorted by kind of row.

A suspect that recognises trigger rows can answer them with something else (`wm.attacks.suppression`). So the
judge mixes them with decoys, ordinary rows with their true labels, in a secret random order. Some rows are
asked twice: two different answers show that the suspect is not a fixed model. Where a suspect gives no votes,
its answers on trigger rows are compared with those on decoys (`wm.verification.weak_evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wm.claims.claim import Claim
from wm.claims.document import Document, named_errors, read_document
from wm.claims.opening import Opening
from wm.errors import ClaimError
from wm.verification.answers import Answers

DECOYS_FOR_EACH = 20
"""Decoys asked for each trigger row, if enough are given."""

_Place = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, eq=False)
class Decoys:
    """Ordinary rows, from the distribution that the trigger rows were drawn from.

    Attributes
    ----------
    X : (n, d) float32
        Scaled as the model takes them.
    y : (n,) int64
        True labels, 0 or 1.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]


class Order(Document):
    """The places of trigger rows, decoys and repeats among the questions: secret until they are answered.

    Attributes
    ----------
    commitment
        The commitment of the claim whose rows are asked.
    triggers
        Places of the k trigger rows among the q questions, in the claim's order, from 0.
    decoys, decoy_labels
        Places of the decoys, and their true labels.
    repeats
        Pairs: the place of a repeated row, and the place where it was asked first.
    """

    format: Literal["treeproof-order"] = "treeproof-order"
    version: Literal[1] = 1
    commitment: str
    triggers: tuple[_Place, ...] = Field(min_length=1)
    decoys: tuple[_Place, ...]
    decoy_labels: tuple[Annotated[int, Field(ge=0, le=1)], ...]
    repeats: tuple[tuple[_Place, _Place], ...]

    @property
    def size(self) -> int:
        """Number of questions, q."""
        return len(self.triggers) + len(self.decoys) + len(self.repeats)


@dataclass(frozen=True, eq=False)
class Questions:
    """Rows for a suspect to answer.

    Attributes
    ----------
    X : (q, d) float32
        The rows, in the order in which they are asked.
    order
        Places of trigger rows, decoys and repeats among them.
    """

    X: NDArray[np.float32]
    order: Order


@dataclass(frozen=True, eq=False)
class SortedAnswers:
    """A suspect's answers, sorted by kind of row.

    Attributes
    ----------
    triggers
        Answers to the k trigger rows, in the claim's order.
    decoys, decoy_labels
        Answers to the n decoys, and their true labels, (n,).
    asked_twice, answered_differently
        Number of rows that were asked twice, and of those among them with two different answers.
    """

    triggers: Answers
    decoys: Answers
    decoy_labels: NDArray[np.int64]
    asked_twice: int
    answered_differently: int


def plain_order(claim: Claim | Opening) -> Order:
    """Return the order of the claim's trigger rows alone, without decoys or repeats."""
    size = len(claim.trigger_set.rows)
    return Order(
        commitment=claim.commitment, triggers=tuple(range(size)), decoys=(), decoy_labels=(), repeats=()
    )


def build_questions(
    claim: Claim | Opening,
    decoys: Decoys | None,
    rng: np.random.Generator,
    *,
    decoys_for_each: int = DECOYS_FOR_EACH,
    repeats: int = 0,
) -> Questions:
    """Hide a claim's trigger rows among decoys, in random order.

    Parameters
    ----------
    decoys
        Rows to draw from; trigger rows among them are left out. None: the trigger rows alone, shuffled.
    rng
        The judge's own; neither owner nor suspect may foresee its draws.
    decoys_for_each
        Number of decoys for each trigger row, at least 1; all of them if there are fewer.
    repeats
        Number of rows that are asked twice, at least 0; all of them if there are fewer.

    Raises
    ------
    ClaimError
        Decoys with another number of features than the trigger rows, or trigger rows only.
    """
    triggers = claim.trigger_set.X
    chosen = _draw_decoys(triggers, decoys, decoys_for_each * len(triggers), rng)
    first = np.vstack([triggers, chosen.X])
    twice = rng.choice(len(first), size=min(repeats, len(first)), replace=False)
    rows = np.concatenate([np.arange(len(first)), twice])
    # place[i]: the position at which row i of `rows` is asked.
    place = rng.permutation(len(rows))
    X = np.empty((len(rows), triggers.shape[1]), dtype=np.float32)
    X[place] = first[rows]
    trigger_places, decoy_places, repeat_places = np.split(place, [len(triggers), len(first)])
    order = Order(
        commitment=claim.commitment,
        triggers=tuple(trigger_places.tolist()),
        decoys=tuple(decoy_places.tolist()),
        decoy_labels=tuple(chosen.y.tolist()),
        repeats=tuple(zip(repeat_places.tolist(), place[twice].tolist(), strict=True)),
    )
    return Questions(X, order)


def _draw_decoys(
    triggers: NDArray[np.float32], decoys: Decoys | None, count: int, rng: np.random.Generator
) -> Decoys:
    if decoys is None:
        return Decoys(triggers[:0], np.zeros(0, dtype=np.int64))
    if decoys.X.shape[1] != triggers.shape[1]:
        raise ClaimError(
            f"the decoys have {decoys.X.shape[1]} features, the trigger rows {triggers.shape[1]}"
        )
    known = {row.tobytes() for row in triggers + np.float32(0)}  # -0.0 becomes 0.0: they are equal rows
    others = [index for index, row in enumerate(decoys.X + np.float32(0)) if row.tobytes() not in known]
    if not others:
        raise ClaimError("every decoy is a trigger row: give ordinary rows")
    chosen = rng.choice(others, size=min(count, len(others)), replace=False)
    return Decoys(decoys.X[chosen], decoys.y[chosen])


def sort_answers(answers: Answers, order: Order) -> SortedAnswers:
    """Sort answers by kind of row; raise `ClaimError` if there are more or fewer than questions."""
    if len(answers) != order.size:
        raise ClaimError(f"{order.size} rows were asked, but {len(answers)} are answered")
    again, before = (np.array([pair[side] for pair in order.repeats], dtype=np.int64) for side in (0, 1))
    differ = answers.values[again] != answers.values[before]
    return SortedAnswers(
        triggers=answers.take(order.triggers),
        decoys=answers.take(order.decoys),
        decoy_labels=np.array(order.decoy_labels, dtype=np.int64),
        asked_twice=len(order.repeats),
        answered_differently=int(differ.reshape(len(differ), -1).any(axis=1).sum()) if len(differ) else 0,
    )


def check_order(order: Order, claim: Claim | Opening) -> None:
    """Raise `ClaimError` for an order that is not one of this claim's rows, or contradicts itself."""
    if order.commitment != claim.commitment:
        raise ClaimError("the order is of another claim's rows: its commitment differs")
    if len(order.triggers) != len(claim.trigger_set.rows):
        raise ClaimError(
            f"the order has {len(order.triggers)} trigger rows, the claim {len(claim.trigger_set.rows)}"
        )
    if len(order.decoys) != len(order.decoy_labels):
        raise ClaimError(f"the order has {len(order.decoys)} decoys and {len(order.decoy_labels)} labels")
    first = {*order.triggers, *order.decoys}
    places = [*order.triggers, *order.decoys, *(again for again, _ in order.repeats)]
    if sorted(places) != list(range(order.size)) or any(before not in first for _, before in order.repeats):
        raise ClaimError("the order does not give each question one place")


def parse_order(text: str | bytes, claim: Claim | Opening, *, what: str = "order") -> Order:
    """Read and check an order file's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a valid order of questions"):
        order = Order.model_validate_json(text)
        check_order(order, claim)
    return order


def read_order(path: str | Path, claim: Claim | Opening) -> Order:
    """Read and check an order file; errors as in `read_document` and `parse_order`."""
    return parse_order(read_document(path, "an order"), claim, what=str(path))
