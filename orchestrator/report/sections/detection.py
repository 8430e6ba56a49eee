"""What can be read off the bare forest: bits of the signature, and that there is a watermark at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import table
from orchestrator.report.charts import (
    INK,
    PANELS,
    WIDTH,
    Chart,
    Figure,
    by_text,
    described,
    look,
    panels,
    rule,
)
from orchestrator.report.data import (
    CONFIGURATION,
    Findings,
    by_configuration,
    chunked,
    configuration,
    summarise,
)
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import FOREST, PLACE, Table, column, make_table, named, over
from orchestrator.report.wording import across, counted, p_value, percent, percent_of, times
from wm.attacks.detection import Measure

RANKING, SPLIT = "ranking", "median split"
"""The two uses of one number for each tree, as the frame names them in `strategy`."""

PRESENCE = "presence"
"""The measure that takes all statistics of a presence test together; single ones are "presence: name"."""

_LEVEL = 0.05
_SPECTRA = 4
"""Configurations in one figure of spectra, and of guesses, which have a row for every measure."""

BITS = {"correct": "#0b4a8f", "wrong": "#f2b580", "uncertain": "#ffffff"}
"""Fillings of bars, which differ in lightness."""

_GLOSSARY = (
    (
        "detection: strategies A and B",
        "A guesses bit 0 for trees more than one standard deviation below the mean depth or number of "
        "leaves, bit 1 for those above, and leaves the rest open. B guesses every tree, by the mean alone. "
        "p is the chance that fair coins do as well; exact p that the same guesses do against a random "
        "signature with as many ones. Of many guesses the best one looks good by chance: correct for their "
        "number.",
    ),
    (
        "up to complement; unrelated guesses",
        "Who divides the trees in two does not know which part has bit 1: a guess that is wrong everywhere "
        "is as good as a right one. Unrelated guesses therefore get somewhat more than half of the bits; "
        "their mean is given beside each figure.",
    ),
    (
        "vote spectrum: sample and leaf-probe; shapes",
        "The leading direction of the centred matrix of votes (trees by instances) has an entry for each "
        "tree; trees trained on flipped labels tend to one side. The votes are taken on the attacker's "
        "sample, or on points put into the forest's own leaves. Shapes are numbers of a bare tree: mean "
        "depth of its leaves, share of positive ones, their volume.",
    ),
    (
        "presence",
        "Whether a forest is watermarked at all: its rank among honest forests of equal settings, by "
        "several statistics, corrected for their number (Holm), and by the largest deviation of all. With n "
        "honest forests no p-value is below 1 / (n + 1).",
    ),
)


def parts_of(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the rows of the paper's strategies, of shapes and spectra, and of presence tests."""
    measure = frame["measure"].astype(str)
    paper, presence = measure.isin([one.value for one in Measure]), measure.str.startswith(PRESENCE)
    return frame[paper], frame[~paper & ~presence], frame[presence]


def strategy_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the bits that each of the paper's strategies read."""
    return summarise(frame, ["measure", "strategy"], [*BITS, "p_value", "p_value_exact"])


def guess_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what one number for each tree says of the signature, with `p_split` and `p_ranking`."""
    split = frame["strategy"] == SPLIT
    p = frame["p_value_exact"]
    both = frame.assign(
        p_split=p.where(split), p_ranking=p.where(~split), points=frame["points"].where(split)
    )
    found = summarise(
        both, ["measure"], ["bits", "null_bits", "p_split", "auc", "p_ranking", "points"], sort=False
    )
    return found.assign(n=found["p_split_count"])


def presence_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return whether forests stand out among honest ones by each `statistic`."""
    found = summarise(
        frame, ["measure"], ["p_value", "p_value_exact"], sort=False, honest=("points", "first")
    )
    names = found["measure"].str.removeprefix(f"{PRESENCE}: ").str.replace("_", " ")
    return found.assign(statistic=names.where(found["measure"] != PRESENCE, "all together"))


def show(findings: Findings) -> Shown:
    """Show what the paper's strategies, shapes, spectra and presence tests find."""
    frame = findings.frame("detection")
    strategies, guesses, presence = parts_of(frame)
    summary = strategy_summary(strategies)
    texts = [
        say(part)
        for part, say in ((strategies, _best_strategy), (guesses, _best_guess), (presence, _presence))
        if not part.empty
    ]
    tables = [
        _guess_table(findings, guess_summary(guesses)),
        _presence_table(findings, presence_summary(presence)),
        *([_strategy_table(findings, summary)] if findings.repeats > 1 else []),
        _each_table(findings, strategies),
    ]
    return Shown(
        "Can the signature be read off the bare forest: the shape of its trees, or their votes? Is it seen "
        "to be watermarked at all?",
        (("Detection", " ".join(texts)),),
        figures=(
            *_strategy_figures(findings, strategies, summary),
            *_guess_figures(findings, guesses),
            *_spectrum_figures(findings),
        ),
        tables=tuple(tables),
        glossary=_GLOSSARY,
    )


def _p(value: Any) -> str:
    return table.cell_of(value, p_value).text


def _best(frame: pd.DataFrame) -> tuple[pd.Series[Any], str]:
    """Return the row of the smallest exact p-value, and that p corrected for the number of rows."""
    best = frame.iloc[int(frame["p_value_exact"].astype(float).fillna(1.0).argmin())]
    return best, p_value(min(1.0, len(frame) * float(best["p_value_exact"])))


def _best_strategy(frame: pd.DataFrame) -> str:
    best, corrected = _best(frame)
    return (
        f"The strongest guess ({best['measure']}, strategy {best['strategy']}) reads {best['correct']} of "
        f"{sum(int(best[name]) for name in BITS)} bits right, {best['wrong']} wrong and leaves "
        f"{best['uncertain']} open: p = {p_value(float(best['p_value']))}, exact "
        f"{p_value(float(best['p_value_exact']))}. It is the best of {len(frame)} guesses; corrected for "
        f"that (Bonferroni), p = {corrected}."
    )


def _best_guess(frame: pd.DataFrame) -> str:
    best, corrected = _best(frame)
    own = frame[frame["measure"] == best["measure"]]
    split, ranking = own[own["strategy"] == SPLIT], own[own["strategy"] == RANKING]
    return (
        f"Beyond the paper, {best['measure']} says most: it guesses {across(split['bits'], percent_of)} of "
        "the bits up to complement, where unrelated guesses get "
        f"{across([split['null_bits'].mean()], percent_of)}, and ranks the trees with AUC "
        f"{across(ranking['auc'], table.area)} in {counted(len(split), 'forest')}; its smallest p, corrected "
        f"for {len(frame)} tests (Bonferroni), is {corrected}."
    )


def _presence(frame: pd.DataFrame) -> str:
    overall = frame[frame["measure"] == PRESENCE]
    honest = int(overall["points"].min())
    found = int((overall["p_value"] <= _LEVEL * (1 + 1e-9)).sum())
    return (
        f"Presence: against {honest:,} honest forests, p \N{LESS-THAN OR EQUAL TO} {_LEVEL:g} in "
        f"{times(found, len(overall), 'watermarked forest')}, all statistics together (p = "
        f"{across(overall['p_value'], p_value, 'median')}; so few honest forests allow none below "
        f"{p_value(1 / (honest + 1))})."
    )


def _strategy_figures(findings: Findings, frame: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Figure]:
    for ending, some in chunked(frame, PANELS):
        rows = summary.merge(some[CONFIGURATION].drop_duplicates(), on=CONFIGURATION)
        average = (
            "mean numbers and median p-values over repeats" if some["repeat"].nunique() > 1 else "one repeat"
        )
        yield Figure(
            f"detection{ending}",
            "Bits read off the shape of the trees",
            "Bits of the signature that the two strategies (A leaves trees near the mean open, B decides "
            f"every tree) read right, wrong or left open, by depth and by number of leaves; {average}. "
            "Mark: where fair coins would end, half of the decided bits. p: one-sided binomial p-value; "
            f"exact: for random signatures with as many ones. {findings.origin(some)}",
            described(
                "Stacked bars of bits",
                rows,
                ["configuration", "measure", "strategy"],
                {
                    **{name: (f"{name}_mean", table.mean) for name in BITS},
                    "p": ("p_value_median", p_value),
                    "exact p": ("p_value_exact_median", p_value),
                },
            ),
            strategy_chart(rows),
        )


def strategy_chart(summary: pd.DataFrame) -> Chart:
    """Draw stacked bars of bits for each measure and strategy, a panel for each way of embedding."""
    shown = summary.assign(
        guess=summary["measure"] + ", " + summary["strategy"],
        chance=(summary["correct_mean"] + summary["wrong_mean"]) / 2,
        total=sum(summary[f"{name}_mean"] for name in BITS),
        p=[
            f"p = {_p(row.p_value_median)}, exact {_p(row.p_value_exact_median)}"
            for row in summary.itertuples()
        ],
    )
    y = alt.Y("guess:N", title=None, sort=None)
    fills = alt.Color(
        "bits:N", title=None, sort=None, scale=alt.Scale(domain=list(BITS), range=list(BITS.values()))
    )

    def draw(part: pd.DataFrame) -> Chart:
        long = pd.concat(
            part[["guess"]].assign(bits=name, order=place, mean=part[f"{name}_mean"])
            for place, name in enumerate(BITS)
        )
        base = alt.Chart(part).encode(y=y)
        return alt.layer(
            alt.Chart(long)
            .mark_bar(stroke=INK, strokeWidth=0.6, height=18)
            .encode(
                x=alt.X("mean:Q", title="Bits of the signature"), y=y, color=fills, order=alt.Order("order:Q")
            ),
            base.mark_tick(color="#b00020", thickness=3, height=24).encode(x="chance:Q"),
            base.mark_text(align="left", dx=6, color=INK).encode(x="total:Q", text="p:N"),
        )

    return panels(by_text(shown), draw, columns=1, height=110)


def _guess_figures(findings: Findings, frame: pd.DataFrame) -> Iterator[Figure]:
    for ending, some in chunked(frame, _SPECTRA):
        summary = guess_summary(some)
        bars = (
            "Dots: means over repeats; bars: min to max; p: medians."
            if some["repeat"].nunique() > 1
            else "One repeat only: there is no spread over seeds."
        )
        yield Figure(
            f"guesses{ending}",
            "The signature guessed from shapes and vote spectra",
            "An attacker ranks the trees by one number each, and divides them at its median. Left: percent "
            "of the signature that this guesses, up to complement; tick: the mean for random signatures "
            "with as many ones, which is above 50% because the better of both complements counts. Right: "
            "area under the ROC curve of the ranking, in either direction (0.5: no order, 1: the two kinds "
            f"of trees apart). p: exact for such random signatures. {bars} {findings.origin(some)}",
            described(
                "Dots on a scale",
                summary,
                ["configuration", "measure"],
                {
                    "bits guessed": ("bits_mean", table.rate),
                    "unrelated guesses": ("null_bits_mean", table.rate),
                    "p of the guess": ("p_split_median", p_value),
                    "AUC": ("auc_mean", table.area),
                    "p of the ranking": ("p_ranking_median", p_value),
                },
            ),
            guess_chart(summary),
        )


def guess_chart(summary: pd.DataFrame) -> Chart:
    """Draw bits guessed and the area under the curve of each measure, a row of panels for each embedding."""

    def panel(part: pd.DataFrame, name: str, p: str, title: str, *, labels: bool) -> Chart:
        base = alt.Chart(part.assign(text=[f"p = {_p(value)}" for value in part[p]])).encode(
            y=alt.Y("measure:N", title=None, sort=None, axis=alt.Axis(labels=labels, grid=True, ticks=False))
        )
        scale = alt.Scale(domain=[0.5, 1.25], nice=False)
        axis = alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1], format="%" if name == "bits" else ".1f")
        layers = [
            base.mark_rule(strokeWidth=2.5, color="#0b4a8f").encode(
                x=alt.X(f"{name}_min:Q", title=title, scale=scale, axis=axis), x2=f"{name}_max:Q"
            ),
            base.mark_point(filled=True, size=60, color="#0b4a8f").encode(x=f"{name}_mean:Q"),
            base.mark_text(align="left", color=INK).encode(x=alt.datum(1.03), text="text:N"),
        ]
        if name == "bits":
            layers.append(base.mark_tick(color=INK, thickness=2).encode(x="null_bits_mean:Q"))
        return alt.layer(*layers).properties(width=WIDTH / 2 - 90, height=alt.Step(24))

    rows = [
        alt.hconcat(
            panel(part, "bits", "p_split_median", "Bits guessed", labels=True),
            panel(part, "auc", "p_ranking_median", "AUC of the ranking", labels=False),
            title=title,
        )
        for title, part in by_text(summary)
    ]
    return alt.vconcat(*rows)


def spectra(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, list[float]]]:
    """Yield title, trees and strengths of the spectra of the first repeat of each way of embedding.

    Trees are in the order of their entries in the leading direction: `tree`, `entry`, `bit`.
    """
    for first, part in by_configuration(frame):
        for row in part[part["repeat"] == part["repeat"].min()].itertuples():
            trees = pd.DataFrame({"entry": row.scores, "bit": [f"bit {bit}" for bit in row.bits]})
            ordered = trees.sort_values("entry", kind="stable", ignore_index=True)
            yield (
                f"{configuration(first)}; {row.mode}",
                ordered.assign(tree=np.arange(1, len(trees) + 1)),
                list(row.strengths),
            )


def split_guess(trees: pd.DataFrame) -> float:
    """Return the share of bits that the split at the median entry gets right, up to complement."""
    above = trees["entry"] > trees["entry"].median()
    right = float((above == (trees["bit"] == "bit 1")).mean())
    return max(right, 1 - right)


def _spectrum_figures(findings: Findings) -> Iterator[Figure]:
    frame = findings.frame("spectra")
    repeats = frame["repeat"].nunique()
    one = f" Only the first of {repeats} repeats is drawn; tables have all." if repeats > 1 else ""
    for ending, some in chunked(frame, _SPECTRA // 2):
        shown = list(spectra(some))
        texts = [
            f"{title}: the split at the median is right for {percent(split_guess(trees), 1)} of {len(trees)} "
            f"trees; variance along the directions {', '.join(percent(one, 1) for one in strengths[:3])}"
            for title, trees, strengths in shown
        ]
        yield Figure(
            f"spectrum{ending}",
            "Vote spectrum",
            "Left: each tree's entry in the leading direction of the centred matrix of votes (trees x "
            "instances), on the attacker's sample of test rows or on probes of the forest's leaves; true "
            "bits by marker. Where the two kinds lie on different sides of the median (dashed), the "
            "attacker reads the signature, up to complement (the sign is arbitrary). Right: percent of the "
            f"variance along each direction, at most 20.{one} {findings.origin(frame)}",
            f"Trees by their entry in the leading direction, and bars of variance. {'; '.join(texts)}.",
            alt.vconcat(*[_spectrum_panel(*one) for one in shown]),
        )


def _spectrum_panel(title: str, trees: pd.DataFrame, strengths: list[float]) -> Chart:
    left = alt.layer(
        alt.Chart(trees)
        .mark_point(size=50)
        .encode(
            x=alt.X("tree:Q", title="Trees in the order of their entries"),
            y=alt.Y("entry:Q", title="Entry in leading direction"),
            **look("bit", ["bit 0", "bit 1"], "color", "shape"),
        ),
        rule(x=(len(trees) + 1) / 2),
    ).properties(width=WIDTH * 0.6, height=150, title=title)
    bars = pd.DataFrame(
        {"direction": np.arange(1, len(strengths) + 1), "variance": 100 * np.asarray(strengths, float)}
    )
    right = (
        alt.Chart(bars)
        .mark_bar(color="#0b4a8f")
        .encode(
            x=alt.X("direction:O", title="Direction", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("variance:Q", title="Variance (%)"),
        )
        .properties(width=WIDTH * 0.28, height=150)
    )
    return alt.hconcat(left, right)


def _strategy_table(findings: Findings, summary: pd.DataFrame) -> Table:
    return make_table(
        "detection-table",
        "Bits of the signature read off the trees' shapes",
        [
            *PLACE,
            named("Measure", "measure"),
            named("Strategy", "strategy"),
            column("n (repeats)", "n", table.count),
            *(column(f"{name.capitalize()} (mean)", f"{name}_mean", table.mean) for name in BITS),
            column("p (median)", "p_value_median", table.p),
            column("p (min)", "p_value_min", table.p),
            column("Exact p (median)", "p_value_exact_median", table.p),
            column("Exact p (min)", "p_value_exact_min", table.p),
            *calibration.columns(findings, "Exact p", calibration.of_strategy),
        ],
        summary,
    )


def _each_table(findings: Findings, frame: pd.DataFrame) -> Table:
    return make_table(
        "detections-table",
        "Every forest and strategy",
        [
            *FOREST,
            named("Measure", "measure"),
            named("Strategy", "strategy"),
            column("Mean of measure", "mean", table.mean),
            column("sd of measure", "std", table.mean),
            *(column(name.capitalize(), name, table.count) for name in BITS),
            column("p", "p_value", table.p),
            column("Exact p", "p_value_exact", table.p),
            *calibration.columns(findings, "Exact p", calibration.of_strategy),
        ],
        frame,
    )


def _guess_table(findings: Findings, summary: pd.DataFrame) -> Table:
    return make_table(
        "guesses-table",
        "Beyond the paper: the signature guessed, up to complement, from one number for each tree; exact "
        "p-values for random signatures with as many ones",
        [
            *PLACE,
            named("Measure", "measure"),
            column("n (repeats)", "n", table.count),
            over("Bits guessed", "bits", table.rate, summary),
            column("Unrelated guess (mean)", "null_bits_mean", table.rate),
            over("p of the guess", "p_split", table.p, summary, "median"),
            over("AUC", "auc", table.area, summary),
            over("p of the ranking", "p_ranking", table.p, summary, "median"),
            over("Instances voted on", "points", table.mean, summary),
            *calibration.columns(
                findings, "p of the guess", lambda row: calibration.of_guess(row.measure, split=True)
            ),
            *calibration.columns(
                findings, "p of the ranking", lambda row: calibration.of_guess(row.measure, split=False)
            ),
        ],
        summary,
    )


def _presence_table(findings: Findings, summary: pd.DataFrame) -> Table:
    def name(row: Any) -> str:
        return calibration.PRESENCE_OVERALL if row.measure == PRESENCE else calibration.PRESENCE_HOLM

    return make_table(
        "presence-table",
        "Presence: is a forest watermarked at all? Ranks among honest forests under the same limits, by "
        "each statistic (adjusted by Holm) and by the largest deviation of all",
        [
            *PLACE,
            named("Statistic", "statistic"),
            column("n (repeats)", "n", table.count),
            column("Honest forests", "honest", table.count),
            over("p", "p_value", table.p, summary, "median"),
            over("p, adjusted for all", "p_value_exact", table.p, summary, "median"),
            *calibration.columns(findings, "p, adjusted for all", name),
        ],
        summary,
    )
