"""Models of the parts of a campaign file that define watermarks: data set, forest, embedding."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from typing import Annotated, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wm import codebook
from wm.attacks.base import Distinct, OneOrMore, Several, Share, known
from wm.codebook import BOOSTED
from wm.embedding import SCHEMES
from wm.embedding.options import DEFAULT_CANDIDATES, DEFAULTS, MAX_CANDIDATES, Adjust, FitOptions, PoolRows
from wm.errors import DataError
from workers.jobs.owner import BoostedParameters, SplitOptions

Scheme = Annotated[str, known("scheme", sorted(SCHEMES))]
TreeCount = Annotated[int, Field(ge=2, le=10_000)]
Depth = Annotated[int, Field(ge=1, le=1_000)]


class SpecModel(BaseModel):
    """Immutable; no unknown keys, strict types, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class DatasetSpec(SplitOptions, SpecModel):
    """The data set, see `wm.datasets.Source`; `split_seed` fixes the split of a published experiment."""

    split_seed: int | None = Field(default=None, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _is_a_source(self) -> DatasetSpec:
        try:
            self.source()
        except DataError as reason:
            raise ValueError(str(reason)) from reason
        return self


class TuneSpec(SpecModel):
    """A grid of hyper-parameters to choose from by cross-validation."""

    n_estimators: Annotated[tuple[TreeCount, ...], OneOrMore, Several, Distinct]
    max_depth: Annotated[tuple[Depth, ...], OneOrMore, Several, Distinct]
    folds: int = Field(default=3, ge=2, le=100)


class ForestSpec(SpecModel):
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
    def tree_counts(self) -> tuple[int, ...]:
        """Numbers of trees that the campaign's forests may have."""
        return self.tune.n_estimators if self.tune else (int(self.n_estimators or 0),)

    @property
    def min_trees(self) -> int:
        """Minimum number of trees of the campaign's forests."""
        return min(self.tree_counts)


Schemes = Annotated[tuple[Scheme, ...], OneOrMore, Several, Distinct]
Shares = Annotated[tuple[Share, ...], OneOrMore, Several, Distinct]
Point = tuple[str, float, float]
"""Scheme, trigger share and ones share of a watermark."""


class GridSpec(SpecModel):
    """One of several grids: every combination of the listed values."""

    scheme: Schemes = ("paper",)
    trigger_share: Shares = (DEFAULTS.trigger_share,)
    ones_share: Shares = (DEFAULTS.ones_share,)

    @model_validator(mode="after")
    def _share_is_the_schemes(self) -> Self:
        """Set the share of ones, where it is left out, to that of the scheme."""
        shares = {SCHEMES[scheme].ones_share for scheme in self.scheme}
        if "ones_share" not in self.model_fields_set and shares != set(self.ones_share):
            self._set_shares(shares)
        elif BOOSTED in self.scheme and set(self.ones_share) != {SCHEMES[BOOSTED].ones_share}:
            raise ValueError(
                f"ones_share of scheme {BOOSTED} is {SCHEMES[BOOSTED].ones_share}, a fair coin for each bit: "
                "give it a grid of its own, or leave ones_share out"
            )
        return self

    def _set_shares(self, shares: set[float]) -> None:
        if len(shares) > 1:
            raise ValueError("give ones_share, or a grid for each scheme: their defaults differ")
        object.__setattr__(self, "ones_share", tuple(shares))

    def points(self) -> Iterator[Point]:
        """Yield each point of this grid."""
        yield from product(self.scheme, self.trigger_share, self.ones_share)


class BoostedSpec(BoostedParameters, SpecModel):
    """How models of scheme `boosted` are trained; their number of rounds is the forest's `n_estimators`."""


class EmbeddingSpec(GridSpec, FitOptions):
    """The watermarks: every combination of the listed values, `repeats` times with other seeds.

    With `grid` tables, the combinations of each of these instead, without duplicates. Then the file omits
    `scheme`, `trigger_share` and `ones_share`, which hold the values of all grids. Without `ones_share`
    schemes of different defaults become a grid each.
    """

    grid: tuple[GridSpec, ...] = ()
    repeats: int = Field(default=1, ge=1, le=10_000)
    adjust: Adjust = DEFAULTS.adjust
    candidates: Annotated[int, Field(ge=2, le=MAX_CANDIDATES)] | None = Field(
        default=None,
        description="For lineup: trees to compare each of a suspect's trees with; "
        f"{DEFAULT_CANDIDATES} if left out.",
    )
    # Left out where not used, so that campaigns without it stay what they were.
    boosted: Annotated[BoostedSpec | None, Field(exclude_if=lambda value: value is None)] = Field(
        default=None, description="For boosted: how the trees are trained."
    )
    pool_rows: Annotated[PoolRows, Field(exclude_if=lambda value: value == "any")] = Field(
        default="any",
        description="For codebook: rows that trigger rows are drawn from, any or those that divide honest "
        "trees.",
    )

    def _set_shares(self, shares: set[float]) -> None:
        if not self.grid:
            grids = (GridSpec(scheme=(one,), trigger_share=self.trigger_share) for one in self.scheme)
            object.__setattr__(self, "grid", tuple(grids))
            object.__setattr__(self, "ones_share", tuple(dict.fromkeys(self._shares())))

    def _shares(self) -> Iterator[float]:
        yield from (share for grid in self.grid for share in grid.ones_share)

    @model_validator(mode="after")
    def _trainings_fit_the_schemes(self) -> Self:
        for scheme in filter(lambda name: SCHEMES[name].trees_vote, self.scheme):
            allowed = get_args(SCHEMES[scheme].options.model_fields["training"].annotation)
            if self.training not in allowed:
                raise ValueError(
                    f"scheme {scheme} has no training {self.training!r}, only {', '.join(allowed)}"
                )
        return self

    @model_validator(mode="after")
    def _boosted_has_a_meaning(self) -> Self:
        if self.boosted is not None and BOOSTED not in {scheme for scheme, *_ in self.points()}:
            raise ValueError(f"boosted has no meaning without scheme {BOOSTED}: leave it out")
        return self

    @model_validator(mode="after")
    def _pool_rows_have_a_meaning(self) -> Self:
        if self.pool_rows != "any" and codebook.SCHEME not in {scheme for scheme, *_ in self.points()}:
            raise ValueError(f"pool_rows has no meaning without scheme {codebook.SCHEME}: leave it out")
        return self

    @model_validator(mode="after")
    def _grids_stand_alone(self) -> EmbeddingSpec:
        """Set the three lists to the values of all grids, as a stored specification already has them."""
        for name in GridSpec.model_fields if self.grid else ():
            values = tuple(dict.fromkeys(value for grid in self.grid for value in getattr(grid, name)))
            if name in self.model_fields_set and getattr(self, name) != values:
                raise ValueError(f"{name} is given by each grid: leave it out here")
            object.__setattr__(self, name, values)
        return self

    def points(self) -> Iterator[Point]:
        """Yield each point of the grid, or of all grids, once."""
        grids = [grid.points() for grid in self.grid] or [super().points()]
        yield from dict.fromkeys(chain.from_iterable(grids))
