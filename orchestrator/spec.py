"""The campaign file: validated models, and every fault with its line.

Unknown keys, wrong types and impossible values are refused before anything runs, all of them at once.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import tomllib
from collections.abc import Iterator
from itertools import combinations, product
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from orchestrator.errors import SpecError
from orchestrator.toml_lines import Path, line_of, lines_of_keys
from wm import engines
from wm.datasets import Source
from wm.embedding import SCHEMES
from wm.embedding.common import Training
from wm.errors import DataError
from workers.jobs import Share


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _as_list(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _no_value_twice(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if twice := [value for number, value in enumerate(values) if value in values[:number]]:
        raise ValueError(f"lists {twice[0]!r} twice")
    return values


def _known(kind: str, names: list[str]) -> BeforeValidator:
    def check(value: object) -> object:
        if value not in names:
            raise ValueError(f"unknown {kind} {value!r}; known are: {', '.join(names)}")
        return value

    return BeforeValidator(check)


OneOrMore = BeforeValidator(_as_list)
Distinct = AfterValidator(_no_value_twice)
ClosedShare = Annotated[float, Field(ge=0, le=1)]
Engine = Annotated[str, _known("engine", engines.names())]
Scheme = Annotated[str, _known("scheme", sorted(SCHEMES))]
Several = Field(min_length=1)


class DatasetSpec(_Model):
    """Which rows; see `wm.datasets.Source`. `split_seed` pins the split of a published experiment."""

    name: str | None = None
    path: str | None = None
    label: str | int | None = None
    header: bool | None = None
    positive: str | None = None
    test_share: Share = 0.3
    scaling: Literal["train", "paper", "none"] = "train"
    split_seed: int | None = Field(default=None, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _is_a_source(self) -> DatasetSpec:
        try:
            self.source()
        except DataError as reason:
            raise ValueError(str(reason)) from reason
        return self

    def source(self) -> Source:
        """Return the source that this names."""
        return Source(
            name=self.name,
            path=None if self.path is None else pathlib.Path(self.path),
            label=self.label,
            header=self.header,
            positive=self.positive,
        )


TreeCount = Annotated[int, Field(ge=2, le=10_000)]
Depth = Annotated[int, Field(ge=1, le=1_000)]


class TuneSpec(_Model):
    """The grid that hyper-parameters are chosen from, by cross-validation."""

    n_estimators: Annotated[tuple[TreeCount, ...], OneOrMore, Several, Distinct]
    max_depth: Annotated[tuple[Depth, ...], OneOrMore, Several, Distinct]
    folds: int = Field(default=3, ge=2, le=100)


class ForestSpec(_Model):
    """Fixed hyper-parameters, or a grid for tuning."""

    n_estimators: TreeCount | None = None
    max_depth: Depth | None = None
    tune: TuneSpec | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> ForestSpec:
        if (self.tune is None) == (self.n_estimators is None):
            raise ValueError("give either n_estimators (and max_depth, if limited) or tune")
        if self.tune is not None and self.max_depth is not None:
            raise ValueError("max_depth is chosen by tune: leave one of them out")
        return self

    @property
    def fewest_trees(self) -> int:
        """Smallest number of trees that the campaign can end up with."""
        return min(self.tune.n_estimators) if self.tune else int(self.n_estimators or 0)


class EmbeddingSpec(_Model):
    """The grid of watermarks: every combination of the listed values, `repeats` times with other seeds.

    `weight_step` left out is the training's own: 1 for "paper", 30 for "artifact".
    """

    scheme: Annotated[tuple[Scheme, ...], OneOrMore, Several, Distinct] = ("paper",)
    trigger_share: Annotated[tuple[Share, ...], OneOrMore, Several, Distinct] = (0.02,)
    ones_share: Annotated[tuple[Share, ...], OneOrMore, Several, Distinct] = (0.5,)
    repeats: int = Field(default=1, ge=1, le=10_000)
    adjust: Literal["paper", "artifact"] = "paper"
    training: Training = "paper"
    weight_step: float | None = Field(default=None, gt=0, le=1e6)
    max_rounds: int = Field(default=500, ge=1, le=100_000)

    @model_validator(mode="after")
    def _step_has_a_meaning(self) -> EmbeddingSpec:
        if self.training == "per-tree" and self.weight_step is not None:
            raise ValueError('weight_step has no meaning for training = "per-tree": leave it out')
        return self


class OnlySpec(_Model):
    """Restricts an attack to part of the grid; a list left out restricts nothing."""

    scheme: Annotated[tuple[str, ...], OneOrMore] | None = None
    trigger_share: Annotated[tuple[float, ...], OneOrMore] | None = None
    ones_share: Annotated[tuple[float, ...], OneOrMore] | None = None
    repeats: int | None = Field(default=None, ge=1)

    def admits(self, scheme: str, trigger_share: float, ones_share: float, repeat: int) -> bool:
        """Return whether a point of the grid is attacked."""
        return (
            (self.scheme is None or scheme in self.scheme)
            and (self.trigger_share is None or trigger_share in self.trigger_share)
            and (self.ones_share is None or ones_share in self.ones_share)
            and (self.repeats is None or repeat < self.repeats)
        )

    def points(self, grid: EmbeddingSpec) -> Iterator[tuple[str, float, float]]:
        """Yield scheme, trigger share and ones share of each point that is attacked."""
        for point in product(grid.scheme, grid.trigger_share, grid.ones_share):
            if self.admits(*point, repeat=0):
                yield point


class DetectionSpec(_Model):
    """The paper's detection strategies."""

    kind: Literal["detection"]
    only: OnlySpec = OnlySpec()


class SuppressionSpec(_Model):
    """Spotting trigger queries."""

    kind: Literal["suppression"]
    only: OnlySpec = OnlySpec()


class ForgerySpec(_Model):
    """Forgery of prescribed signatures by a solver.

    `instances` is the number of test rows tried per signature and distance, by default the trigger set's.
    """

    kind: Literal["forgery"]
    engine: Annotated[tuple[Engine, ...], OneOrMore, Several, Distinct] = ("portfolio",)
    signatures: int = Field(default=10, ge=1, le=100_000)
    ones_share: ClosedShare = 0.5
    eps: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], OneOrMore, Several, Distinct]
    timeout_s: float = Field(default=60.0, gt=0, le=1e6)
    memory_mb: int | None = Field(default=None, ge=1)
    instances: int | None = Field(default=None, ge=1)
    only: OnlySpec = OnlySpec()

    def meets(self, other: ForgerySpec, grid: EmbeddingSpec) -> bool:
        """Return whether two attacks ask other questions about one point of the grid."""
        questions = ("ones_share", "timeout_s", "memory_mb", "instances")
        return (
            not set(self.engine).isdisjoint(other.engine)
            and not set(self.eps).isdisjoint(other.eps)
            and not set(self.only.points(grid)).isdisjoint(other.only.points(grid))
            and any(getattr(self, name) != getattr(other, name) for name in questions)
        )


AttackSpec = Annotated[DetectionSpec | SuppressionSpec | ForgerySpec, Field(discriminator="kind")]


class LimitsSpec(_Model):
    """Hard limits on every job's process."""

    job_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, ge=1)


class CampaignSpec(_Model):
    """A whole campaign file."""

    name: str = Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = Field(ge=0, lt=2**63)
    dataset: DatasetSpec
    forest: ForestSpec
    embedding: EmbeddingSpec = EmbeddingSpec()
    attack: tuple[AttackSpec, ...] = ()
    limits: LimitsSpec = LimitsSpec()

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the specification, defaults filled in."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    def conflicts(self) -> Iterator[tuple[Path, str]]:
        """Yield what does not go together though each part is right: path of the key, and why."""
        for number, attack in enumerate(self.attack):
            for name in ("scheme", "trigger_share", "ones_share"):
                there = getattr(self.embedding, name)
                for value in getattr(attack.only, name) or ():
                    if value not in there:
                        known = ", ".join(map(str, there))
                        yield (
                            ("attack", number, "only", name),
                            f"{value!r} is not in embedding.{name} ({known})",
                        )
        forgeries = [(n, attack) for n, attack in enumerate(self.attack) if isinstance(attack, ForgerySpec)]
        for (first, one), (second, other) in combinations(forgeries, 2):
            if one.meets(other, self.embedding):
                yield (
                    ("attack", second),
                    f"asks other questions than attack.{first} about the same engine, eps and watermark, "
                    "which results could not tell apart: give it other values, or an `only`",
                )


def parse_spec(text: str, *, what: str = "campaign") -> CampaignSpec:
    """Validate a campaign file's text; `what` names the file in errors.

    Raises
    ------
    SpecError
        Everything that is wrong with it, each with its line.
    """
    try:
        # TOML has lists only; pydantic's strict mode would insist on tuples, so it gets them as JSON.
        data = json.dumps(tomllib.loads(text), default=str)
    except (ValueError, RecursionError) as reason:  # also numbers of thousands of digits, endless nesting
        raise SpecError([f"{what}: not valid TOML: {reason}"]) from reason
    try:
        spec = CampaignSpec.model_validate_json(data)
    except ValidationError as reason:
        faults = [(_path(error["loc"]), _explain(error)) for error in reason.errors()]
        raise SpecError(_located(faults, text, what)) from reason
    if conflicts := list(spec.conflicts()):
        raise SpecError(_located(conflicts, text, what))
    return spec


def _path(location: tuple[str | int, ...]) -> Path:
    """Return the file's path of a fault: pydantic adds the kind of an attack to its number."""
    is_attack = location[:1] == ("attack",) and len(location) > 2
    return location[:2] + location[3:] if is_attack else location


def _located(faults: list[tuple[Path, str]], text: str, what: str) -> list[str]:
    """Return a line for each fault, in the order of the file."""
    lines = lines_of_keys(text)
    problems = []
    for path, message in faults:
        line = line_of(lines, path)
        where = f"{what}:{line}" if line else what
        name = ".".join(map(str, path)) or "file"
        problems.append((line or 0, f"{where}: {name}: {message}"))
    return [problem for _, problem in sorted(problems)]


def read_spec(path: str | pathlib.Path) -> CampaignSpec:
    """Read and validate a campaign file.

    Raises
    ------
    SpecError
        No such file, or as in `parse_spec`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise SpecError([f"{path}: cannot be read ({reason})"]) from reason
    return parse_spec(text, what=str(path))


def _explain(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key: remove it or mend its spelling"
    if error["type"] == "missing":
        return "is missing: add it"
    if error["type"] == "union_tag_not_found":
        return "kind is missing: add it"
    if error["type"] == "union_tag_invalid":
        return f"unknown kind {error['ctx']['tag']!r}; known are: {error['ctx']['expected_tags']}"
    message = str(error["msg"]).removeprefix("Value error, ")
    value = error.get("input")
    if isinstance(value, str | int | float) and repr(value) not in message:
        message += f" (got {value!r})"
    return message[:1].lower() + message[1:]
