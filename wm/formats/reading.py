"""Model files of all formats, read without the libraries that wrote them.

A format is one module with a function ``read(data: bytes) -> TreeModel``, and one line in `_FORMATS`. Files
of Python objects (.skops, .joblib, .pkl) hold models of these libraries themselves, which `objects` reads. A
.skops file restores types that its reader trusts by name; the others run whatever code they hold.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.assembling import MAX_BYTES
from wm.formats.bounded import read_bounded
from wm.formats.fields import shown
from wm.models import TreeModel


@dataclass(frozen=True)
class _Format:
    """A format of model files."""

    name: str
    endings: tuple[str, ...]
    mark: bytes
    """Bytes that every file of the format holds."""
    module: str


_FORMATS = (
    _Format("XGBoost (json, ubj)", (".json", ".ubj"), b"gradient_booster", "wm.formats.xgboost_file"),
    _Format("CatBoost (json)", (".json",), b"features_info", "wm.formats.catboost_json"),
    _Format("LightGBM (text)", (".txt", ".lgb"), b"num_tree_per_iteration", "wm.formats.lightgbm_text"),
    _Format("ONNX", (".onnx",), b"", "wm.formats.onnx_file"),
)

ENDINGS = tuple(dict.fromkeys(ending for each in _FORMATS for ending in each.endings))
"""Endings of the files of other libraries."""

OBJECT_ENDINGS = (".skops", ".joblib", ".pkl")
"""Endings of files of Python objects; all but the first run code when they are loaded."""


def read_model(path: str | Path, *, trusted: Sequence[str] = (), trust_pickle: bool = False) -> TreeModel:
    """Read a model; its file's ending decides the format.

    Parameters
    ----------
    trusted
        Full names of types that a .skops file may restore.
    trust_pickle
        Whether a .joblib or .pkl file may run whatever code it holds.

    Raises
    ------
    ModelError
        No such file, another ending, a file that is damaged or not trusted, or a model without an exact form
        here, each in one line that names the file.
    """
    file = Path(path)
    if file.suffix == ".npz":
        return TreeModel("treeproof", forest := Forest.load(file), classes=forest.classes)
    if file.suffix in OBJECT_ENDINGS:
        from wm.formats.export import load_object
        from wm.formats.objects import model_of

        return load_object(file, model_of, trusted=trusted, trust_pickle=trust_pickle)
    if file.suffix not in ENDINGS:
        known = ", ".join([".npz", *ENDINGS, *OBJECT_ENDINGS])
        raise ModelError(f"{file}: a model file ends in one of {known}")
    return parse_model(read_file(file), file.suffix, what=str(file))


def read_file(file: Path) -> bytes:
    """Return the content of a file of another library; raise `ModelError` if it is too large or not there."""
    return read_bounded(file, error=ModelError, max_bytes=MAX_BYTES, kind="a model file")


def parse_model(data: bytes, ending: str, *, what: str) -> TreeModel:
    """Return the model in the content of a file with one of `ENDINGS`; errors name it `what`.

    Raises
    ------
    ModelError
        As in `read_model`.
    """
    chosen = [each for each in _FORMATS if ending in each.endings]
    for each in chosen:
        if each.mark in data:
            try:
                model: TreeModel = importlib.import_module(each.module).read(data)
            except ModelError as reason:
                raise ModelError(f"{what}: {reason}") from reason
            except Exception as reason:  # hostile content may raise anything
                text = shown(f"{type(reason).__name__}: {reason}")
                raise ModelError(f"{what}: not a readable {each.name} file ({text})") from reason
            return model
    names = " or ".join(each.name for each in chosen)
    raise ModelError(f"{what}: is not a model of {names}: it lacks {shown(chosen[0].mark.decode())}")
