"""What was embedded, what it costs in accuracy, and whether it verifies."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from orchestrator.report import table
from orchestrator.report.charts import Chart, Figure, described, look, panels
from orchestrator.report.data import Findings, summarise
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import NOTHING_YET, Shown
from orchestrator.report.table import FOREST, PLACE, Column, Table, column, make_table
from orchestrator.report.wording import counted, listed, p_value_of_log10, percent, ranged, signed

AXES = {
    "trigger_share": ("ones_share", "Trigger rows (% of training rows)", "trigger rows"),
    "ones_share": ("trigger_share", "Ones in the signature (% of bits)", "ones in the signature"),
}
"""What accuracy is drawn over: the coordinate that a panel holds fixed, label, and noun."""

FORESTS = {
    "watermarked": "watermarked",
    "standard": "standard (honest)",
    "capped": "capped (honest, same limits)",
}

_MIN_SPAN = 0.02
"""Smallest height of the axis: a difference of one test row must not look like a cliff."""

_ACCURACY_GLOSSARY = (
    (
        "watermarked, standard, capped forest",
        "The watermarked forest carries the signature. The standard one is an honest forest with the same "
        "hyper-parameters; the capped one is honest too, with the limits on depth and leaves that the "
        "watermark imposes. Accuracy is the share of test rows that the majority of trees gets right; by "
        "the mean rule it is scikit-learn's, which averages the leaves instead.",
    ),
    (
        "points",
        "Differences between percentages: 94% is one point less than 95%. Negative: the watermark costs "
        "accuracy.",
    ),
    (
        "n, sd, median, min, max",
        "Size of the sample, its standard deviation (n - 1; none for a single value), middle and ends.",
    ),
)
_VERIFICATION_GLOSSARY = (
    (
        "signature, trigger set",
        "The signature has one bit for each tree; on the secret trigger rows, trees with bit 1 must be "
        "wrong and those with bit 0 right. Matched bits count votes that are so, out of trigger rows times "
        "trees.",
    ),
    (
        "p-value of a claim",
        "Chance that a model independent of the signature errs at least as often in just those trees: "
        "exact, for signatures with as many ones. Near 1 for a model without the watermark.",
    ),
)


def points(frame: pd.DataFrame, baseline: str) -> pd.Series[float]:
    """Return watermarked minus baseline accuracy of each row, in percentage points."""
    return 100.0 * (frame["accuracy_watermarked"].astype(float) - frame[baseline].astype(float))


def accuracy_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies, differences and cost of each way of embedding."""
    more = {f"minus_{name}": points(frame, f"accuracy_{name}") for name in ("standard", "capped")}
    return summarise(
        frame.assign(**more),
        (),
        [*(f"accuracy_{name}" for name in FORESTS), *more, "rounds", "seconds"],
        trigger_size=("trigger_size", "first"),
    )


def embedded(findings: Findings) -> str:
    """Return what was embedded in what."""
    frame, planned, split = findings.frame("accuracy"), findings.planned("embed"), findings.split
    rows = (
        ""
        if split is None
        else f" ({split.rows_train:,} training and {split.rows_test:,} test rows, "
        f"{counted(split.features, 'feature')})"
    )
    if frame.empty:
        return f"No watermark of {planned} planned, on data set {findings.dataset}{rows}."
    shares, ones = (
        listed(percent(share) for share in sorted(frame[name].unique()))
        for name in ("trigger_share", "ones_share")
    )
    return (
        f"{len(frame)} of {counted(planned, 'planned watermark')} on data set {findings.dataset}{rows}: "
        f"scheme {listed(findings.spec.embedding.scheme)}, forests of "
        f"{ranged(frame['n_estimators'])} trees, trigger sets of "
        f"{ranged(frame['trigger_size'])} rows ({shares} of the training rows), "
        f"{ones} ones in the signature, {counted(findings.repeats, 'repeat')}."
    )


def _cost(frame: pd.DataFrame) -> str:
    texts = [
        f"{signed(points(frame, f'accuracy_{name}').mean())} points against the {name} forest "
        f"({percent(frame[f'accuracy_{name}'].mean(), 2)})"
        for name in ("standard", "capped")
    ]
    single = points(frame, "accuracy_standard")
    means = (
        ""
        if len(frame) == 1
        else f" Means over {counted(len(frame), 'forest')}; single differences to the standard forest from "
        f"{signed(single.min())} to {signed(single.max())} points."
    )
    return f"Accuracy {percent(frame['accuracy_watermarked'].mean(), 2)}: {listed(texts)}.{means}"


def _verified(frame: pd.DataFrame) -> str:
    whole = int((frame["matched_bits"] == frame["total_bits"]).sum())
    weakest = p_value_of_log10(float(frame["log10_p"].max()))
    honest = p_value_of_log10(float(frame["log10_p_standard"].min()))
    matched, total = int(frame["matched_bits"].sum()), int(frame["total_bits"].sum())
    if len(frame) == 1:
        return (
            f"{matched:,} of {total:,} bits match, p = {weakest}. The same claim against the honest standard "
            f"forest: p = {honest}."
        )
    return (
        f"In {whole} of {len(frame)} watermarked forests every bit matches ({matched:,} of {total:,} bits in "
        f"all); the weakest evidence is p = {weakest}. The same claims against the honest standard forests: "
        f"smallest p = {honest} of {len(frame)}."
    )


def accuracy(findings: Findings) -> Shown:
    """Show what the watermark costs."""
    frame = findings.frame("accuracy")
    single = (
        ()
        if findings.repeats > 1
        else (
            "Each configuration was embedded only once: the numbers have no spread over seeds, and another "
            "seed may give others.",
        )
    )
    headline = (("Embedded", embedded(findings)),)
    if frame.empty:
        return Shown(NOTHING_YET, headline, single)
    summary = accuracy_summary(frame)
    return Shown(
        "What the watermark costs, against two honest forests trained on the same rows: the standard one, "
        "and one with the watermarked forest's limits, which separates the cost of the limits from that of "
        "the flipped labels.",
        (*headline, ("Cost in accuracy", _cost(frame))),
        single,
        figures=tuple(_figures(findings, frame, summary)),
        tables=(_accuracy_table(summary), _embeddings_table(frame)),
        glossary=_ACCURACY_GLOSSARY,
    )


def _figures(findings: Findings, frame: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Figure]:
    spread = (
        "Lines: means over repeats; small points: repeats; bars: one sample standard deviation each way."
        if frame["repeat"].nunique() > 1
        else "One repeat only: the points have no spread."
    )
    rows = "" if findings.split is None else f"{counted(findings.split.rows_test, 'test row')} "
    varying = [axis for axis in AXES if frame[axis].nunique() > 1]
    for axis in varying or ["trigger_share"]:
        noun = AXES[axis][2]
        yield Figure(
            f"accuracy-over-{axis.replace('_', '-')}",
            f"Accuracy over the share of {noun}",
            f"Accuracy by majority of votes on {rows}over the share of {noun} (percent). Both other forests "
            "are honest: the standard one trained as tuned, the capped one with the watermarked forest's "
            f"limits on depth and leaves. {spread} The axis does not start at 0. {findings.origin(frame)}",
            described(
                "Line chart of mean accuracy",
                summary,
                ["configuration"],
                {name: (f"accuracy_{name}_mean", table.rate) for name in FORESTS},
            ),
            accuracy_chart(frame, axis),
        )


def accuracy_chart(frame: pd.DataFrame, axis: str) -> Chart:
    """Draw accuracy over one coordinate of the grid.

    Parameters
    ----------
    frame
        Of `orchestrator.results.accuracy`, not empty.
    axis
        A key of `AXES`. Panels are those along which it takes several values, unless there is none such.
    """
    fixed, label, _ = AXES[axis]
    other = "ones" if axis == "trigger_share" else AXES[fixed][2]
    parts = [part for _, part in frame.groupby(["scheme", fixed], sort=True)]
    along = [part for part in parts if part[axis].nunique() > 1] or parts
    titled = [
        (f"{part['scheme'].iloc[0]}, {percent(float(part[fixed].iloc[0]))} {other}", part) for part in along
    ]
    low, high = (
        getattr(frame[[f"accuracy_{name}" for name in FORESTS]].astype(float), end)(axis=None)
        for end in ("min", "max")
    )
    spare = 0.1 * (high - low) + max(0.0, _MIN_SPAN - (high - low)) / 2
    title = "Accuracy (share of test rows)"
    y = alt.Y(
        "accuracy:Q", title=title, scale=alt.Scale(domain=[low - spare, high + spare], nice=False, zero=False)
    )

    def draw(part: pd.DataFrame) -> Chart:
        places = sorted(part[axis].unique())
        step = 100 * (places[-1] - places[0]) or 1.0
        long = pd.concat(
            pd.DataFrame(
                {
                    # Aside of each other, so that forests do not cover one another.
                    "at": 100 * part[axis].astype(float) + 0.02 * step * side,
                    "accuracy": part[f"accuracy_{name}"].astype(float),
                    "forest": forest,
                }
            )
            for (name, forest), side in zip(FORESTS.items(), (0, -1, 1), strict=True)
        )
        scale = alt.Scale(
            domain=[100 * places[0] - 0.1 * step, 100 * places[-1] + 0.1 * step], zero=False, nice=False
        )
        x = alt.X(
            "at:Q", title=label, scale=scale, axis=alt.Axis(values=[100 * at for at in places], format="~g")
        )
        names = list(FORESTS.values())
        means = long.groupby(["forest", "at"], sort=False)["accuracy"].agg(["mean", "std"]).reset_index()
        means = means.assign(
            accuracy=means["mean"], low=means["mean"] - means["std"], high=means["mean"] + means["std"]
        )
        base = alt.Chart(means).encode(x=x)
        return alt.layer(
            alt.Chart(long)
            .mark_point(size=9, opacity=0.6)
            .encode(x=x, y=y, **look("forest", names, "color")),
            base.transform_filter("isValid(datum.low)")
            .mark_rule()
            .encode(y=alt.Y("low:Q", title=title), y2="high:Q", **look("forest", names, "color")),
            base.mark_line().encode(y=y, **look("forest", names, "color", "strokeDash")),
            base.mark_point(filled=True).encode(y=y, **look("forest", names, "color", "shape")),
        )

    return panels(titled, draw)


def _accuracy_table(summary: pd.DataFrame) -> Table:
    several = bool((summary["n"] > 1).any())

    def mean_and_sd(title: str, name: str, write: table.Write, scale: float) -> Iterator[Column]:
        unit = "points" if scale == 1 else "%"
        yield column(f"{title} (mean, {unit})", f"{name}_mean", write)
        if several:
            yield Column(
                f"{title} (sd, points)",
                lambda row: table.cell_of(scale * getattr(row, f"{name}_std"), table.mean),
            )

    return make_table(
        "accuracy-table",
        "Accuracy on the test rows by majority of votes, beside the two honest forests of the same repeat",
        [
            *PLACE,
            column("n (repeats)", "n", table.count),
            *mean_and_sd("Watermarked", "accuracy_watermarked", table.accuracy, 100),
            *mean_and_sd("Standard", "accuracy_standard", table.accuracy, 100),
            *mean_and_sd("Capped", "accuracy_capped", table.accuracy, 100),
            *mean_and_sd("Minus standard", "minus_standard", table.points, 1),
            *mean_and_sd("Minus capped", "minus_capped", table.points, 1),
            column("Trigger rows", "trigger_size", table.count),
            column("Rounds (mean)", "rounds_mean", table.mean),
            column("Embedding (s, mean)", "seconds_mean", table.duration),
        ],
        summary,
    )


def _embeddings_table(frame: pd.DataFrame) -> Table:
    return make_table(
        "embeddings-table",
        "Every embedding: accuracies, limits on the trees, cost",
        [
            *FOREST,
            column("Watermarked", "accuracy_watermarked", table.accuracy),
            column("Standard", "accuracy_standard", table.accuracy),
            column("Capped", "accuracy_capped", table.accuracy),
            column("Watermarked, mean rule", "accuracy_watermarked_mean_rule", table.accuracy),
            column("Standard, mean rule", "accuracy_standard_mean_rule", table.accuracy),
            column("Trees", "n_estimators", table.count),
            column("Depth, tuned or given", "max_depth", table.count),
            column("Depth limit", "cap_depth", table.count),
            column("Leaves limit", "cap_leaves", table.count),
            column("Rounds, right trees", "rounds_right", table.count),
            column("Rounds, wrong trees", "rounds_wrong", table.count),
            column("Weight, right trees", "weight_right", table.setting),
            column("Weight, wrong trees", "weight_wrong", table.setting),
            column("Embedding (s)", "seconds", table.duration),
        ],
        frame,
    )


def verification(findings: Findings) -> Shown:
    """Show the evidence of each claim against its forest, and against an honest one."""
    frame = findings.frame("accuracy")
    evidence = make_table(
        "verification-table",
        "Evidence of each claim against its watermarked forest, and against its repeat's standard forest",
        [
            *FOREST,
            column("Trigger rows", "trigger_size", table.count),
            column("Bits matched", "matched_bits", table.count),
            column("Bits in all", "total_bits", table.count),
            column("p-value", "log10_p", table.log10_p),
            column("p-value, honest standard forest", "log10_p_standard", table.log10_p),
            *calibration.columns(findings, "p-value", lambda _: calibration.VOTES),
        ],
        frame,
    )
    return Shown(
        "Each claim held against its watermarked forest, and against the honest standard forest, where it "
        "should find nothing.",
        (("Verified", _verified(frame)),),
        tables=(evidence,),
        glossary=_VERIFICATION_GLOSSARY,
    )
