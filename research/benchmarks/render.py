"""Figures to bytes, the same bytes for the same figure: no dates, no random ids."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_DPI = 200


def render(figure: Figure, file_format: str, *, title: str = "", caption: str = "") -> bytes:
    """Return a figure as a file's content.

    Parameters
    ----------
    figure
        Any figure.
    file_format
        One of `FORMATS`.
    title, caption
        Go into the file's own metadata, so that a picture keeps them when it travels.
    """
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Title": title, "Description": caption, "Software": None},
        "svg": {"Title": title, "Description": caption, "Date": None},
        "pdf": {"Title": title, "Subject": caption, "CreationDate": None},
    }
    if file_format not in metadata:
        raise ValueError(f"unknown picture format {file_format!r}; known are: {', '.join(FORMATS)}")
    buffer = io.BytesIO()
    # Without a fixed salt, element ids in SVG would differ from run to run.
    with mpl.rc_context({"svg.hashsalt": "treeproof", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(buffer, format=file_format, dpi=_DPI, metadata=metadata[file_format])
    return buffer.getvalue()
