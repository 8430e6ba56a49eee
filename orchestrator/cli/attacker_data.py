"""The rows that an attacker of one model starts from, and the domain in which the attack stays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.model_files import load_rows
from wm.attacks.forgery import attacker_instances
from wm.datasets import AnyScaling, Source, load, split, with_medians
from wm.datasets.files import read_arrays, read_bytes
from wm.errors import QueryError
from wm.verification.answers import name_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.formats.units import Domain
    from wm.models import TreeModel


def attacker_rows(
    model: TreeModel,
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
    forest = model.forest
    if (rows is None) == (dataset is None):
        raise click.UsageError("give either --rows or --dataset: the instances to start from")
    X: NDArray[np.floating]
    if rows is not None and (model.classes is None or len(model.classes) != 2):
        X, y = read_arrays(read_bytes(_npz(rows)), "X", options["label"] or "y", where=str(rows))
        class_names = None
    elif rows is not None:
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
    labels = _labels(model, y, class_names)
    domain = _domain(forest, X, domain_file, options)
    chosen = attacker_instances(seed, rows=len(y), count=min(instances, len(y)), repeat=0)
    X, labels = X[chosen], labels[chosen]
    if model.classes is not None and (right := float((model.predict(X) == labels).mean())) < 0.5:
        click.echo(
            f"Warning: the model is right on only {right:.0%} of the instances: are these its units, columns "
            "and classes?",
            err=True,
        )
    return X, labels, domain


def _npz(path: Path) -> Path:
    if path.suffix != ".npz":
        raise QueryError(
            f"{path}: for a model of several classes, or of numbers, rows come as npz with X and y"
        )
    return path


def _labels(model: TreeModel, y: NDArray[Any], class_names: tuple[str, str] | None) -> NDArray[Any]:
    """Return the model's class values for the rows, whose labels are 0 and 1, or class values without names.

    For a regression, which has no classes, 1: each tree is asked to add more than its centre where its bit
    is 0.
    """
    import numpy as np

    if model.classes is None:
        return np.ones(len(y), dtype=np.int64)
    values = model.classes
    if class_names is None:
        known = {name_of(each): each for each in values.tolist()}
        given = [name_of(each) for each in y.tolist()]
        if strange := sorted(set(given) - set(known)):
            raise QueryError(f"the rows have class {strange[0][:60]!r}, the model {', '.join(known)[:80]}")
        own: NDArray[Any] = np.asarray([known[each] for each in given])
        return own
    names = [str(value) for value in values.tolist()]
    if set(class_names) <= set(names):
        values = values[[names.index(name) for name in class_names]]
    elif names != ["0", "1"]:
        raise QueryError(
            f"the model has classes {', '.join(names)[:80]}, the rows {' and '.join(class_names)}: give rows "
            "with labels of the model's classes"
        )
    chosen: NDArray[Any] = np.asarray(values)[y]
    return chosen


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
