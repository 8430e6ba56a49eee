"""Export of forests to files and to scikit-learn's models, without traces of a watermark.

`to_sklearn` makes a working `RandomForestClassifier`. Every attribute of its trees is computed from the
forest's structure, thresholds and votes (`wm.formats.scrubbing`): numbers of leaves and the impurity of their
votes replace the sample counts, weighted counts and impurities of training; there are no seeds. So `predict`
is the majority of votes and `predict_proba` their share.

The file's ending decides the format: ``.npz`` is safe, it is never unpickled; ``.skops`` holds
scikit-learn's model, whose types the reader must trust by name (skops checks types, but does not stop files
made to exhaust memory); ``.joblib`` and ``.pkl`` are pickles, which run whatever code they hold, and so need
`trust_pickle`.
"""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.scrubbing import leaves_below, scrubbed

_LEAF = -2
"""scikit-learn's value for a leaf's feature and threshold."""

_LONGEST_LIST = 400
"""Characters of a list of types that an error shows: a hostile file may choose their names."""

_Read = TypeVar("_Read")

_PICKLES = (".joblib", ".pkl")
_ENDINGS = (".npz", ".skops", *_PICKLES)


def to_sklearn(forest: Forest, *, scrub: bool = True, classes: ArrayLike | None = None) -> Any:
    """Return a fitted `RandomForestClassifier` with the forest's trees in their order.

    Parameters
    ----------
    forest
        Any forest.
    scrub
        Whether only the votes are kept. False keeps the class shares at the nodes, and so scikit-learn's
        `predict_proba` and `predict`; in a watermarked forest as trained these reveal the signature.
    classes : (c,) or None
        Ascending labels that replace the forest's own.

    Raises
    ------
    ModelError
        As many classes as the forest has are needed, and ascending ones.
    """
    from sklearn.ensemble import RandomForestClassifier

    refuse_unusual(forest)
    source = scrubbed(forest) if scrub else forest
    labels = source.classes if classes is None else np.asarray(classes)
    if labels.shape != source.classes.shape:
        raise ModelError(f"{labels.size} classes are given for a forest of {len(source.classes)}")
    if not (labels[:-1] < labels[1:]).all():
        raise ModelError("classes must be distinct and ascending")
    model = RandomForestClassifier(n_estimators=source.n_trees, bootstrap=False)
    model.estimators_ = _trees(source)
    model.estimator_ = model.estimator
    model.classes_ = labels
    model.n_classes_ = len(labels)
    model.n_outputs_ = 1
    model.n_features_in_ = source.n_features
    return model


def refuse_unusual(forest: Forest) -> None:
    """Raise `ModelError` for a forest that answers otherwise in another library's form."""
    if forest.missing_left is not None or forest.input_dtype != "float32":
        what = (
            "says where missing values go" if forest.missing_left is not None else "compares float64 numbers"
        )
        raise ModelError(f"the forest {what}, which other forms would lose: keep it as .npz")


def _trees(forest: Forest) -> list[Any]:
    """Return the trees as scikit-learn's decision trees."""
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    n_classes = len(forest.classes)
    trees = []
    for state in _states(forest):
        tree = DecisionTreeClassifier(max_features="sqrt")
        tree.n_features_in_ = forest.n_features
        tree.n_outputs_ = 1
        tree.n_classes_ = n_classes
        tree.classes_ = np.arange(n_classes, dtype=np.float64)  # encoded, as in a forest that was trained
        tree.max_features_ = max(1, int(np.sqrt(forest.n_features)))
        tree.tree_ = Tree(forest.n_features, np.array([n_classes], dtype=np.intp), 1)
        tree.tree_.__setstate__(state)
        trees.append(tree)
    return trees


def _states(forest: Forest) -> list[dict[str, Any]]:
    """Return the pickle state of each of scikit-learn's `Tree` objects."""
    from sklearn.tree._tree import NODE_DTYPE

    leaf = forest.is_leaf
    share = forest.value / forest.value.sum(axis=1, keepdims=True)
    leaves = leaves_below(forest).sum(axis=1)
    nodes = np.zeros(len(leaf), dtype=NODE_DTYPE)
    nodes["left_child"] = forest.left
    nodes["right_child"] = forest.right
    nodes["feature"] = np.where(leaf, _LEAF, forest.feature)
    nodes["threshold"] = np.where(leaf, _LEAF, forest.threshold)
    nodes["impurity"] = 1.0 - (share**2).sum(axis=1)
    nodes["n_node_samples"] = leaves
    nodes["weighted_n_node_samples"] = leaves
    return [
        {
            "max_depth": int(forest.tree_depths[tree]),
            "node_count": int(end - start),
            "nodes": nodes[start:end],
            "values": np.ascontiguousarray(share[start:end, np.newaxis, :]),
        }
        for tree, (start, end) in enumerate(zip(forest.offset[:-1], forest.offset[1:], strict=True))
    ]


def save_model(forest: Forest, path: str | Path, *, scrub: bool = True, trust_pickle: bool = False) -> None:
    """Write a forest to a .npz, .skops or .joblib file.

    Parameters
    ----------
    scrub
        As in `to_sklearn`, for every format.
    trust_pickle
        Needed for .joblib and .pkl: readers of a pickle must trust its author with their machine.

    Raises
    ------
    ModelError
        Another ending, a pickle without `trust_pickle`, skops not installed, or a path that cannot be
        written.
    """
    file = Path(path)
    source = scrubbed(forest) if scrub else forest
    try:
        if _ending(file, trust_pickle) == ".npz":
            source.save(file)
        else:
            library = skops_io(f"{file}: ") if file.suffix == ".skops" else importlib.import_module("joblib")
            library.dump(to_sklearn(source, scrub=False), file)
    except OSError as reason:
        raise ModelError(f"{path}: cannot be written ({reason.strerror})") from reason


def load_model(path: str | Path, *, trusted: Sequence[str] = (), trust_pickle: bool = False) -> Forest:
    """Read a forest from a .npz, .skops, .joblib or .pkl file.

    Parameters
    ----------
    trusted
        Full names of the types in a .skops file that may be restored, in addition to those that skops trusts.
    trust_pickle
        Whether a .joblib or .pkl file may run whatever code it holds.

    Raises
    ------
    ModelError
        No such file, another ending, a file that is damaged or not trusted (the text names the types), or a
        model that is not a forest.
    """
    file = Path(path)
    if file.suffix == ".npz":
        return Forest.load(present(file))
    return load_object(file, _forest_of, trusted=trusted, trust_pickle=trust_pickle)


def _forest_of(model: Any) -> Forest:
    """Return the forest of an estimator, or at the end of a pipeline or search that does not prepare rows."""
    from wm.formats.objects import last_step, model_of

    last = last_step(model)
    if last is not model:
        model_of(model).voting_forest("it", "a model of votes on its own input is needed")
    return Forest.from_sklearn(last)


def _ending(file: Path, trust_pickle: bool) -> str:
    """Return a file's ending if its format is known and trusted."""
    if file.suffix not in _ENDINGS:
        raise ModelError(f"{file}: a model file ends in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}")
    if file.suffix in _PICKLES and not trust_pickle:
        raise ModelError(
            f"{file}: a {file.suffix[1:]} file runs whatever code it holds: use .npz, or say that you trust "
            "pickles (--trust-pickle)"
        )
    return file.suffix


def present(file: Path) -> Path:
    """Return the path of a file; raise `ModelError` if there is none."""
    if not file.is_file():
        raise ModelError(f"{file}: there is no such file")
    return file


def load_object(
    file: Path, convert: Callable[[Any], _Read], *, trusted: Sequence[str] = (), trust_pickle: bool = False
) -> _Read:
    """Return what `convert` makes of the object in a .skops, .joblib or .pkl file.

    Raises
    ------
    ModelError
        No such file, a file that is damaged or not trusted, or anything that `convert` raises.
    """
    _ending(file, trust_pickle)
    if present(file).suffix == ".skops":
        model = _read_skops(file, trusted)
    else:
        with _named_errors(file, "not a readable joblib file"):
            model = importlib.import_module("joblib").load(file)
    with _named_errors(file, "holds no usable model"):
        return convert(model)


def _read_skops(file: Path, trusted: Sequence[str]) -> Any:
    needed = types_to_trust(file)
    with _named_errors(file, "not a readable skops file"):
        if unknown := [name for name in needed if name not in trusted]:
            names = ", ".join(name if name.isprintable() else repr(name) for name in unknown)
            options = as_trust_options(needed)
            options = options if len(options) <= _LONGEST_LIST else "--trust-type NAME for each of them"
            raise ModelError(
                f"holds types that are not trusted: {names[:_LONGEST_LIST]}: if you trust them, give "
                f"{options} (in Python: trusted)"
            )
        return skops_io(f"{file}: ").load(file, trusted=list(trusted))


def types_to_trust(file: str | Path) -> list[str]:
    """Return the full names of the types that the reader of a .skops file must trust, sorted.

    Raises
    ------
    ModelError
        A damaged file, or skops is not installed.
    """
    path = Path(file)
    skops = skops_io(f"{path}: ")
    with _named_errors(path, "not a readable skops file"):
        return sorted(skops.get_untrusted_types(file=path))


def as_trust_options(types: Sequence[str]) -> str:
    """Return the options of a command that trust some types.

    >>> as_trust_options(["numpy.dtype", "sklearn.tree._tree.Tree"])
    '--trust-type numpy.dtype --trust-type sklearn.tree._tree.Tree'
    """
    quoted = (shlex.quote(name) if name.isprintable() else repr(name) for name in types)
    return " ".join(f"--trust-type {name}" for name in quoted)


@contextmanager
def _named_errors(file: Path, fault: str) -> Iterator[None]:
    """Raise any error again as a `ModelError` that names the file: hostile content may raise anything."""
    try:
        yield
    except ModelError as reason:
        raise ModelError(f"{file}: {reason}") from reason
    except Exception as reason:
        text = f"{type(reason).__name__}: {reason}".splitlines()[0][:120]
        text = text if text.isprintable() else repr(text)
        raise ModelError(f"{file}: {fault} ({text})") from reason


def skops_io(where: str = "") -> ModuleType:
    """Return skops' module of files; raise `ModelError`, whose text begins with `where`, without skops."""
    try:
        return importlib.import_module("skops.io")
    except ImportError as reason:
        raise ModelError(f"{where}skops is not installed: pip install 'treeproof[skops]'") from reason
