"""Pictures of forged instances and their originals: as images where rows are images, else by feature."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from orchestrator.errors import NotFoundError
from orchestrator.report.charts import COLOURS, FAINT, WIDTH, Chart, Figure, figure, with_tooltips
from orchestrator.report.data import Findings
from orchestrator.report.wording import counted
from orchestrator.results.forged_sets import Forgery, largest_attempt
from orchestrator.results.stored_models import StoredModels
from wm.datasets import Split

MAX_SHOWN = 9
"""Instances in a figure."""

MAX_FEATURES = 30
"""Features in the picture of one instance: those that changed most."""

_PER_ROW = 3
_PIXELS = 66
"""Width of a picture on the page."""


def image_side(feature_names: Sequence[str]) -> int | None:
    """Return the width of the square image that the features are, None if they are no such image.

    Pixels are known by their names, as MNIST's and scikit-learn's digits have them ("pixel...").
    """
    side = math.isqrt(len(feature_names))
    is_image = side**2 == len(feature_names) and all(name.startswith("pixel") for name in feature_names)
    return side if is_image and side > 1 else None


def spread_out(forgeries: Sequence[Forgery], count: int = MAX_SHOWN) -> list[Forgery]:
    """Return up to `count` forgeries from the nearest to the farthest, evenly over their ranks."""
    ordered = sorted(forgeries, key=lambda one: (one.distance, one.row))
    if len(ordered) <= count:
        return ordered
    return [ordered[int(place)] for place in np.linspace(0, len(ordered) - 1, count).round()]


def figures(findings: Findings) -> Iterator[Figure]:
    """Yield what the signature that forges most has forged at the smallest distances, if rows are images."""
    split = findings.split
    if split is None or math.isqrt(split.features) ** 2 != split.features:
        return  # without a look at the rows themselves, which may be large
    models = StoredModels(findings.store, findings.record.id)
    try:
        if image_side(models.split.feature_names) is None:
            return
        attempt = largest_attempt(findings.store, findings.record.id, models)
    except NotFoundError:  # the campaign has not come that far
        return
    if attempt is None:
        return
    shown, place = spread_out(attempt.forgeries), attempt.place
    distances = ", ".join(f"{one.distance:.3f}" for one in shown)
    yield figure(
        "forged-images",
        "",
        partial(images_chart, shown, models.split),
        findings.origin(pd.DataFrame({"repeat": [place.repeat]})),
        distances=distances,
        shown=counted(len(shown), "instance"),
        forged=len(attempt.forgeries),
        number=attempt.number,
        tried=attempt.instances,
        place=place,
    )


def images_chart(forgeries: Sequence[Forgery], split: Split) -> Chart:
    """Draw forged images: original, forged instance, and the change.

    Ink goes from 0 (white) to 1 (black); the change from -1 (white) by 0 (grey) to +1 (black), so that it is
    read without colour.

    Raises
    ------
    ValueError
        The rows are no images.
    """
    side = image_side(split.feature_names)
    if side is None:
        raise ValueError(f"{len(split.feature_names)} features are no square image")
    return alt.concat(*[_panel(one, split, side) for one in forgeries], columns=_PER_ROW)


def _panel(one: Forgery, split: Split, side: int) -> Chart:
    kinds: dict[str, NDArray[Any]] = {
        "original": one.original,
        "forged": one.forged,
        "change": (1 + one.forged.astype(np.float64) - one.original) / 2,
    }
    data = pd.DataFrame(
        {"kind": name, "url": picture(ink.reshape(side, side))} for name, ink in kinds.items()
    )
    x = alt.X("kind:N", sort=None, title=None, axis=alt.Axis(labelAngle=0, ticks=False, domain=False))
    return (
        alt.Chart(data)
        .mark_image(width=_PIXELS, height=_PIXELS)
        .encode(x=x, url="url:N")
        .properties(
            width=3 * (_PIXELS + 4),
            height=_PIXELS,
            title=f"row {one.row} ({split.class_names[one.label]}), {one.distance:.3f}",
        )
    )


def picture(ink: NDArray[np.floating]) -> str:
    """Return an image (h, w) of ink from 0 (white) to 1 (black), clipped, as the address of a PNG."""
    grey = (255 * (1 - np.clip(ink, 0, 1))).round().astype(np.uint8)
    # Each pixel large, so that no viewer smooths it away.
    large = np.kron(grey, np.ones((max(1, 224 // len(grey)),) * 2, dtype=np.uint8))
    height, width = large.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    png = b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in large), 9)),
            chunk(b"IEND", b""),
        )
    )
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def witness_chart(found: Forgery, split: Split) -> Chart:
    """Draw a forged instance: as an image where rows are images, else feature by feature."""
    if image_side(split.feature_names) is not None:
        return images_chart([found], split)
    frame = changes(found, split)
    shown = frame[frame["changed"] != 0][:MAX_FEATURES]
    shown = frame[:1] if shown.empty else shown
    names = list(shown["feature"])
    y = alt.Y("feature:N", sort=names, title=None)
    base = alt.Chart(shown).encode(y=y)
    long = shown.melt("feature", ["original", "forged"], "row", "value")
    long["tooltip"] = [f"{one.feature}: {one.row} {one.value:.4g}" for one in long.itertuples()]
    fills: dict[str, Any] = {"domain": ["original", "forged"], "range": [FAINT, COLOURS[0]]}
    points = with_tooltips(
        alt.Chart(long)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q", title="Value of the feature"),
            color=alt.Color("row:N", title=None, scale=alt.Scale(**fills)),
            shape=alt.Shape(
                "row:N", title=None, scale=alt.Scale(domain=fills["domain"], range=["circle", "diamond"])
            ),
        )
    )
    lines = base.mark_rule(color=FAINT).encode(x=alt.X("original:Q"), x2="forged:Q")
    return alt.layer(lines, points).properties(width=WIDTH * 0.7, height=18 * len(names))


def changes(found: Forgery, split: Split) -> pd.DataFrame:
    """Return `feature`, `original`, `forged` and `changed` of each feature, the largest change first."""
    original, forged = (row.astype(np.float64) for row in (found.original, found.forged))
    frame = pd.DataFrame(
        {
            "feature": [str(name) for name in split.feature_names],
            "original": original,
            "forged": forged,
            "changed": forged - original,
        }
    )
    return frame.sort_values("changed", key=np.abs, ascending=False, kind="stable", ignore_index=True)
