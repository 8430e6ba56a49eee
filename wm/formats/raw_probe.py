"""What a pipeline makes of rows in which some columns have chosen cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.pipelines import prepared
from wm.formats.raw_columns import Origin
from wm.models import TreeModel

if TYPE_CHECKING:
    from wm.formats.raw_form import RawColumn


@dataclass(frozen=True, eq=False)
class Probe:
    """Asks a pipeline what rows become in which all columns but some have a value that it knows."""

    model: TreeModel
    names: list[str]
    categories: dict[int, tuple[Any, ...]]

    def ask(self, cells: dict[int, list[Any]]) -> NDArray[np.float64]:
        """Return the prepared rows of some columns' cells, lists of one length."""
        import pandas as pd

        rows = max(map(len, cells.values()))
        usual = {place: values[0] for place, values in self.categories.items()}
        frame = {
            name: typed(cells.get(place, [usual.get(place, 0.0)] * rows), self.categories.get(place, ()))
            for place, name in enumerate(self.names)
        }
        return prepared(self.model.preparation, pd.DataFrame(frame))

    def takes_missing(self, place: int, features: NDArray[np.int64]) -> bool:
        """Return whether the pipeline takes a row without the value of a column."""
        try:
            became = self.ask({place: [np.nan]})[0, features]
        except ModelError:  # a step takes no missing values
            return False
        return self.model.forest.missing_left is not None or not np.isnan(became).any()

    def missing_left(self, columns: list[RawColumn]) -> NDArray[np.bool_]:
        """Return where each node sends a row without the value of its column: (nodes,); False at leaves."""
        forest = self.model.forest
        became = np.zeros(forest.n_features)
        for column in columns:
            if column.takes_missing:
                place = self.names.index(column.name)
                became[column.features] = self.ask({place: [np.nan]})[0, column.features]
        value = became.astype(forest.input_dtype)[np.maximum(forest.feature, 0)]
        left: NDArray[np.bool_] = np.asarray(value <= forest.threshold)
        if forest.missing_left is not None:
            left = np.where(np.isnan(value), forest.missing_left, left)
        return np.asarray(left & ~forest.is_leaf)


def typed(cells: list[Any], known: tuple[Any, ...]) -> NDArray[Any]:
    """Return a column's cells as a frame has them: objects if it is known to hold text, else numbers."""
    if any(isinstance(value, str) for value in known):
        return np.array(cells, dtype=object)
    return np.array(cells)


@dataclass(frozen=True, eq=False)
class Convert:
    """Numbers of choices to numbers of prepared features, a `wm.formats.units.Convert`."""

    probe: Probe
    columns: list[RawColumn]
    found: list[Origin]

    def __call__(
        self, feature: NDArray[np.int32], value: NDArray[np.floating[Any]]
    ) -> NDArray[np.floating[Any]]:
        """Return the prepared numbers, (n,)."""
        became = np.zeros(len(feature))
        of = np.array([origin.column for origin in self.found])[feature]
        cells: dict[int, list[Any]] = {}
        row = np.zeros(len(feature), dtype=np.int64)
        numbers = np.zeros(len(feature), dtype=bool)
        for column in self.columns:
            place = self.probe.names.index(column.name)
            mine = np.flatnonzero(of == place)
            if not len(mine):
                continue
            if column.kind == "number":
                row[mine], numbers[mine] = np.arange(len(mine)), True
                cells[place] = value[mine].tolist()
                continue
            within = np.searchsorted(column.features, feature[mine])
            last = len(column.values) - 1
            if column.kind == "ordinal":
                chosen = np.clip(np.rint(value[mine]), 0, last).astype(np.int64)
            else:
                member = np.array([self.found[each].member for each in feature[mine].tolist()])
                other = np.where(member == 0, min(1, last), 0)
                chosen = np.where(value[mine] > 0.5, member, other)
            became[mine] = column.prepared[chosen, within]
        if cells:
            longest = max(map(len, cells.values()))
            asked = self.probe.ask(
                {place: each + each[-1:] * (longest - len(each)) for place, each in cells.items()}
            )
            became[numbers] = asked[row[numbers], feature[numbers]]
        return became
