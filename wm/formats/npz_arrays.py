"""Reader of tree arrays in npz files: scikit-learn's arrays under a common prefix, as published forests."""

from __future__ import annotations

from pathlib import Path

from wm.errors import ModelError
from wm.formats import npz
from wm.formats.bounded import read_bounded
from wm.formats.sklearn_metadata import REQUIRED, TreeMetadata


def read_arrays(path: str | Path, *, prefix: str | None = None) -> TreeMetadata:
    """Read one forest's arrays; nothing in the file is ever unpickled.

    Parameters
    ----------
    path
        An npz file with arrays ``<prefix>offset``, ``<prefix>left``, ... (see `TreeMetadata`); a forest
        saved by `Forest.save` is such a file, with an empty prefix and no counts.
    prefix
        Chooses a forest if the file holds several.

    Raises
    ------
    ModelError
        No such file, damaged or hostile bytes, no forest of that prefix, or several and none chosen.
    """
    data = read_bounded(path, error=ModelError, max_bytes=npz.MAX_BYTES, kind="a model file")
    return parse_arrays(data, what=str(path), prefix=prefix)


def parse_arrays(data: bytes, *, what: str, prefix: str | None = None) -> TreeMetadata:
    """Read one forest's arrays from the bytes of an npz file named `what`; errors as in `read_arrays`."""
    arrays = npz.unpack(data, error=ModelError, what=what)
    starts = {name.removesuffix("offset") for name in arrays if name.endswith("offset")}
    found = sorted(start for start in starts if all(start + name in arrays for name in REQUIRED))
    known = ", ".join(map(repr, found))
    if not found:
        raise ModelError(f"{what}: holds no forest: the arrays {', '.join(REQUIRED)} are needed")
    if prefix is None and len(found) > 1:
        raise ModelError(f"{what}: holds several forests: choose a prefix among {known}")
    chosen = found[0] if prefix is None else prefix
    if chosen not in found:
        raise ModelError(f"{what}: holds no forest with prefix {chosen!r}, only {known}")
    names = TreeMetadata.__dataclass_fields__
    return TreeMetadata(**{name: arrays[chosen + name] for name in names if chosen + name in arrays})
