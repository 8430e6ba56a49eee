"""Questions: trigger rows hidden among decoys, and which answer belongs to which.

A suspect that can tell the judge's trigger queries from ordinary ones can answer them with something else
(`wm.attacks.suppression`). So the judge mixes them with decoys, ordinary rows with their true labels, in an
order that only the judge knows: drawn anew, or from a seed that is not the owner's. Some rows are asked
twice: a suspect whose two answers differ is not answering by a fixed model. Where a suspect gives no votes,
the decoys' answers are also what its answers on trigger rows are compared with
(`wm.verification.weak_evidence`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from wm.claims.claim import MAX_CLAIM_BYTES, Claim, StrictModel, first_fault
from wm.claims.opening import Opening
from wm.errors import ClaimError
from wm.formats.bounded import read_bounded
from wm.verification.answers import Answers

DECOYS_FOR_EACH = 20
"""Decoys asked for each trigger row, where there are as many."""

_Place = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, eq=False)
class Decoys:
    """Ordinary rows of the kind that the trigger rows were drawn from.

    Attributes
    ----------
    X : (n, d) float32
        Scaled as the model takes them.
    y : (n,) int64
        True labels, 0 or 1.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]


class Order(StrictModel):
    """Which question is which: the judge's secret until the suspect has answered.

    Attributes
    ----------
    commitment
        Of the claim whose rows are asked.
    triggers
        Places of the k trigger rows among the q questions, in the claim's order, from 0.
    decoys, decoy_labels
        Places of the decoys, and their true labels.
    repeats
        Place of a row asked again, and the place where it was asked first.
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

    def to_json(self) -> str:
        """Return the file's text."""
        return json.dumps(self.model_dump(mode="json")) + "\n"


@dataclass(frozen=True, eq=False)
class Questions:
    """What a suspect is asked.

    Attributes
    ----------
    X : (q, d) float32
        The rows, in the order in which they are asked.
    order
        Which of them is which.
    """

    X: NDArray[np.float32]
    order: Order


@dataclass(frozen=True, eq=False)
class Heard:
    """A suspect's answers, told apart.

    Attributes
    ----------
    triggers
        To the k trigger rows, in the claim's order.
    decoys, decoy_labels
        To the n decoys, and their true labels, (n,).
    asked_twice, answered_differently
        Rows that were asked twice, and how many of them got two different answers.
    """

    triggers: Answers
    decoys: Answers
    decoy_labels: NDArray[np.int64]
    asked_twice: int
    answered_differently: int


def plain_order(claim: Claim | Opening) -> Order:
    """Return the order of bare trigger rows, as the claim has them: nothing hidden, nothing repeated."""
    size = len(claim.trigger_set.rows)
    return Order(
        commitment=claim.commitment, triggers=tuple(range(size)), decoys=(), decoy_labels=(), repeats=()
    )


def pose(
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
        Rows to draw from; those that are trigger rows are left out. None: the trigger rows alone, shuffled.
    rng
        The judge's own: neither owner nor suspect may foresee it.
    decoys_for_each
        How many decoys for each trigger row; all of them where there are fewer. At least 1.
    repeats
        How many rows are asked twice; all of them where there are fewer. At least 0.

    Raises
    ------
    ClaimError
        Decoys of another number of features, or none that is not a trigger row.
    """
    triggers = claim.trigger_set.X
    chosen = _drawn(triggers, decoys, decoys_for_each * len(triggers), rng)
    first = np.vstack([triggers, chosen.X])
    twice = rng.choice(len(first), size=min(repeats, len(first)), replace=False)
    rows = np.concatenate([np.arange(len(first)), twice])
    # place[i]: where row i of `rows` is asked.
    place = rng.permutation(len(rows))
    X = np.empty((len(rows), triggers.shape[1]), dtype=np.float32)
    X[place] = first[rows]
    k = len(triggers)
    return Questions(
        X=X,
        order=Order(
            commitment=claim.commitment,
            triggers=_whole(place[:k]),
            decoys=_whole(place[k : len(first)]),
            decoy_labels=_whole(chosen.y),
            repeats=tuple(
                (int(again), int(before))
                for again, before in zip(place[len(first) :], place[twice], strict=True)
            ),
        ),
    )


def _drawn(
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


def _whole(array: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(number) for number in array)


def tell_apart(answers: Answers, order: Order) -> Heard:
    """Sort the answers to questions.

    Raises
    ------
    ClaimError
        Another number of answers than questions.
    """
    if len(answers) != order.size:
        raise ClaimError(f"{order.size} rows were asked, but {len(answers)} are answered")
    again, before = (np.array([pair[side] for pair in order.repeats], dtype=np.int64) for side in (0, 1))
    differ = answers.values[again] != answers.values[before]
    return Heard(
        triggers=answers.take(order.triggers),
        decoys=answers.take(order.decoys),
        decoy_labels=np.array(order.decoy_labels, dtype=np.int64),
        asked_twice=len(order.repeats),
        answered_differently=int(differ.reshape(len(differ), -1).any(axis=1).sum()) if len(differ) else 0,
    )


def check_order(order: Order, claim: Claim | Opening) -> None:
    """Raise `ClaimError`, with the reason, for an order that is not one of this claim's rows."""
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
    """Read and check an order file's text; `what` names the file in errors.

    Raises
    ------
    ClaimError
        Not such a file, a malformed one, or one that `check_order` refuses.
    """
    try:
        order = Order.model_validate_json(text)
        check_order(order, claim)
    except ValidationError as reason:
        raise ClaimError(f"{what}: not a valid order of questions: {first_fault(reason)}") from reason
    except ClaimError as reason:
        raise ClaimError(f"{what}: {reason}") from reason
    return order


def read_order(path: str | Path, claim: Claim | Opening) -> Order:
    """Read and check an order file.

    Raises
    ------
    ClaimError
        No such file, a too large one, or as in `parse_order`.
    """
    text = read_bounded(path, error=ClaimError, max_bytes=MAX_CLAIM_BYTES, kind="an order")
    return parse_order(text, claim, what=str(path))
