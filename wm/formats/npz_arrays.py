"""Tree arrays from an npz file, as published forests come: scikit-learn's arrays under a common prefix."""

from __future__ import annotations

from pathlib import Path

from wm.errors import ModelError
from wm.formats import npz
from wm.formats.sklearn_metadata import TreeMetadata

_NEEDED = ("offset", "left", "right", "feature", "threshold", "value")
_OPTIONAL = ("impurity", "n_node_samples", "weighted_n_node_samples", "random_state")


def prefixes(names: list[str]) -> list[str]:
    """Return the prefixes under which a file holds a whole forest; "" where it has none."""
    starts = {name.removesuffix("offset") for name in names if name.endswith("offset")}
    return sorted(start for start in starts if all(start + need in names for need in _NEEDED))


def read_arrays(
    path: str | Path, *, prefix: str | None = None, max_bytes: int = npz.MAX_BYTES
) -> TreeMetadata:
    """Read one forest's arrays; nothing in the file is ever unpickled.

    Parameters
    ----------
    path
        An npz file with arrays ``<prefix>offset``, ``<prefix>left``, ... (see `TreeMetadata`); a forest
        saved by `Forest.save` is such a file, with an empty prefix and no counts.
    prefix
        Which forest, where the file holds several.
    max_bytes
        Most that the file may unpack to.

    Raises
    ------
    ModelError
        No such file, damaged or hostile bytes, no forest of that prefix, or several and none chosen.
    """
    try:
        if Path(path).stat().st_size > max_bytes:
            raise ModelError(f"{path}: larger than the {max_bytes} bytes allowed")
        data = Path(path).read_bytes()
    except OSError as reason:
        raise ModelError(f"{path}: cannot be read ({reason.strerror})") from reason
    return parse_arrays(data, what=str(path), prefix=prefix, max_bytes=max_bytes)


def parse_arrays(
    data: bytes, *, what: str, prefix: str | None = None, max_bytes: int = npz.MAX_BYTES
) -> TreeMetadata:
    """Read one forest's arrays from the bytes of an npz file; `what` names it in errors, see `read_arrays`.

    Raises
    ------
    ModelError
        As in `read_arrays`.
    """
    arrays = npz.unpack(data, error=ModelError, what=what, max_bytes=max_bytes)
    found = prefixes(list(arrays))
    if not found:
        raise ModelError(f"{what}: holds no forest: the arrays {', '.join(_NEEDED)} are needed")
    if prefix is None and len(found) > 1:
        raise ModelError(
            f"{what}: holds several forests: choose a prefix among {', '.join(map(repr, found))}"
        )
    chosen = found[0] if prefix is None else prefix
    if chosen not in found:
        raise ModelError(
            f"{what}: holds no forest with prefix {chosen!r}, only {', '.join(map(repr, found))}"
        )
    return TreeMetadata(
        **{name: arrays[chosen + name] for name in _NEEDED},
        **{name: arrays[chosen + name] for name in _OPTIONAL if chosen + name in arrays},
    )
