"""Files of forged rows: arrays for a model's own input, a table of raw rows for a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.files import writing
from wm.formats import npz
from wm.signature import Signature

if TYPE_CHECKING:
    from orchestrator.cli.attacker_data import Start
    from orchestrator.cli.forged_rows import Answer


def write_forged(
    output: Path, start: Start, answers: Sequence[Answer], signatures: Sequence[Signature]
) -> None:
    """Write the forged rows with labels, distances and signatures; raw rows to csv, others to npz."""
    found = [answer for answer in answers if answer.row is not None]
    data = _table(start, found, signatures) if start.frame is not None else _arrays(start, found, signatures)
    with writing(output):
        output.write_bytes(data)


def _arrays(start: Start, found: Sequence[Answer], signatures: Sequence[Signature]) -> bytes:
    import numpy as np

    instances = [answer.instance for answer in found]
    rows = [answer.row for answer in found if answer.row is not None]
    dtype = rows[0].dtype if rows else np.dtype(np.float32)
    return npz.pack(
        {
            "X": np.array(rows, dtype=dtype).reshape(len(rows), start.X.shape[1]),
            "y": start.labels[instances],
            "centre": start.X[instances].astype(np.float64),
            "distance": np.array([answer.outcome.distance for answer in found], dtype=np.float64),
            "signature": np.array([answer.signature for answer in found], dtype=np.int64),
            "signatures": np.array([signature.array for signature in signatures], dtype=np.int8),
        }
    )


def _table(start: Start, found: Sequence[Answer], signatures: Sequence[Signature]) -> bytes:
    """Return a csv of raw rows by column, followed by what was forged; numbers give their float64 back."""
    import pandas as pd

    raw = pd.DataFrame([plain_cells(answer.raw) for answer in found if answer.raw is not None])
    told = pd.DataFrame(
        {
            "forged label": start.labels[[answer.instance for answer in found]],
            "instance": [answer.instance for answer in found],
            "distance": [answer.outcome.distance for answer in found],
            "signature": [str(signatures[answer.signature]) for answer in found],
        }
    )
    return pd.concat([raw, told], axis=1).to_csv(index=False).encode()


def plain_cells(raw: dict[str, Any]) -> dict[str, Any]:
    """Return raw cells as JSON has them; None where a value is missing."""
    import numpy as np

    plain = {name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in raw.items()}
    return {name: None if cell != cell else cell for name, cell in plain.items()}
