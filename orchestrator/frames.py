"""Convert data frames to plain values and to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import OutputError

if TYPE_CHECKING:
    import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows with plain Python values; None for missing ones."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as csv, json or parquet, by the file's ending.

    Raises
    ------
    OutputError
        Another ending, or parquet without pyarrow.
    """
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".json":
            path.write_text(json.dumps(records(frame), indent=2, allow_nan=False) + "\n")
        case ".parquet":
            try:
                frame.to_parquet(path, index=False)
            except ImportError as reason:
                raise OutputError(
                    f"{path}: parquet needs pyarrow: pip install 'treeproof[parquet]'"
                ) from reason
        case _:
            raise OutputError(f"{path}: the ending must be .csv, .json or .parquet")
