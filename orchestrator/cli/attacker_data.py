"""The rows that an attacker of one model starts from, and the domain in which the attack stays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.model_files import load_rows
from wm.attacks.forgery import attacker_instances
from wm.datasets import AnyScaling, Source, load, split, with_medians
from wm.errors import QueryError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.formats.units import Domain


def attacker_rows(
    forest: Forest,
    *,
    rows: Path | None,
    dataset: str | None,
    domain_file: Path | None,
    split_seed: int,
    seed: int,
    instances: int,
    **options: Any,
) -> tuple[NDArray[np.floating], NDArray[Any], Domain | None]:
    """Return the attacker's instances, a prefix of one fixed shuffle, their labels, and the domain.

    The labels are the model's class values; no domain stands for 0 to 1.
    """
    if (rows is None) == (dataset is None):
        raise click.UsageError("give either --rows or --dataset: the instances to start from")
    X: NDArray[np.floating]
    if rows is not None:
        found = with_medians(load_rows(options, path=rows))
        X, y, class_names = found.X, found.y, found.class_names
    else:
        scaling: AnyScaling = options["scaling"] or ("train" if _is_scaled(forest) else "raw")
        made = split(
            load(Source(name=dataset)), seed=split_seed, test_share=options["test_share"], scaling=scaling
        )
        X, y, class_names = made.X_test, made.y_test, made.class_names
    if X.shape[1] != forest.n_features:
        raise QueryError(f"the instances have {X.shape[1]} features, the model {forest.n_features}")
    labels = _labels(forest, y, class_names)
    domain = _domain(forest, X, domain_file, options)
    chosen = attacker_instances(seed, rows=len(y), count=min(instances, len(y)), repeat=0)
    X, labels = X[chosen], labels[chosen]
    if (right := forest.accuracy(X, labels)) < 0.5:
        click.echo(
            f"Warning: the model is right on only {right:.0%} of the instances: are these its units, columns "
            "and classes?",
            err=True,
        )
    return X, labels, domain


def _labels(forest: Forest, y: NDArray[np.int64], class_names: tuple[str, str]) -> NDArray[Any]:
    """Return the model's class values for classes 0 and 1 of the rows."""
    import numpy as np

    values = forest.classes
    names = [str(value) for value in values.tolist()]
    if set(class_names) <= set(names):
        values = values[[names.index(name) for name in class_names]]
    elif names != ["0", "1"]:
        raise QueryError(
            f"the model has classes {', '.join(names)[:80]}, the rows {' and '.join(class_names)}: give rows "
            "with labels of the model's classes"
        )
    return np.asarray(values)[y]


def _domain(
    forest: Forest, X: NDArray[np.floating], file: Path | None, options: dict[str, Any]
) -> Domain | None:
    """Return the domain that the attack stays in; None for 0 to 1, that of a scaled model."""
    from wm.formats.units import Domain

    if file is not None:
        domain = Domain.of(with_medians(load_rows(options, path=file)).X)
        if len(domain.low) != forest.n_features:
            raise QueryError(f"{file}: has {len(domain.low)} features, the model {forest.n_features}")
        if outside := int((~domain.holds(X)).sum()):
            raise QueryError(f"{outside} of {len(X)} instances lie outside the domain of {file}")
        return domain
    if _is_scaled(forest):
        return None
    click.echo(
        "The model takes other units than 0 to 1: features keep the range of the given rows; see --domain.",
        err=True,
    )
    return Domain.of(X)


def _is_scaled(forest: Forest) -> bool:
    """Return whether all thresholds are from 0 to 1, as those of a model of scaled rows."""
    thresholds = forest.threshold[~forest.is_leaf]
    return not len(thresholds) or bool(thresholds.min() >= 0 and thresholds.max() <= 1)
