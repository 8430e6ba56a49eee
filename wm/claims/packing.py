"""Rows and labels as text: base64 of little-endian float32, and of a byte for each label."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray

from wm.errors import ClaimError


def packed_rows(X: NDArray[np.float32]) -> str:
    """Return rows as base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(X, dtype="<f4").tobytes()).decode()


def packed_labels(y: NDArray[np.int64]) -> str:
    """Return labels, (n,), as base64 of a byte each."""
    return base64.b64encode(y.astype(np.uint8).tobytes()).decode()


def unpacked_rows(text: str, count: int, features: int) -> NDArray[np.float32]:
    """Return the rows that `packed_rows` wrote, (count, features); raise `ClaimError` for other text."""
    content = _decoded(text, 4 * count * features, f"rows of {features} float32 numbers", count)
    return np.frombuffer(content, dtype="<f4").astype(np.float32, copy=False).reshape(count, features)


def unpacked_labels(text: str, count: int) -> NDArray[np.int64]:
    """Return labels, (count,), of base64 text with a byte for each; raise `ClaimError` for other text."""
    return np.frombuffer(_decoded(text, count, "labels", count), dtype=np.uint8).astype(np.int64)


def _decoded(text: str, size: int, what: str, count: int) -> bytes:
    """Return the bytes of base64 text, before which their number is checked: the text may be long."""
    if len(text) != 4 * ((size + 2) // 3):
        raise ClaimError(f"the file does not hold {count} {what}")
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as reason:
        raise ClaimError("rows or labels are not base64") from reason
    # Bits beside the last byte stand for nothing: text with others would be a second text of one claim.
    if len(content) != size or base64.b64encode(content[size - (size % 3 or 3) :]).decode() != text[-4:]:
        raise ClaimError("rows or labels are not base64 as this program writes it")
    return content
