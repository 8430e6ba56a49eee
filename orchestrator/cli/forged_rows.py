"""What `wm forge` asks of one model: rules for rows, queries, and their replay on the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import option_group, say
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.protocol import ON_GRID
from wm.errors import QueryError
from wm.signature import Signature

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orchestrator.cli.attacker_data import Start
    from wm.engines.meaning import Meaning
    from wm.forest import Forest
    from wm.formats.raw_form import RawForm
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


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of one instance for one signature.

    Attributes
    ----------
    on_grid
        Whether an impossibility is shown on the float32 grid only, for a model that compares float64 numbers.
    row
        The forged row in the model's units, (d,); None without one.
    raw
        Its raw cells by column, for a pipeline.
    """

    signature: int
    instance: int
    outcome: ForgeryOutcome
    on_grid: bool = False
    row: NDArray[np.floating] | None = None
    raw: dict[str, Any] | None = None

    @property
    def status(self) -> str:
        """How the query ended, by name."""
        return IMPOSSIBLE_ON_GRID if self.on_grid else self.outcome.status.value


IMPOSSIBLE_ON_GRID = "impossible_on_float32_grid"
"""Status of an impossibility that says nothing of float64 numbers between."""


@dataclass(frozen=True, eq=False)
class Question:
    """A model as the engines are asked about it.

    Attributes
    ----------
    model
        The model whose trees are asked; of a pipeline, its raw form's.
    forest
        Its forest in the units of the queries.
    start
        The instances.
    domain
        The domain whose shares these units are; None for the model's own units, 0 to 1.
    meaning
        What a row must keep to.
    form
        A pipeline's raw form.
    """

    model: TreeModel
    forest: Forest
    start: Start
    domain: Domain | None
    meaning: Meaning | None
    form: RawForm | None = None

    def query(self, row: NDArray[np.floating], label: Any, signature: Signature, eps: float) -> ForgeryQuery:
        """Return the query for one row, in the units of the forest."""
        bits, wanted = self.model.prescribed(signature, label)
        return ForgeryQuery(signature=bits, label=wanted, centre=row, eps=eps, meaning=self.meaning)

    def queries(self, signatures: Sequence[Signature], eps: float) -> Iterator[tuple[int, int, ForgeryQuery]]:
        """Yield the number of each signature and instance with their query."""
        X = self.start.X if self.domain is None else self.domain.to_unit(self.start.X)
        for number, signature in enumerate(signatures):
            for instance, (row, label) in enumerate(zip(X, self.start.labels, strict=True)):
                yield number, instance, self.query(row, label, signature, eps)

    @cached_property
    def slack(self) -> float | None:
        """What boxes of shares must be wider by than boxes of values: 0 for models that compare float32."""
        if self.model.forest.input_dtype == "float32" or self.domain is None:
            return 0.0
        return self.domain.slack(self.model.forest, self.forest)

    def answered(
        self,
        signature: int,
        instance: int,
        query: ForgeryQuery,
        outcome: ForgeryOutcome,
        ask: Callable[[ForgeryQuery], ForgeryOutcome],
    ) -> Answer:
        """Return an outcome, its witness replayed on the model itself, or seen to hold for float64 values.

        Parameters
        ----------
        ask
            Answers another query.
        """
        if outcome.status is Status.IMPOSSIBLE and not self._holds_for_values(query, ask):
            outcome = replace(outcome, reason=f"{outcome.reason}, {ON_GRID}")
            return Answer(signature, instance, outcome, on_grid=True)
        if outcome.witness is None:
            return Answer(signature, instance, outcome)
        row = outcome.witness if self.domain is None else self.domain.from_unit(outcome.witness[None])[0]
        if self.form is not None:
            return self._replayed_raw(Answer(signature, instance, outcome, row=row), query)
        if self._shows(self.model.forest.votes(row[None])[0], query):
            return Answer(signature, instance, outcome, row=row)
        return Answer(signature, instance, _unreplayed(outcome))

    def _holds_for_values(self, query: ForgeryQuery, ask: Callable[[ForgeryQuery], ForgeryOutcome]) -> bool:
        """Return whether what is impossible for float32 shares is so for all values in the box."""
        if self.slack is None:
            return False
        # A row of the domain has all of it within 1.
        if self.slack == 0 or (query.eps >= 1 and not ((query.centre < 0) | (query.centre > 1)).any()):
            return True
        return ask(replace(query, eps=query.eps + self.slack)).status is Status.IMPOSSIBLE

    def _shows(self, votes: NDArray[Any], query: ForgeryQuery) -> bool:
        return bool(((votes != query.label) == (query.signature == 1)).all())

    def _replayed_raw(self, answer: Answer, query: ForgeryQuery) -> Answer:
        """Return an answer with its raw row, which the whole pipeline was given."""
        import numpy as np

        form, domain, frame, row = self.form, self.domain, self.start.frame, answer.row
        if form is None or domain is None or frame is None or row is None:
            raise TypeError("a pipeline has a raw form, a domain and rows")
        begin, own = frame.iloc[[answer.instance]], self.start.X[answer.instance]
        # A number that only rounding of its share has moved stays the row's own, if the pipeline agrees.
        near = abs(row - own) <= (domain.high - domain.low) * 2.0**-23
        for choices in (np.where(near, own, row), row):
            rows = form.raw_rows(choices[None], begin)
            if self._shows(form.pipeline.forest.votes(form.prepared(rows))[0], query):
                return replace(
                    answer, row=choices, raw={str(name): cell for name, cell in rows.iloc[0].items()}
                )
        return replace(answer, outcome=_unreplayed(answer.outcome), row=None)


def _unreplayed(outcome: ForgeryOutcome) -> ForgeryOutcome:
    reason = "the witness does not replay on the model in its own units"
    return replace(outcome, status=Status.ERROR, witness=None, distance=None, reason=reason)


def question_of(
    model: TreeModel,
    start: Start,
    *,
    whole: Sequence[str],
    one_hot: Sequence[str],
    may_miss: Sequence[str],
    certify: bool,
    form: RawForm | None = None,
    **_: Any,
) -> Question:
    """Return the question that the options ask about a model, or a pipeline's raw form."""
    import numpy as np

    from wm.attacks.forgery.meaning import meaning_in
    from wm.formats.units import Domain

    forest, domain = model.forest, start.domain
    place = _placer(model)
    takes_missing = range(forest.n_features) if form is None else form.may_miss
    if may_miss and (forest.missing_left is None or not takes_missing):
        raise QueryError("--may-miss: the model takes no missing values")
    missing = list(takes_missing) if "all" in may_miss else [place(each) for each in may_miss]
    if refused := [each for each in missing if each not in takes_missing]:
        raise QueryError(
            f"--may-miss: the pipeline takes no row without {model.feature_names[refused[0]]!r:.80}"
        )
    groups = [[place(each) for each in group.split(",")] for group in one_hot]
    wholes = [place(each) for each in whole]
    if form is not None and start.frame is not None:
        groups, wholes = groups + form.one_hot, wholes + form.whole(start.frame)
    if domain is None and (groups or wholes or missing or forest.input_dtype == "float64"):
        domain = Domain(np.zeros(forest.n_features), np.ones(forest.n_features), dtype=forest.input_dtype)
    meaning = None
    if domain is not None and (groups or wholes or missing):
        if certify:
            raise click.UsageError(
                "--certify cannot be combined with --whole, --one-hot or --may-miss, nor with text"
            )
        grouped = {feature for group in groups for feature in group}
        domain, meaning = meaning_in(
            domain,
            whole=wholes,
            one_hot=groups,
            may_miss=[each for each in missing if each not in grouped or "all" not in may_miss],
        )
    in_units = forest if domain is None else domain.unit_forest(forest)
    question = Question(model, in_units, start, domain, meaning, form)
    if question.slack is None:
        say(
            "the model compares float64 numbers, some of which lie between all numbers that are tried: "
            f"impossible means {ON_GRID}"
        )
    return question


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
