"""The parts of every attack: options, rows, scene, random streams, result.

An attack is one module (or package) with `Options`, `Row` and ``run(scene, options, rng) -> Result``, and an
`Attack` that names them. Campaign schema, planned jobs, content keys, result frames, columns and their
documentation are derived from it. `run` is pure: the same call in a notebook, a test and a job gives the same
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Protocol, Self, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from wm import streams
from wm.claims.claim import Claim
from wm.datasets import Split
from wm.embedding.proof import Proof
from wm.embedding.training import Caps
from wm.embedding.watermark import WatermarkedForest
from wm.forest import Forest
from wm.formats.sklearn_metadata import TreeMetadata, from_model, parse_arrays
from wm.models import TreeModel
from wm.streams import Role

RELEASED = "released"
"""Form of a model's file as it is handed out."""


class AttackOptions(BaseModel):
    """Options of an attack: an ``[[attack]]`` table, a job's parameters, and their documentation.

    Immutable and strict: unknown fields, values of other types and numbers that are not finite are refused.
    The text under each field is its description.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def parts(self) -> Iterator[AttackOptions]:
        """Yield the options of each job, in order; the parts do not depend on one another."""
        yield self

    def overlaps(self, other: Self) -> bool:
        """Return whether two attacks on one watermark would give different results for the same rows."""
        return self != other

    def refusal(self, *, trees_vote: bool) -> str:
        """Return why models whose trees vote, or add margins, cannot be attacked; empty if they can."""
        return "" if trees_vote else "it is made for trees that vote"

    def problems(self, rows_test: int) -> Iterator[tuple[str, str]]:
        """Yield name and reason of each option that is impossible with the given number of test rows."""
        return iter(())


class AttackRow(BaseModel):
    """One row of results; its fields are the columns of the frame, documented by the text under each.

    A field that holds several values (a curve) is not a column; see `columns_of`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True)
class Result:
    """Result of an attack."""

    rows: Sequence[AttackRow]
    """Instances of the attack's `Row`, in a fixed order."""
    extra: Mapping[str, Sequence[AttackRow]] = field(default_factory=dict)
    """Further tables by name, as declared by `Attack.extra`."""


class Scene(Protocol):
    """Inputs of an attack.

    The attacker has the suspect and the test rows; claim, training rows and honest forests only serve to
    score its findings, unless the attack says otherwise.
    """

    @property
    def split(self) -> Split:
        """Training and test rows, labels 0 and 1."""

    @property
    def forest(self) -> Forest:
        """The suspect, as released."""

    @property
    def claim(self) -> Claim:
        """The owner's; only to score an attacker's findings."""

    @property
    def proof(self) -> Proof | None:
        """The owner's, for schemes whose evidence is not errors on trigger rows; only to score."""

    @property
    def standard(self) -> Forest:
        """The honest standard forest, trained without the watermark."""

    @property
    def n_trees(self) -> int:
        """Number of trees of every forest here."""

    @property
    def caps(self) -> Caps:
        """Limits on every tree of the suspect."""

    @property
    def files(self) -> Mapping[str, TreeMetadata]:
        """Contents of the model files, by form: ``as trained``, ``released``, ``standard``."""

    @property
    def models(self) -> Mapping[str, TreeModel]:
        """Boosted models by form: ``released``, ``standard``; none where the suspect's trees vote."""


@dataclass(frozen=True, eq=False)
class LoadedScene:
    """A `Scene` whose parts are in memory."""

    split: Split
    forest: Forest
    claim: Claim
    standard: Forest
    caps: Caps
    files: Mapping[str, TreeMetadata] = field(default_factory=dict)
    proof: Proof | None = None
    models: Mapping[str, TreeModel] = field(default_factory=dict)

    @property
    def n_trees(self) -> int:
        """Number of trees of every forest here."""
        return self.forest.n_trees

    @classmethod
    def of(cls, split: Split, made: WatermarkedForest, standard: Any, caps: Caps) -> LoadedScene:
        """Return the scene of a watermark made in this process.

        Parameters
        ----------
        split
            The training rows of the watermark, and the attacker's test rows.
        made
            As `wm.embedding.watermark.watermark` returns it.
        standard
            The honest forest as scikit-learn fitted it.
        caps
            The limits that the watermarked trees were trained with.
        """
        forest = made.forest
        return cls(
            split,
            forest,
            made.claim,
            Forest.from_sklearn(standard),
            caps,
            {
                "as trained": from_model(list(made.embedded.trees)),
                "released": parse_arrays(forest.to_bytes(), what="released"),
                "standard": from_model(standard),
            },
        )


@dataclass(frozen=True)
class Streams:
    """The random streams of one attack, a separate one for each role."""

    seed: int
    """The campaign's."""
    repeat: int = 0
    """Number of the repeat of the watermark that is attacked."""

    def generator(self, role: Role, *key: int | str) -> np.random.Generator:
        """Return a fresh generator of a role's stream in this repeat."""
        return streams.generator(self.seed, role, self.repeat, *key)

    def own(self, kind: str, *key: int | str) -> np.random.Generator:
        """Return a fresh generator of the stream that an attack of this kind has for itself."""
        return streams.generator(self.seed, streams.attacker(kind), self.repeat, *key)


class Scope(StrEnum):
    """The forests that an attack is run on."""

    WATERMARK = "watermark"
    """Each watermarked forest of the grid, or those that `only` names."""
    CAMPAIGN = "campaign"
    """Once: on the data and the honest forests of the first repeat."""


@dataclass(frozen=True)
class Attack:
    """An attack, as listed in the registry."""

    kind: str
    """Its name in campaign files, on the command line and in the store."""
    summary: str
    """Heading of its results; one line."""
    options: type[AttackOptions]
    row: type[AttackRow]
    """Models of its options and of a row of its results."""
    run: Callable[[Scene, Any, Streams], Result]
    """Runs the attack, or one of its parts."""
    part: type[AttackOptions] | None = None
    """Model of one job's options, where it differs from `options`."""
    extra: Mapping[str, type[AttackRow]] = field(default_factory=dict)
    """Models of further tables in its results, by name."""
    shown: type[AttackRow] | None = None
    aggregate: Callable[[Sequence[Any]], Sequence[AttackRow]] | None = None
    """Model and function of rows aggregated over several jobs, for attacks that show no single rows."""
    alarms: Callable[[Sequence[Any]], Sequence[str]] | None = None
    """Takes the shown rows and returns a line for each that makes the campaign's verdict negative."""
    scope: Scope = Scope.WATERMARK
    """What it is run on."""
    draws: bool = True
    """Whether it draws random numbers; if not, no seed is part of its jobs' content keys."""
    version: int = 1
    """Part of the content keys: raise it when equal options begin to give other results."""
    is_queried: bool = False
    """Whether it consists of single queries, answered by a job of its own kind; only forgery does."""

    @property
    def job_options(self) -> type[AttackOptions]:
        """Model of the options of one job."""
        return self.part or self.options

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the attack's frame with their descriptions, in order."""
        return columns_of(self.shown or self.row)


_Choice = TypeVar("_Choice")

_SEVERAL = ("tuple[", "Sequence[", "list[")


def columns_of(row: type[AttackRow]) -> dict[str, str]:
    """Return the fields of a row model that are columns, with their descriptions, in order."""
    return {
        name: info.description or ""
        for name, info in row.model_fields.items()
        if not str(info.annotation).startswith(_SEVERAL)
    }


def whole_columns_of(row: type[AttackRow]) -> set[str]:
    """Return the columns of whole numbers that may be missing."""
    return {name for name, info in row.model_fields.items() if info.annotation == (int | None)}


def _as_list(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _no_value_twice(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if twice := [value for number, value in enumerate(values) if value in values[:number]]:
        raise ValueError(f"lists {twice[0]!r} twice")
    return values


def known(kind: str, names: Sequence[str]) -> BeforeValidator:
    """Return a validator that refuses a name that is not in a registry, and lists those that are."""

    def check(value: object) -> object:
        if value not in names:
            raise ValueError(f"unknown {kind} {value!r}; known are: {', '.join(names)}")
        return value

    return BeforeValidator(check)


class _OneOrMore:
    """A list that may be given as its only value, also in its JSON Schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        several = handler(schema)
        return {"anyOf": [several, several["items"]]}


OneOrMore = _OneOrMore()
Distinct = AfterValidator(_no_value_twice)
Several = Field(min_length=1)
Choices = Annotated[tuple[_Choice, ...], OneOrMore, Several, Distinct]
"""A list of one or more distinct values, or its only value."""
Distance = Annotated[float, Field(ge=0, le=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
ClosedShare = Annotated[float, Field(ge=0, le=1)]
Timeout = Annotated[float, Field(gt=0, le=1e6)]
