"""A picture of one forged instance next to the row that it was forged from."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report.charts import COLOURS, FAINT, WIDTH, Chart, telling
from orchestrator.report.sections.images import image_side, images_chart
from orchestrator.results.forged_sets import Forgery
from wm.datasets import Split

MAX_FEATURES = 30
"""Features in a picture: those that changed most."""


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
    long["said"] = [f"{one.feature}: {one.row} {one.value:.4g}" for one in long.itertuples()]
    fills: dict[str, Any] = {"domain": ["original", "forged"], "range": [FAINT, COLOURS[0]]}
    points = telling(
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
