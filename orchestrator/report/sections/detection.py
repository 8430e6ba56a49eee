"""What can be read off the bare forest: bits of the signature, and that there is a watermark at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import charts, table
from orchestrator.report.charts import Chart, Figure
from orchestrator.report.data import Findings, by_configuration, chunked, configuration, each_row, summarise
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import across, counted, p_value, percent, percent_of, sampled, times
from wm.attacks.detection import Measure
from wm.attacks.detection.rows import BEST_PROBE, RANKING, SPLIT

_GUESSES = (SPLIT, BEST_PROBE)
"""Strategies whose rows give guessed bits."""

PRESENCE = "presence"
"""The measure that takes all statistics of a presence test together; single ones are "presence: name"."""

_LEVEL = 0.05
_SPECTRA = 4
"""Configurations in one figure of guesses; a figure of spectra has half of them."""

BITS = {"correct": "#0b4a8f", "wrong": "#f2b580", "uncertain": "#ffffff"}
"""Fillings of bars, which differ in lightness."""


def parts_of(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the rows of the paper's strategies, of shapes and spectra, and of presence tests."""
    measure = frame["measure"].astype(str)
    paper, presence = measure.isin([one.value for one in Measure]), measure.str.startswith(PRESENCE)
    return frame[paper], frame[~paper & ~presence], frame[presence]


def strategy_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the bits that each of the paper's strategies read."""
    return summarise(frame, ["measure", "strategy"], [*BITS, "p_value", "p_value_exact"])


def guess_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how much one number for each tree gives of the signature, with `p_split` and `p_ranking`."""
    split, p = frame["strategy"].isin(_GUESSES), frame["p_value_exact"]
    both = frame.assign(
        p_split=p.where(split), p_ranking=p.where(~split), points=frame["points"].where(split)
    )
    names = ["bits", "null_bits", "p_split", "auc", "p_ranking", "points"]
    found = summarise(both, ["measure"], names, sort=False)
    return found.assign(n=found["p_split_count"])


def presence_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return whether forests stand out among honest ones by each `statistic`."""
    found = summarise(
        frame, ["measure"], ["p_value", "p_value_exact"], sort=False, honest=("points", "first")
    )
    names = found["measure"].str.removeprefix(f"{PRESENCE}: ").str.replace("_", " ")
    return found.assign(statistic=names.where(found["measure"] != PRESENCE, "all together"))


def show(findings: Findings) -> Shown:
    """Show the findings of the paper's strategies, shapes, spectra and presence tests."""
    strategies, guesses, presence = parts_of(findings.frame("detection"))
    summary, guessed = strategy_summary(strategies), guess_summary(guesses)
    by_chance = calibration.columns(findings, "Exact p", calibration.of_strategy)
    say = ((strategies, _best_strategy), (guesses, _best_guess), (presence, _presence))
    return Shown(
        answers=tuple(guess_answers(pd.concat([strategies, guesses]))),
        headline=(("Detection", " ".join(text(part) for part, text in say if not part.empty)),),
        figures=(
            *charts.figures("detection", findings, strategies, summary, strategy_chart),
            *charts.figures("guesses", findings, guesses, guessed, guess_chart, size=_SPECTRA),
            *_spectrum_figures(findings),
        ),
        tables=(
            make_table(
                "guesses-table",
                guessed,
                *calibration.columns(findings, "p of the guess", lambda row: f"{_calibrated(row)} split"),
                *calibration.columns(findings, "p of the ranking", _calibrated),
            ),
            make_table(
                "presence-table",
                presence_summary(presence),
                *calibration.columns(findings, "p, adjusted for all", _calibrated_presence),
            ),
            *([make_table("detection-table", summary, *by_chance)] if findings.repeats > 1 else []),
            make_table("detections-table", strategies, *by_chance),
        ),
    )


def _best(frame: pd.DataFrame) -> tuple[pd.Series[Any], str]:
    """Return the row of the smallest exact p-value, and that p corrected for the number of rows.

    Of several, the one whose other p-value is the smallest.
    """
    exact, other = (frame[name].astype(float).fillna(1.0) for name in ("p_value_exact", "p_value"))
    best = frame.iloc[int(np.lexsort((other, exact))[0])]
    return best, p_value(min(1.0, len(frame) * float(best["p_value_exact"])))


def guess_answers(frame: pd.DataFrame) -> Iterator[Answer]:
    """Yield how surprising the best guess at a signature is among all, rows of the detection frame."""
    if frame.empty:
        return
    best, corrected = _best(frame)
    p = min(1.0, len(frame) * float(best["p_value_exact"]))
    yield Answer(
        Question.LEAKS,
        Grade.GOOD if p > _LEVEL else Grade.BAD,
        f"p = {corrected}",
        f"for the best of {counted(len(frame), 'guess', 'guesses')} at the signature from the bare forest",
        f"{best['measure']}, {best['strategy']}; corrected for their number",
    )


def _best_strategy(frame: pd.DataFrame) -> str:
    best, corrected = _best(frame)
    return (
        f"The strongest guess ({best['measure']}, strategy {best['strategy']}) reads {best['correct']} of "
        f"{sum(int(best[name]) for name in BITS)} bits right, {best['wrong']} wrong and leaves "
        f"{best['uncertain']} open: {_both(best['p_value'], best['p_value_exact'])}. It is the best of "
        f"{len(frame)} guesses; corrected for "
        f"that (Bonferroni), p = {corrected}."
    )


def _both(coins: float | None, exact: float) -> str:
    """Return the p-value of fair coins, unless there is none, and the exact one."""
    if coins is None or math.isnan(coins):
        return f"exact p = {p_value(exact)}"
    return f"p = {p_value(coins)}, exact {p_value(exact)}"


def _best_guess(frame: pd.DataFrame) -> str:
    best, corrected = _best(frame)
    own = frame[frame["measure"] == best["measure"]]
    split, ranking = own[own["strategy"].isin(_GUESSES)], own[own["strategy"] == RANKING]
    return (
        f"Beyond the paper, {best['measure']} is the strongest: it guesses "
        f"{across(split['bits'], percent_of)} of the bits up to complement, where unrelated guesses get "
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


def strategy_chart(summary: pd.DataFrame) -> Chart:
    """Draw stacked bars of bits for each measure and strategy, a panel for each way of embedding."""
    p = zip(summary["p_value_median"], summary["p_value_exact_median"], strict=True)
    shown = summary.assign(
        guess=summary["measure"] + ", " + summary["strategy"],
        chance=(summary["correct_mean"] + summary["wrong_mean"]) / 2,
        total=sum(summary[f"{name}_mean"] for name in BITS),
        p=[_both(*pair) for pair in p],
        sample=[f" (mean of {counted(n, 'repeat')})" for n in summary["n"]],
    )
    x, y = alt.X("amount:Q", title="Bits of the signature"), alt.Y("guess:N", title=None, sort=None)

    def draw(part: pd.DataFrame) -> Chart:
        base = alt.Chart(part).encode(y=y)
        return alt.layer(
            charts.stack(part, "guess", {name: f"{name}_mean" for name in BITS}, BITS).encode(x=x, y=y),
            base.mark_tick(color=charts.WARNING, thickness=3, height=24).encode(x="chance:Q"),
            base.mark_text(align="left", dx=6, color=charts.INK).encode(x="total:Q", text="p:N"),
        )

    return charts.panels(charts.by_text(shown), draw, columns=1, height=110)


def guess_chart(summary: pd.DataFrame) -> Chart:
    """Draw bits guessed and the area under the curve of each measure, a row of panels for each embedding."""

    def panel(part: pd.DataFrame, name: str, p: str, title: str) -> Chart:
        is_first = name == "bits"
        labels = alt.Axis(labels=is_first, grid=True, ticks=False)
        tooltips = [
            f"{row.measure}: "
            + sampled(
                title,
                getattr(row, f"{name}_mean"),
                (getattr(row, f"{name}_min"), getattr(row, f"{name}_max")),
                n=row.n,
                write="{:.3f}".format,
            )
            for row in each_row(part)
        ]
        base = alt.Chart(part.assign(text="p = " + part[p].map(p_value), tooltip=tooltips)).encode(
            y=alt.Y("measure:N", title=None, sort=None, axis=labels)
        )
        scale = alt.Scale(domain=[0.5, 1.25], nice=False)
        axis = alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1], format="%" if is_first else ".1f")
        layers = [
            base.mark_rule(strokeWidth=2.5, color=charts.COLOURS[0]).encode(
                x=alt.X(f"{name}_min:Q", title=title, scale=scale, axis=axis), x2=f"{name}_max:Q"
            ),
            charts.with_tooltips(
                base.mark_point(filled=True, size=60, color=charts.COLOURS[0]).encode(x=f"{name}_mean:Q")
            ),
            base.mark_text(align="left", color=charts.INK).encode(x=alt.datum(1.03), text="text:N"),
        ]
        if is_first:
            layers.append(base.mark_tick(color=charts.INK, thickness=2).encode(x="null_bits_mean:Q"))
        return alt.layer(*layers).properties(width=charts.WIDTH / 2 - 90, height=alt.Step(24))

    rows = [
        alt.hconcat(
            panel(part, "bits", "p_split_median", "Bits guessed"),
            panel(part, "auc", "p_ranking_median", "AUC of the ranking"),
            title=title,
        )
        for title, part in charts.by_text(summary)
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
    for ending, some, _ in chunked(frame, frame, _SPECTRA // 2):
        shown = list(spectra(some))
        texts = [
            f"{title}: the split at the median is right for {percent(split_guess(trees), 1)} of {len(trees)} "
            f"trees; variance along the directions {', '.join(percent(one, 1) for one in strengths[:3])}"
            for title, trees, strengths in shown
        ]
        yield charts.figure(
            "spectrum",
            ending,
            partial(_spectrum_chart, shown),
            findings.origin(frame),
            spectra="; ".join(texts),
            one=one,
        )


def _spectrum_chart(shown: list[tuple[str, pd.DataFrame, list[float]]]) -> Chart:
    return alt.vconcat(*[_spectrum_panel(*one) for one in shown])


def _spectrum_panel(title: str, trees: pd.DataFrame, strengths: list[float]) -> Chart:
    tooltips = [
        f"tree {row.tree} of {len(trees)}: entry {row.entry:.3g}, {row.bit}" for row in trees.itertuples()
    ]
    entries = alt.Chart(trees.assign(tooltip=tooltips)).encode(
        x=alt.X("tree:Q", title="Trees in the order of their entries"),
        y=alt.Y("entry:Q", title="Entry in leading direction"),
        **charts.look("bit", ["bit 0", "bit 1"], "color", "shape"),
    )
    left = alt.layer(charts.with_tooltips(entries.mark_point(size=50)), charts.rule(x=(len(trees) + 1) / 2))
    directions = pd.DataFrame({"variance": 100 * np.asarray(strengths, float)})
    directions["tooltip"] = [
        f"direction {place}: {variance:.1f}% of the variance"
        for place, variance in enumerate(directions["variance"], 1)
    ]
    right = alt.Chart(directions.assign(direction=directions.index + 1)).encode(
        x=alt.X("direction:O", title="Direction", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("variance:Q", title="Variance (%)"),
    )
    return alt.hconcat(
        left.properties(width=charts.WIDTH * 0.6, height=150, title=title),
        charts.with_tooltips(right.mark_bar(color=charts.COLOURS[0])).properties(
            width=charts.WIDTH * 0.28, height=150
        ),
    )


def _calibrated(row: Any) -> str:
    """Return the name in calibration of the p-value of a ranking; spectra are calibrated on a sample only."""
    return f"{calibration.DETECT}{'spectrum' if row.measure == 'spectrum, sample' else row.measure}"


def _calibrated_presence(row: Any) -> str:
    return calibration.PRESENCE_OVERALL if row.measure == PRESENCE else calibration.PRESENCE_HOLM
