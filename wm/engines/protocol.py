"""Types shared by all engines: query, outcome, status, solver and engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.engines.meaning import Meaning
from wm.errors import QueryError
from wm.forest import Forest
from wm.signature import Signature


class Status(StrEnum):
    """How a forgery query ended."""

    FORGED = "forged"
    """A witness was found and replayed on the original model."""
    IMPOSSIBLE = "impossible"
    """Proved: no instance in the box draws the wanted votes."""
    TIMEOUT = "timeout"
    """The time limit was reached first."""
    MEMOUT = "memout"
    """The memory limit was reached first."""
    ERROR = "error"
    """The engine failed, or its witness did not replay."""


Pair = tuple[bytes, object]
"""A signature and a label as a key, see `ForgeryQuery.pair`."""


@dataclass(frozen=True, eq=False)
class ForgeryQuery:
    """Ask whether some x near z draws the wanted votes (Definition 3.1, Section 4.2.2).

    Attributes
    ----------
    signature : (m,) of 0 and 1
        Tree i must vote for `label` iff bit i is 0; a `Signature` is accepted too.
    label
        Class value, one of the forest's `classes`.
    centre : (d,) float64
        z; may lie outside [0, 1], x may not. NaN where its value is missing: there x has none either.
    eps
        Largest distance from z in any feature that x has; at least 0.
    meaning
        What x must keep to beyond the box, and which values it may leave out; None for nothing.
    """

    signature: NDArray[np.int8]
    label: Any
    centre: NDArray[np.float64]
    eps: float
    meaning: Meaning | None = None

    def __init__(
        self,
        *,
        signature: ArrayLike | Signature,
        label: Any,
        centre: ArrayLike,
        eps: float,
        meaning: Meaning | None = None,
    ) -> None:
        bits = _numbers(signature.array if isinstance(signature, Signature) else signature)
        if bits is None or not np.isin(bits, (0, 1)).all():
            raise QueryError("a query's signature must be a one-dimensional array of 0 and 1")
        point = _numbers(centre)
        if point is None or np.isinf(point).any():
            raise QueryError("a query's centre must be a one-dimensional array of finite numbers, or NaN")
        distance = _numbers([eps])
        if distance is None or not (np.isfinite(distance[0]) and distance[0] >= 0):
            raise QueryError(f"eps must be a finite number, at least 0, not {eps!r}")
        integers = bits.astype(np.int8)
        for array in (integers, point):
            array.setflags(write=False)
        object.__setattr__(self, "signature", integers)
        object.__setattr__(self, "label", label.item() if isinstance(label, np.generic) else label)
        object.__setattr__(self, "centre", point)
        object.__setattr__(self, "eps", float(distance[0]))
        object.__setattr__(self, "meaning", meaning)

    @property
    def pair(self) -> Pair:
        """Signature and label; global proofs hold for such a pair."""
        return self.signature.tobytes(), self.label

    @property
    def is_constrained(self) -> bool:
        """Whether more than a box limits x: missing values, or a meaning."""
        return self.meaning is not None or bool(np.isnan(self.centre).any())

    def check(self, forest: Forest) -> None:
        """Raise `QueryError` unless the query fits the forest."""
        if len(self.signature) != forest.n_trees:
            raise QueryError(
                f"the signature has {len(self.signature)} bits, the forest {forest.n_trees} trees"
            )
        if len(self.centre) != forest.n_features:
            raise QueryError(f"the centre has {len(self.centre)} features, the forest {forest.n_features}")
        if self.meaning is not None and len(self.meaning.may_miss) != forest.n_features:
            raise QueryError(
                f"the meaning is of {len(self.meaning.may_miss)} features, the forest has {forest.n_features}"
            )
        misses = np.isnan(self.centre).any() or (self.meaning is not None and self.meaning.may_miss.any())
        if misses and forest.missing_left is None:
            raise QueryError("the forest does not say where missing values go: it takes none")
        if not np.isscalar(self.label) or self.label not in forest.classes.tolist():
            raise QueryError(f"label {self.label!r} is not among the classes {forest.classes.tolist()}")


def _numbers(values: ArrayLike) -> NDArray[np.float64] | None:
    """Return a float64 copy of a one-dimensional array of numbers, None for anything else."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        return None
    return array.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ForgeryOutcome:
    """Result of one query."""

    status: Status
    witness: NDArray[np.float32] | None
    """(d,): the forged instance; only with ``forged``."""
    distance: float | None
    """Largest distance of the witness from the centre in any feature; None without a witness."""
    seconds: float
    """Time spent on the query, without the start of the engine."""
    engine: str
    """Name of the engine."""
    reason: str = "solver"
    """Basis of the answer ("solver", "empty box", "no leaf"), or the error, as text."""
    followed_from: float | None = None
    """The eps whose answer this one follows from, see `wm.attacks.forgery.following`; None if the engine was
    asked."""
    certified: bool | None = None
    """With ``impossible``: whether a checked proof confirms it; None if no proof was requested."""


ON_GRID = "on the float32 grid"
"""Added to the reason of an ``impossible`` that is shown for float32 numbers only, for a forest that compares
float64 numbers."""

GLOBAL_REASON = "whole domain"
"""Reason of an ``impossible`` that holds for every centre and distance of its signature and label."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Answer of a solver, before its witness is replayed; fields as in `ForgeryOutcome`."""

    witness: NDArray[np.float32] | None
    """None: proved impossible."""
    reason: str = "solver"
    certified: bool | None = None
    is_global: bool = False
    """Whether the impossibility holds in all of [0, 1]^d."""


class OutOfResourcesError(Exception):
    """A solver gave up before any limit of the engine.

    Attributes
    ----------
    status
        ``timeout`` or ``memout`` if the solver reports that, else ``error``.
    """

    def __init__(self, status: Status, reason: str) -> None:
        # Both go to the base class, which unpickling calls with them.
        super().__init__(status, reason)
        self.status = status
        self._reason = reason

    def __str__(self) -> str:
        return self._reason


class Solver(Protocol):
    """Answers queries about one forest, in a process of its own, without limits.

    The witness is a function of forest and query alone, never of earlier queries, so that campaigns give the
    same results however their queries are spread over workers. Only the reason may depend on history.

    A solver that also answers queries for which `ForgeryQuery.is_constrained` says so by an attribute
    `answers_constrained`; others are not asked any. One that settles easy queries within a bounded amount of
    work says how by an attribute `first_look`, such as `first_look.FirstLook`.
    """

    def __init__(self, forest: Forest, **options: Any) -> None:
        """Prepare what all queries share, including compilation: no query's clock runs yet.

        A solver with options declares them as an `EngineOptions` model, its attribute `Options`.
        """

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query that fits the forest."""


class Engine(Protocol):
    """A solver under limits whose witnesses are replayed; what attacks use."""

    @property
    def name(self) -> str:
        """The engine's name in the registry."""

    def solve(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> ForgeryOutcome:
        """Answer one query within its limits."""

    def close(self) -> None:
        """Free the engine's process."""
