"""Released forests as models of other libraries, scrubbed, with the same vote of each tree.

`pipeline`: scikit-learn, with the preparation of raw rows (skops); `onnx_model`: an ONNX tree ensemble;
`xgboost_model`: XGBoost's json. Thresholds are exact for every float32 number in each of them. May import
`forest`, `formats`, `interface` and `datasets`; libraries are imported only inside functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wm.exporting import onnx_model, pipeline, xgboost_model
from wm.forest import Forest
from wm.formats.export import refuse_unusual
from wm.formats.scrubbing import scrubbed
from wm.interface import Interface

Write = Callable[[Forest, Interface | None], bytes]


@dataclass(frozen=True)
class Target:
    """A library that models are exported to.

    Attributes
    ----------
    ending
        Of its files.
    takes_raw
        Whether the exported model takes raw rows, or model input only.
    write
        Returns a file's content; raises `ModelError` for a forest that has no exact form there.
    """

    ending: str
    takes_raw: bool
    write: Write


TARGETS = {
    "sklearn": Target(".skops", True, pipeline.write),
    "onnx": Target(".onnx", False, onnx_model.write),
    "xgboost-json": Target(".json", False, xgboost_model.write),
}
"""By the name of the option ``--to``."""


def exported(forest: Forest, interface: Interface | None, target: str) -> bytes:
    """Return the content of a file of another library; the forest is scrubbed before.

    Raises
    ------
    ModelError
        The library is not installed, or as in `Target`.
    """
    refuse_unusual(forest)
    return TARGETS[target].write(scrubbed(forest), interface)
