"""The audit of a model file of any format, and of a model in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wm.attacks.leakage.findings import Severity
from wm.attacks.leakage.holdings import holding_findings
from wm.attacks.leakage.inspection import LeakageReport, inspect
from wm.attacks.leakage.margins import inspect_model
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.export import load_object, present
from wm.formats.objects import last_step, model_of
from wm.formats.reading import OBJECT_ENDINGS, read_model
from wm.formats.sklearn_metadata import REQUIRED, from_model, read_arrays


def inspect_file(
    path: str | Path, *, prefix: str | None = None, trusted: Sequence[str] = (), trust_pickle: bool = False
) -> LeakageReport:
    """Audit a model file of any format that `wm.formats.reading.read_model` reads.

    Parameters
    ----------
    prefix
        Chooses a forest in an npz file with several, as in `wm.formats.sklearn_metadata.read_arrays`.
    trusted, trust_pickle
        As in `read_model`.

    Raises
    ------
    ModelError
        As in `read_model` and `read_arrays`, or a prefix for another format.
    """
    file = Path(path)
    if file.suffix == ".npz":
        arrays = read_arrays(present(file), prefix=prefix)
        try:
            return inspect(**arrays.arguments())
        except ModelError as reason:
            raise ModelError(f"{file}: {reason}") from reason
    if prefix is not None:
        raise ModelError(f"{file}: holds one model: a prefix chooses a forest in a .npz file")
    if file.suffix in OBJECT_ENDINGS:
        return load_object(file, inspect_object, trusted=trusted, trust_pickle=trust_pickle)
    return inspect_model(read_model(file))


def inspect_object(model: Any) -> LeakageReport:
    """Audit a model in memory, with the secrets that its attributes hold.

    Raises
    ------
    ModelError
        A model that `wm.formats.objects.model_of` refuses.
    """
    report = _inspect_trees(model)
    held = tuple(holding_findings(model))
    rank = list(Severity)
    found = sorted((*held, *report.findings), key=lambda finding: rank.index(finding.severity))
    return replace(report, findings=tuple(found))


def _inspect_trees(model: Any) -> LeakageReport:
    if isinstance(own := getattr(model, "forest_", None), Forest):
        return inspect(**{name: getattr(own, name) for name in REQUIRED})
    found = model_of(model)
    if found.margins is not None or found.framework != "scikit-learn":
        return inspect_model(found)
    return inspect(**from_model(last_step(model)).arguments())
