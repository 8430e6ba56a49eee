"""The rows that an attacker of one model starts from, and the domain in which the attack stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import say
from orchestrator.cli.model_files import source_of
from orchestrator.cli.model_rows import column_names, go_by_name
from wm.attacks.forgery import attacker_instances
from wm.datasets import AnyScaling, Source, load, split
from wm.datasets.applying import model_rows
from wm.datasets.cells import Cells, prepared_table
from wm.datasets.files import read_arrays, read_bytes, read_labelled, read_raw
from wm.datasets.frames import frame_of
from wm.datasets.labels import Labels, chosen_classes, encode_labels
from wm.datasets.loading import load_table
from wm.datasets.model import median_filled
from wm.datasets.preparation import Preparation
from wm.datasets.source import OF_NUMBERS, file_format
from wm.datasets.wording import as_flag, shown
from wm.errors import DataError, QueryError
from wm.verification.answers import name_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.formats.raw_form import RawForm
    from wm.formats.units import Domain
    from wm.interface import Interface
    from wm.models import TreeModel


@dataclass(frozen=True, eq=False)
class Start:
    """What an attack on one model starts from.

    Attributes
    ----------
    X : (n, d)
        Instances, a prefix of one fixed shuffle; of a pipeline, its choices (`wm.formats.raw_form`).
    labels : (n,)
        The model's class values.
    domain
        Of the features; None for 0 to 1.
    frame
        The instances' raw rows, for a pipeline only.
    """

    X: NDArray[np.floating]
    labels: NDArray[Any]
    domain: Domain | None
    frame: pd.DataFrame | None = None


def attacker_rows(
    model: TreeModel,
    interface: Interface | None,
    *,
    rows: Path | None,
    dataset: str | None,
    domain_file: Path | None,
    split_seed: int,
    seed: int,
    instances: int,
    form: RawForm | None = None,
    **options: Any,
) -> Start:
    """Return the attacker's instances, their labels, and the domain.

    Parameters
    ----------
    form
        The raw form of a pipeline, whose `model` is attacked.
    """
    forest = model.forest
    if (rows is None) == (dataset is None):
        raise click.UsageError("give either --rows or --dataset: the instances to start from")
    X: NDArray[np.floating]
    class_names: tuple[str, ...] | None = None
    frame: pd.DataFrame | None = None
    if rows is not None and form is not None:
        frame, labels = _raw_rows(form, rows, options, labelled=model.classes is not None)
        y = labels.codes
        if model.classes is not None:
            y, class_names = _classes(labels, rows, options)
    elif rows is not None and model.classes is None:
        X, y = read_arrays(read_bytes(_npz(rows)), "X", options["label"] or "y", where=str(rows))
    elif rows is not None:
        X, labels = _model_input(model, interface, rows, options)
        y, class_names = _classes(labels, rows, options)
    else:
        scaling: AnyScaling = options["scaling"] or ("train" if _is_scaled(forest) else "raw")
        made = split(
            load(Source(name=dataset)), seed=split_seed, test_share=options["test_share"], scaling=scaling
        )
        X, y, class_names = made.X_test, made.y_test, made.class_names
        if form is not None:
            frame = _frame(X, made.feature_names)
        else:
            X = _in_order(X, made.feature_names, model, interface, str(dataset))
    if frame is not None and form is not None:
        X = form.choices(frame)
        if unknown := int((~(fits := form.fits(X))).sum()):
            say(f"{unknown} of {len(X)} rows have values that the pipeline does not know: left out")
            X, y, frame = X[fits], y[fits], frame[fits]
        if not len(X):
            raise QueryError("no row is left to start from")
    if X.shape[1] != forest.n_features:
        raise QueryError(f"the instances have {X.shape[1]} features, the model {forest.n_features}")
    own = None if interface is None else interface.class_names
    values = _labels(model, y, class_names, own)
    domain = _domain(model, interface, X, domain_file, options, form)
    chosen = attacker_instances(seed, rows=len(y), count=min(instances, len(y)), repeat=0)
    X, values = X[chosen], values[chosen]
    frame = None if frame is None else frame.iloc[chosen].reset_index(drop=True)
    if model.classes is not None and (right := float((model.predict(X) == values).mean())) < 0.5:
        click.echo(
            f"Warning: the model is right on only {right:.0%} of the instances: are these its units, columns "
            "and classes?",
            err=True,
        )
    return Start(X, values, domain, frame)


def _raw_rows(
    form: RawForm, path: Path, options: dict[str, Any], *, labelled: bool = True
) -> tuple[pd.DataFrame, Labels]:
    """Return a table's raw rows for a pipeline, and their labels; `labelled` as in `_cells`."""
    if (options["missing"], options["categorical"]) != ("refuse", "refuse"):
        raise click.UsageError("a pipeline prepares rows itself: leave --missing and --categorical out")
    source = source_of(options, path=path)
    if labelled and file_format(path) in OF_NUMBERS:
        table = load_table(source)
        frame, labels, notes = _frame(table.X, table.feature_names), table.labels, table.notes
    else:
        cells = _cells(tuple(each.name for each in form.columns), path, source, labelled=labelled)
        frame, labels, notes = frame_of(cells), _encoded(cells, source), cells.notes
    for note in notes:
        say(note)
    return frame, labels


def _frame(X: NDArray[np.floating], names: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(X.astype("float64"), columns=list(names))


def _model_input(
    model: TreeModel,
    interface: Interface | None,
    path: Path,
    options: dict[str, Any],
    *,
    labelled: bool = True,
) -> tuple[NDArray[np.floating], Labels]:
    """Return the model input in a file, and its labels; `labelled` as in `_cells`.

    A raw table is prepared as the model says, unless the options say how.
    """
    import numpy as np

    source = source_of(options, path=path)
    X: NDArray[np.floating]
    if labelled and file_format(path) in OF_NUMBERS:
        table, is_named = load_table(source), False
    else:
        cells = _cells(column_names(model, interface)[0], path, source, labelled=labelled)
        if interface is not None and _is_raw(path, options):
            X, notes = model_rows(interface.preparation, cells)
            for note in (*cells.notes, *notes):
                say(note)
            return X, _encoded(cells, source)
        table, is_named = (
            prepared_table(cells, source.preparing, as_flag, positive=source.positive),
            cells.is_named,
        )
    for note in table.notes:
        say(note)
    X = table.X
    if np.isnan(X).any():
        X = median_filled(table.X, table.feature_names, where=table.where)
    if is_named:
        X = _in_order(X, table.feature_names, model, interface, table.where)
    return X, table.labels


def _cells(names: tuple[str, ...], path: Path, source: Source, *, labelled: bool) -> Cells:
    """Return the cells of a table for a model with columns of these names.

    If it need not be `labelled`, a column of labels may be there, and is left out: all rows are of one class.
    """
    cells: Cells | None = None
    if file_format(path) not in OF_NUMBERS:
        try:
            cells = read_labelled(path, source)
        except DataError:
            if labelled:
                raise
    if cells is None:
        numbers = Preparation.of_numbers(names)
        cells = read_raw(
            path, numbers, header=source.header, sep=source.sep, drop=source.drop, naming=source.naming
        )
    if not cells.columns:
        raise QueryError(f"{path}: no column is left")
    return cells if labelled else replace(cells, labels=["none"] * len(cells.columns[0].values))


def _encoded(cells: Cells, source: Source) -> Labels:
    import numpy as np

    return encode_labels(np.array(cells.labels, dtype=np.str_), where=cells.where, positive=source.positive)


def _classes(
    labels: Labels, path: Path, options: dict[str, Any]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the code of each label, and the names of the classes."""
    return chosen_classes(labels, positive=options["positive"], where=str(path), naming=as_flag)


def _in_order(
    X: NDArray[np.floating], given: tuple[str, ...], model: TreeModel, interface: Interface | None, where: str
) -> NDArray[np.floating]:
    """Return rows of named columns in the order of the model's features; by place if it knows no name."""
    names, named = column_names(model, interface)
    if not go_by_name(given, names, where, named=named):
        return X
    if unused := [name for name in given if name not in names]:
        say(f"{where}: the model does not use {shown(unused)}")
    return X[:, [given.index(name) for name in names]]


def _is_raw(path: Path, options: dict[str, Any]) -> bool:
    is_told = (options["missing"], options["categorical"]) != ("refuse", "refuse")
    return file_format(path) not in OF_NUMBERS and not is_told


def _npz(path: Path) -> Path:
    if path.suffix != ".npz":
        raise QueryError(f"{path}: for a model of numbers, rows come as npz with X and y")
    return path


def _labels(
    model: TreeModel, y: NDArray[Any], class_names: tuple[str, ...] | None, own: tuple[str, ...] | None
) -> NDArray[Any]:
    """Return the model's class values for the rows' classes; `own` are the names that its file has.

    For a regression, which has no classes, 1: each tree is asked to add more than its centre where its bit
    is 0.
    """
    import numpy as np

    values = model.classes
    if values is None or class_names is None:
        return np.ones(len(y), dtype=np.int64)
    names = [name_of(value) for value in values.tolist()]
    if own is not None and set(class_names) <= set(own):
        names = list(own)
    if set(class_names) <= set(names):
        values = values[[names.index(name) for name in class_names]]
    elif names != list(map(str, range(len(class_names)))):
        raise QueryError(
            f"the model has classes {', '.join(names)[:80]}, the rows {', '.join(class_names)[:80]}: give "
            "rows with labels of the model's classes; --positive sets one class against all others"
        )
    chosen: NDArray[Any] = np.asarray(values)[y]
    return chosen


def _domain(
    model: TreeModel,
    interface: Interface | None,
    X: NDArray[np.floating],
    file: Path | None,
    options: dict[str, Any],
    form: RawForm | None,
) -> Domain | None:
    """Return the domain that the attack stays in; None for 0 to 1, that of a scaled model."""
    from wm.formats.units import Domain

    forest = model.forest
    if form is not None:
        rows = X if file is None else form.choices(_raw_rows(form, file, options, labelled=False)[0])
        domain = form.domain(rows)
    elif file is not None:
        rows = _model_input(model, interface, file, options, labelled=False)[0]
        domain = Domain.of(rows, forest.input_dtype)
        if len(domain.low) != forest.n_features:
            raise QueryError(f"{file}: has {len(domain.low)} features, the model {forest.n_features}")
    elif _is_scaled(forest):
        return None
    else:
        click.echo(
            "The model takes other units than 0 to 1: features keep the range of the given rows; see "
            "--domain.",
            err=True,
        )
        return Domain.of(X, forest.input_dtype)
    if outside := int((~domain.holds(X)).sum()):
        raise QueryError(f"{outside} of {len(X)} instances lie outside the domain of {file}")
    return domain


def _is_scaled(forest: Forest) -> bool:
    """Return whether all thresholds are from 0 to 1, as those of a model of scaled rows."""
    thresholds = forest.threshold[~forest.is_leaf]
    return not len(thresholds) or bool(thresholds.min() >= 0 and thresholds.max() <= 1)
