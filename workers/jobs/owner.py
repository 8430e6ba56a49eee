"""Models of the owner's jobs: rows, hyper-parameters, honest forests, watermark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from wm.attacks.base import Share
from wm.datasets import Categorical, Missing, Source
from wm.embedding.options import DEFAULT_DEPTH, FitOptions, GradientOptions, PoolRows
from workers.jobs.base import JobResult, Parameters, Seed, Sha256

Unused = Field(exclude_if=lambda value: value in (None, "refuse", ()))


class SplitOptions(BaseModel):
    """A data set and its split; fields as in `wm.datasets.Source` and `wm.datasets.split`."""

    name: str | None = None
    path: str | None = None
    label: str | int | None = None
    header: bool | None = None
    positive: str | None = None
    # Left out where not used, so that keys of jobs stay what they were before these options.
    sep: Annotated[str | None, Unused] = None
    missing: Annotated[Missing, Unused] = "refuse"
    categorical: Annotated[Categorical, Unused] = "refuse"
    drop: Annotated[tuple[str | int, ...], Unused] = ()
    rows: Annotated[int | None, Field(ge=4), Unused] = None
    test_share: Share = 0.3
    scaling: Literal["train", "paper", "none"] = "train"

    def source(self) -> Source:
        """Return the data source."""
        return Source(
            name=self.name,
            path=None if self.path is None else Path(self.path),
            label=self.label,
            header=self.header,
            positive=self.positive,
            sep=self.sep,
            missing=self.missing,
            categorical=self.categorical,
            drop=self.drop,
        )


class SplitParameters(SplitOptions, Parameters):
    """Load, split and scale a data set."""

    file_sha256: Sha256 | None
    seed: Seed


class SplitResult(JobResult):
    """`split` is an artifact: `wm.datasets.Split` as bytes; `positive_...` counts rows of class 1."""

    split: Sha256
    dataset_sha256: str
    rows_train: int
    rows_test: int
    features: int
    positive_train: int
    positive_test: int
    constant_features: int
    class_names: tuple[str, ...]


class TuneParameters(Parameters):
    """Choose the best point of a grid from all folds."""

    n_estimators: tuple[int, ...]
    max_depth: tuple[int | None, ...]


class TuneFoldParameters(TuneParameters):
    """Evaluate one fold of a grid search over forests; see `wm.embedding.tuning.fold_accuracies`."""

    folds: int = Field(ge=2)
    fold: int = Field(ge=0)
    seed: Seed


class TuneFoldResult(JobResult):
    """Accuracy of each point of the grid, in the order of `wm.embedding.tuning.grid_points`."""

    fold: int
    accuracies: tuple[float, ...]


class TuneResult(JobResult):
    """The best hyper-parameters and the mean accuracy of each point of the grid."""

    n_estimators: int
    max_depth: int | None
    mean_accuracy: float
    grid: tuple[tuple[int, int | None, float], ...]


class BaselineParameters(Parameters):
    """Train the honest standard and capped forests; hyper-parameters are None if a tuning job decides."""

    n_estimators: int | None
    max_depth: int | None
    adjust: Literal["paper", "artifact"]
    standard_seed: Seed
    capped_seed: Seed


class BaselineResult(JobResult):
    """Artifacts `standard` and `capped` are forests; accuracies are on the test rows, by majority.

    Artifact `standard_record` is the `wm.formats.sklearn_metadata.TreeMetadata` of the standard forest.
    """

    standard: Sha256
    standard_record: Sha256
    capped: Sha256
    n_estimators: int
    max_depth: int | None
    cap_depth: int | None
    cap_leaves: int | None
    accuracy_standard: float
    accuracy_standard_mean_rule: float
    accuracy_capped: float


class BoostedParameters(GradientOptions):
    """How boosted models are trained, beside the number of rounds."""

    max_depth: int = Field(default=DEFAULT_DEPTH, ge=1, le=1_000, description="Depth of each tree.")


class EmbedParameters(FitOptions, Parameters):
    """Embed one watermark. `seed` is the campaign's; owner's streams are spawned from it and `repeat`.

    `candidates` is for schemes whose proof has decoys: trees compared with each of the suspect's. `boosted`
    is for that scheme, `pool_rows` for scheme codebook.
    """

    scheme: str
    trigger_share: Share
    ones_share: float = Field(ge=0, le=1)
    repeat: int = Field(ge=0)
    seed: Seed
    # Left out where not used, so that keys of other schemes' jobs stay what they were.
    candidates: Annotated[int | None, Unused] = None
    boosted: Annotated[BoostedParameters | None, Unused] = None
    pool_rows: Annotated[PoolRows | None, Unused] = None


class HonestFigures(JobResult):
    """Size and accuracy of a model without the watermark, where honest forests are none to compare with."""

    n_estimators: int
    max_depth: int | None
    cap_depth: int | None = None
    cap_leaves: int | None = None
    accuracy_standard: float
    accuracy_standard_mean_rule: float
    accuracy_capped: float | None = None


class EmbedResult(JobResult):
    """Artifacts `forest` and `claim`; evidence is that of the claim against the watermarked forest.

    `accuracy_watermarked_mean_rule` averages the leaves as scikit-learn does, on the trained forest; `forest`
    is scrubbed for release, so that only its votes can be averaged. `log10_p_standard` is the evidence of the
    claim against the honest standard forest. Artifact `record` is scikit-learn's metadata of the trained
    trees, for the audit of leakage. Artifact `proof`: `wm.embedding.proof.Proof`, for schemes that have one.
    Of a boosted model `forest` holds the signs of its margins, the artifacts `model` and `plain` are
    XGBoost's json of it and of the honest one, whose figures are `honest`, and there is no `record`.
    """

    forest: Sha256
    record: Sha256 | None = None
    claim: Sha256
    proof: Sha256 | None = None
    model: Annotated[Sha256 | None, Unused] = None
    plain: Annotated[Sha256 | None, Unused] = None
    honest: Annotated[HonestFigures | None, Unused] = None
    trigger_size: int
    nodes: int | None = None
    signature: str
    rounds_right: int
    rounds_wrong: int
    weight_right: float
    weight_wrong: float
    accuracy_watermarked: float
    accuracy_watermarked_mean_rule: float
    matched_bits: int
    total_bits: int
    exact_match: bool
    log10_p: float
    log10_p_standard: float
