"""Models of the attacks of a campaign file: an `[[attack]]` table has options, `kind` and `only`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, create_model

from orchestrator.spec.model import EmbeddingSpec, Point, SpecModel
from wm.attacks import registry
from wm.attacks.base import Attack, AttackOptions, OneOrMore, Scope


class OnlySpec(SpecModel):
    """Restricts an attack to part of the grid; an omitted list restricts nothing."""

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

    def points(self, grid: EmbeddingSpec) -> Iterator[Point]:
        """Yield each point that is attacked."""
        for point in grid.points():
            if self.admits(*point, repeat=0):
                yield point


class AttackSpec(AttackOptions):
    """Common part of the tables of all attacks."""

    model_config = ConfigDict(use_attribute_docstrings=False)  # models made at run time have no source

    kind: str

    @property
    def attack(self) -> Attack:
        """The attack."""
        return registry.attack(self.kind)

    @property
    def options(self) -> AttackOptions:
        """The attack's options, without `kind` and `only`."""
        return self.attack.options.model_construct(
            **{name: getattr(self, name) for name in self.attack.options.model_fields}
        )

    @property
    def restriction(self) -> OnlySpec | None:
        """Which watermarks are attacked; None for an attack on the campaign as a whole."""
        return getattr(self, "only", None)

    def conflicts_with(self, other: AttackSpec, grid: EmbeddingSpec) -> bool:
        """Return whether two attacks would give different results for the same rows of a result."""
        if self.kind != other.kind or not self.options.overlaps(other.options):
            return False
        if self.restriction is None or other.restriction is None:
            return True
        return not set(self.restriction.points(grid)).isdisjoint(other.restriction.points(grid))


def _table(attack: Attack) -> Any:
    """Return the model of an attack's table."""
    fields: dict[str, Any] = {"kind": (Literal[attack.kind], ...)}
    if attack.scope is Scope.WATERMARK:
        fields["only"] = (OnlySpec, OnlySpec())
    return create_model(
        f"{attack.kind} table",
        __base__=(attack.options, AttackSpec),
        __doc__=attack.options.__doc__,
        **fields,
    )


TABLES: dict[str, Any] = {attack.kind: _table(attack) for attack in registry.attacks()}
"""Model of the table of each kind of attack."""


def not_installed(reason: ValidationError) -> str:
    """Return in words which attacks of a specification are not installed here; empty if all are."""
    kinds = {
        str(fault["ctx"]["tag"])
        for fault in reason.errors()
        if fault["type"] == "union_tag_invalid" and fault["loc"][0] == "attack"
    }
    return "; ".join(f"attack {kind!r} is not installed here" for kind in sorted(kinds))


if TYPE_CHECKING:
    AnyAttackSpec = AttackSpec
else:
    AnyAttackSpec = Annotated[reduce(or_, TABLES.values()), Field(discriminator="kind")]
