"""What `wm forge` asks of one model: rules for rows, queries, and their replay on the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import option_group, say
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.errors import ModelError, QueryError
from wm.signature import Signature

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.engines.meaning import Meaning
    from wm.forest import Forest
    from wm.formats.units import Domain
    from wm.models import TreeModel

rule_options = option_group(
    click.option(
        "--whole",
        multiple=True,
        metavar="FEATURE",
        help="Feature that stays a whole number: index from 0, or name in the model; repeatable.",
    ),
    click.option(
        "--one-hot",
        multiple=True,
        metavar="FEATURE,...",
        help="Features of 0 and 1 of which exactly one stays 1; repeatable.",
    ),
    click.option(
        "--may-miss",
        multiple=True,
        metavar="FEATURE",
        help="Feature whose value may be left out, or all; for models that take missing values; repeatable.",
    ),
)
"""Options that keep a forged row's meaning."""

ON_GRID = "on the float32 grid"
"""What is said of an impossibility for a model that compares float64 numbers."""


@dataclass(frozen=True, eq=False)
class Question:
    """A model as the engines are asked about it."""

    model: TreeModel
    forest: Forest
    """In the units of the queries."""
    domain: Domain | None
    """The domain whose shares these are; None for the model's own units, 0 to 1."""
    meaning: Meaning | None

    def query(self, row: NDArray[np.floating], label: Any, signature: Signature, eps: float) -> ForgeryQuery:
        """Return the query for one row, in the units of the forest."""
        bits, wanted = self.model.prescribed(signature, label)
        return ForgeryQuery(signature=bits, label=wanted, centre=row, eps=eps, meaning=self.meaning)

    def original(self, witness: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a witness in the model's units."""
        return witness if self.domain is None else self.domain.from_unit(witness[None])[0]

    def replayed(self, query: ForgeryQuery, outcome: ForgeryOutcome) -> ForgeryOutcome:
        """Return an outcome whose witness was replayed on the model itself, in its units."""
        on_grid = self.model.forest.input_dtype == "float64"
        if outcome.status is Status.IMPOSSIBLE and on_grid:
            return replace(outcome, reason=f"{outcome.reason}, {ON_GRID}")
        if outcome.witness is None:
            return outcome
        wrong = self.model.forest.votes(self.original(outcome.witness)[None])[0] != query.label
        if (wrong == (query.signature == 1)).all():
            return outcome
        reason = "the witness does not replay on the model in its own units"
        return replace(outcome, status=Status.ERROR, witness=None, distance=None, reason=reason)


def question_of(
    model: TreeModel,
    domain: Domain | None,
    *,
    whole: Sequence[str],
    one_hot: Sequence[str],
    may_miss: Sequence[str],
    certify: bool,
    **_: Any,
) -> Question:
    """Return the question that the options ask about a model."""
    import numpy as np

    from wm.attacks.forgery.meaning import meaning_in
    from wm.formats.units import Domain

    forest = model.forest
    place = _placer(model)
    if may_miss and forest.missing_left is None:
        raise QueryError("--may-miss: the model takes no missing values")
    missing = range(forest.n_features) if "all" in may_miss else [place(each) for each in may_miss]
    groups = [[place(each) for each in group.split(",")] for group in one_hot]
    meaning = None
    if whole or groups or missing:
        if certify:
            raise click.UsageError("--certify has no proofs with --whole, --one-hot or --may-miss")
        unit = Domain(np.zeros(forest.n_features), np.ones(forest.n_features)) if domain is None else domain
        grouped = {feature for group in groups for feature in group}
        domain, meaning = meaning_in(
            unit,
            whole=[place(each) for each in whole],
            one_hot=groups,
            may_miss=[each for each in missing if each not in grouped or "all" not in may_miss],
        )
    if forest.input_dtype == "float64":
        say(f"the model compares float64 numbers, and rows are sought {ON_GRID}: impossible means so there")
    in_units = forest if domain is None else domain.unit_forest(forest)
    return Question(model, in_units, domain, meaning)


def _placer(model: TreeModel) -> Callable[[str], int]:
    """Return the function from a feature's index or name to its index."""

    def place(text: str) -> int:
        name = text.strip()
        if name in model.feature_names:
            return model.feature_names.index(name)
        if name.isdecimal() and int(name) < model.forest.n_features:
            return int(name)
        raise QueryError(
            f"the model has no feature {name[:60]!r}: give an index from 0 to {model.forest.n_features - 1}"
            + (" or a name of its file" if model.feature_names else "")
        )

    return place


def queries(
    question: Question,
    X: NDArray[np.floating],
    labels: NDArray[Any],
    signatures: Sequence[Signature],
    eps: float,
) -> Iterator[tuple[int, int, ForgeryQuery]]:
    """Yield the number of each signature and row with their query."""
    for number, signature in enumerate(signatures):
        for instance, (row, label) in enumerate(zip(X, labels, strict=True)):
            yield number, instance, question.query(row, label, signature, eps)


def model_to_forge(model: TreeModel, what: str) -> TreeModel:
    """Return a model if its trees see the rows as they are given.

    Raises
    ------
    ModelError
        A pipeline that prepares rows.
    """
    if model.preparation is not None:
        raise ModelError(
            f"{what}: a pipeline prepares rows before its trees see them: save its last step alone, and give "
            "rows that are prepared"
        )
    return model
