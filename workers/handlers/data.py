"""Job kind `split`."""

from __future__ import annotations

from pathlib import Path

from wm.datasets import Source, file_sha256, load, split
from wm.errors import DataError
from workers.jobs import SplitParameters, SplitResult
from workers.runtime.context import Context


def source_of(parameters: SplitParameters) -> Source:
    """Return the data set that a job names."""
    return Source(
        name=parameters.name,
        path=None if parameters.path is None else Path(parameters.path),
        label=parameters.label,
        header=parameters.header,
        positive=parameters.positive,
    )


def run(parameters: SplitParameters, context: Context) -> SplitResult:
    """Load, cut and scale a data set."""
    source = source_of(parameters)
    if file_sha256(source) != parameters.file_sha256:
        raise DataError(f"{source.path}: the file was changed after the campaign was planned: plan it again")
    with context.timed("load"):
        dataset = load(source)
    made = split(dataset, test_share=parameters.test_share, seed=parameters.seed, scaling=parameters.scaling)
    return SplitResult(
        split=context.keep(made.to_bytes()),
        dataset_sha256=dataset.sha256,
        rows_train=len(made.y_train),
        rows_test=len(made.y_test),
        features=made.X_train.shape[1],
        positive_train=int(made.y_train.sum()),
        positive_test=int(made.y_test.sum()),
        constant_features=made.constant_features,
        class_names=made.class_names,
    )
