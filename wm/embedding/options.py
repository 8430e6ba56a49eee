"""Options of the schemes and their defaults, for the estimator, `wm embed` and campaigns alike.

Imports only pydantic, so that reading a default does not load the libraries that train forests.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wm.errors import EmbeddingError

if TYPE_CHECKING:
    from wm.claims.lineup_settings import BoostingSettings, MaxFeatures, Settings, TreeSettings

Training = Literal["paper", "artifact", "per-tree"]
"""How trigger weights are raised until the trees fit; see `wm.embedding.paper.TRAININGS`."""

Adjust = Literal["paper", "artifact"]
"""Limits set by `Adjust`: "paper" depth and leaves, "artifact" (the authors' code) leaves only."""

PoolRows = Literal["any", "divided"]
"""Which rows an owner commits to, see `wm.embedding.divided`."""

Share = Annotated[float, Field(gt=0, lt=1)]


class Options(BaseModel):
    """An owner's choices, each with its range and default."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Return checked options.

        Raises
        ------
        EmbeddingError
            An option that is unknown or impossible; one line.
        """
        try:
            return cls(**options)
        except ValidationError as reason:
            from wm.claims.document import first_error

            raise EmbeddingError(f"impossible options: {first_error(reason)}") from reason


class FitOptions(Options):
    """How the trees of scheme `paper` are made to fit the trigger set."""

    training: Training = Field(
        default="per-tree",
        description="How trees are made to fit: each by itself, or in the loop of the paper or of its "
        "authors' code.",
    )
    weight_step: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None,
        description="Weight added to trigger rows in each round of a loop; left out: 1 for the paper's, 30 "
        "for the authors'. Training per-tree has none.",
    )
    max_rounds: int = Field(
        default=500, ge=1, le=100_000, description="Fits of one tree after which embedding gives up."
    )

    @model_validator(mode="after")
    def _step_has_a_meaning(self) -> Self:
        if self.training == "per-tree" and self.weight_step is not None:
            raise ValueError('weight_step has no meaning for training = "per-tree": leave it out')
        return self

    def fit_options(self) -> dict[str, Any]:
        """Return these options alone, as keyword arguments."""
        return {name: getattr(self, name) for name in FitOptions.model_fields}


class TrainOptions(FitOptions):
    """`FitOptions` and what callers in Python can also choose."""

    least_weight: bool = False
    """Whether training "per-tree" looks for the smallest weight with which each tree fits, to within 5%, for
    several times the fits."""
    n_jobs: int = 1
    """Threads of training "per-tree", as joblib counts them; changes no result."""

    @model_validator(mode="after")
    def _smallest_weight_has_a_meaning(self) -> Self:
        if self.least_weight and self.training != "per-tree":
            raise ValueError(f"least_weight is for training per-tree, not {self.training}: leave it out")
        return self


class PaperOptions(FitOptions):
    """An owner's choices for a watermark of scheme `paper`, each with its range and default.

    Examples
    --------
    >>> PaperOptions(trigger_share=0.01).training
    'per-tree'
    """

    trigger_share: Share = Field(
        default=0.02, description="Share of the training rows that become the trigger set."
    )
    ones_share: Share = Field(default=0.5, description="Share of the trees that must err on the trigger set.")
    adjust: Adjust = Field(
        default="paper",
        description="Limits on the trees, from a standard forest: on depth and leaves as in the paper, or on "
        "leaves only as in its authors' code.",
    )


class CodebookOptions(PaperOptions):
    """The same choices for a watermark of scheme `codebook`, whose trees are always trained one by one."""

    training: Literal["per-tree"] = Field(
        default="per-tree", description="How trees are made to fit: each by itself."
    )
    ones_share: Share = Field(
        default=0.25, description="Probability that a tree must err on a trigger row, independently for each."
    )


DEFAULT_RATE = 0.1
"""Learning rate of boosted models."""

DEFAULT_SUBSAMPLE = 0.5
"""Share of the rows that a round of a boosted line-up sees: stochastic gradient boosting (Friedman 2002)."""


class GradientOptions(Options):
    """How the trees of scheme `boosted` are trained, beside their number."""

    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        default=DEFAULT_RATE, description="For boosted models: factor on each tree's output."
    )
    fit_share: Annotated[float, Field(gt=0.5, le=1)] = Field(
        default=0.7,
        description="For boosted: share of the trigger rows on which each tree must show its bits.",
    )
    max_weight: Annotated[float, Field(ge=1, le=1e6)] = Field(
        default=64, description="For boosted: largest weight of a trigger row; other rows weigh 1."
    )


class BoostedOptions(GradientOptions):
    """An owner's choices for a watermark of scheme `boosted`, beside trees and depth."""

    trigger_share: Share = Field(
        default=0.02, description="Share of the training rows that become the trigger set."
    )
    ones_share: Annotated[float, Field(ge=0.5, le=0.5)] = Field(
        default=0.5, description="Probability that a tree must err on a trigger row, a fair coin for each."
    )


DEFAULT_DEPTH = 3
"""Depth of boosted trees where an owner does not choose, as in scikit-learn."""

DEFAULT_CANDIDATES = 20
"""Trees that a line-up compares each tree with: enough but for copies with most of their trees replaced."""

MAX_CANDIDATES = 10_000


class LineupOptions(Options):
    """An owner's choices for the honest model of scheme `lineup`, beside trees and depth."""

    candidates: int = Field(
        default=DEFAULT_CANDIDATES,
        ge=2,
        le=MAX_CANDIDATES,
        description="For lineup with --committed: trees trained for each position, of which one is released.",
    )
    min_samples_leaf: int = Field(
        default=1, ge=1, le=1_000_000, description="For lineup: least number of rows in a leaf."
    )
    max_features: str = Field(
        default="sqrt",
        description="For lineup: features considered at each split: sqrt, log2, or a share below 1.",
    )
    bootstrap: bool = Field(
        default=False, description="For lineup: whether each tree is trained on a bootstrap sample."
    )
    boosting: bool = Field(
        default=False, description="For lineup: a boosted model, with --trees rounds, instead of a forest."
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="For boosted models: factor on each tree's output; left out: 0.1."
    )
    subsample: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="For lineup with --boosting: share of the rows that each round sees; left out: 0.5.",
    )

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if self.boosting and self.bootstrap:
            raise ValueError("bootstrap has no meaning for boosting: give a subsample below 1")
        for name in ("learning_rate", "subsample"):
            if not self.boosting and getattr(self, name) is not None:
                raise ValueError(f"{name} is for boosted models: choose boosting, or leave it out")
        return self

    def training(self, max_depth: int | None) -> Settings:
        """Return how each tree is trained; errors as in `of_trees`."""
        return self._of_rounds(max_depth) if self.boosting else self.of_trees(max_depth)

    def of_trees(self, max_depth: int | None) -> TreeSettings:
        """Return how each tree of a forest is trained.

        Raises
        ------
        EmbeddingError
            Impossible `max_features`.
        """
        from wm.claims.lineup_settings import TreeSettings

        return TreeSettings(
            max_depth=max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self._share(),
            bootstrap=self.bootstrap,
        )

    def _of_rounds(self, max_depth: int | None) -> BoostingSettings:
        from wm.claims.lineup_settings import BoostingSettings

        return BoostingSettings(
            max_depth=DEFAULT_DEPTH if max_depth is None else max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self._share(),
            learning_rate=DEFAULT_RATE if self.learning_rate is None else self.learning_rate,
            subsample=DEFAULT_SUBSAMPLE if self.subsample is None else self.subsample,
        )

    def _share(self) -> MaxFeatures:
        rules: dict[str, MaxFeatures] = {"sqrt": "sqrt", "log2": "log2"}
        if self.max_features in rules:
            return rules[self.max_features]
        try:
            share = float(self.max_features)
        except ValueError:
            share = math.nan
        if not 0 < share < 1:
            raise EmbeddingError(
                f"max_features {self.max_features!r} is neither sqrt, log2 nor a share below 1: with all "
                "features every seed would give almost the same tree"
            )
        return share


DEFAULTS = PaperOptions()
"""The defaults of all options of scheme `paper`."""
