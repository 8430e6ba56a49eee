"""The interface of a released model: the raw columns that it takes, and the names of its classes.

It is part of the model's file, as JSON, so that whoever has the model can give it raw rows: an array of a
forest's npz, or an attribute of XGBoost's json. Readers of trees do not need it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from wm.claims.document import MAX_DOCUMENT_BYTES, Document, first_error
from wm.datasets.preparation import MinMax, Preparation
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import forest_file, npz, xgboost_file
from wm.formats.bounded import read_bounded

_ARRAY = "interface"


class Interface(Document):
    """What a model takes and answers.

    Attributes
    ----------
    class_names
        Of the forest's classes, in their order.
    preparation
        Raw columns to model input.
    """

    format: Literal["treeproof-interface"] = "treeproof-interface"
    version: Literal[1] = 1
    class_names: Annotated[tuple[str, ...], Field(min_length=2)]
    preparation: Preparation

    def of_model_input(self) -> Interface:
        """Return the interface of the same model for rows that are prepared already."""
        return self.model_copy(update={"preparation": Preparation.of_numbers(self.preparation.feature_names)})


def claimed_interface(
    class_names: tuple[str, ...], feature_names: tuple[str, ...], preparation: MinMax | Preparation | None
) -> Interface:
    """Return the interface that a claim's header implies."""
    if not isinstance(preparation, Preparation):
        preparation = Preparation.of_numbers(feature_names, preparation)
    return Interface(class_names=class_names, preparation=preparation)


def model_bytes(forest: Forest, interface: Interface | None) -> bytes:
    """Return a model file: the forest, which `Forest.load` reads, with its interface.

    Raises
    ------
    ModelError
        An interface of another number of features or classes.
    """
    if interface is None:
        return forest.to_bytes()
    _check(interface, forest)
    text = np.frombuffer(interface.model_dump_json().encode(), dtype=np.uint8)
    return forest_file.pack(forest, **{_ARRAY: text})


def write_model(path: str | Path, forest: Forest, interface: Interface | None) -> None:
    """Write a model file, as `model_bytes`.

    Raises
    ------
    ModelError
        As in `model_bytes`, or the file cannot be written.
    """
    try:
        Path(path).write_bytes(model_bytes(forest, interface))
    except OSError as reason:
        raise ModelError(f"{path}: cannot be written ({reason.strerror})") from reason


def read_interface(path: str | Path, forest: Forest, classes: int | None = None) -> Interface | None:
    """Return the interface in the file of a model of these trees; None if it has none, or cannot have one.

    Parameters
    ----------
    classes
        Number of the model's classes; None: those that its trees vote for. Trees that add margins have signs.

    Raises
    ------
    ModelError
        A damaged interface, or one that does not fit the forest.
    """
    if Path(path).suffix not in (".npz", ".json"):
        return None
    data = read_bounded(path, error=ModelError, max_bytes=npz.MAX_BYTES, kind="a model file")
    if Path(path).suffix == ".json":
        text = xgboost_file.interface_text(data).encode()
    else:
        content = npz.unpack(data, error=ModelError, what=str(path), only=(_ARRAY,)).get(_ARRAY)
        if content is not None and content.dtype != np.uint8:
            raise ModelError(f"{path}: its interface is no text")
        text = b"" if content is None else content.tobytes()
    if not text:
        return None
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ModelError(f"{path}: its interface is too long")
    try:
        interface = Interface.model_validate_json(text)
    except ValidationError as reason:
        raise ModelError(f"{path}: its interface is not valid: {first_error(reason)}") from reason
    try:
        _check(interface, forest, classes)
    except ModelError as reason:
        raise ModelError(f"{path}: {reason}") from reason
    return interface


def _check(interface: Interface, forest: Forest, classes: int | None = None) -> None:
    found = len(interface.preparation.feature_names), len(interface.class_names)
    wanted = forest.n_features, len(forest.classes) if classes is None else classes
    if found != wanted:
        raise ModelError(
            f"its interface is of {found[0]} features and {found[1]} classes, its trees are of {wanted[0]} "
            f"and {wanted[1]}"
        )


class Owned:
    """What an owner gets for a claim; printed, it shows none of its secrets."""

    claim: Any

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.claim!r})"


class Released(Owned):
    """Part of what an owner gets: the forest to be released, and what it takes."""

    forest: Forest
    interface: Interface | None

    def save(self, path: str | Path) -> None:
        """Write what is to be released; errors as in `write_model`."""
        write_model(path, self.forest, self.interface)
