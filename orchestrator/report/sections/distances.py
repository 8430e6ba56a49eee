"""Sizes of forged trigger sets over all distances at once, from the smallest distance of each instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from orchestrator.report.charts import FAINT, PANELS, Chart, Figure, faint, figure, panels, rule, series
from orchestrator.report.data import CONFIGURATION, Findings, configuration, summarise
from orchestrator.report.table import Table, make_table
from orchestrator.report.wording import across, counted, number, percent_of, ranged, sampled, times

LOW, HIGH = 0.1, 0.9
"""Quantiles over signatures that are shown with the mean."""

PLACES = tuple(step / 10 for step in range(11))
"""Distances at which a table gives the sizes of a curve."""

GLOBAL = 1.0
"""Largest distance sought where a campaign file gives no cap: the whole domain."""

_MAX_STEPS = 400
"""Steps of a drawn curve: more cannot be distinguished."""

_MAX_LINES = 40
"""Signatures drawn one by one; of more, only the band can be distinguished."""


LINES = ("mean", "maximum", "mean, if all undecided were forged")


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Forged set size over eps for one configuration and engine; rows of the arrays are signatures."""

    scheme: str
    trigger_share: float
    ones_share: float
    engine: str
    trigger_size: int | None
    """Rows of the true trigger set; None while nothing is embedded."""
    signatures: int
    """Those that have any answer, in any repeat."""
    repeats: int
    """Those that have any answer; with the signatures they are the s rows."""
    eps: NDArray[np.float64]
    """(n,): from 0 to the largest distance sought; where sizes step, at most `_MAX_STEPS` places."""
    known: NDArray[np.int64]
    """(s, n): instances that a solver has shown to be forged within eps."""
    possible: NDArray[np.int64]
    """(s, n): the same, had every instance without a decision its witness at once."""
    instances: int
    """Those planned, of all signatures, as in the next four."""
    forged: int
    """Those with an exact smallest distance."""
    impossible: int
    """Those with none up to the largest distance."""
    censored: int
    """Those stopped by a limit."""
    pending: int
    """Those without any answer so far."""
    seconds: float
    """Solving time of all of them."""

    @property
    def undecided(self) -> int:
        """Instances whose smallest distance is open."""
        return self.censored + self.pending

    def at(self, eps: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each signature's known and possible sizes (s,) at one of the places of `eps`, or between."""
        place = int(np.searchsorted(self.eps, eps, side="right")) - 1
        return self.known[:, place], self.possible[:, place]

    @property
    def parity(self) -> float | None:
        """The smallest eps at which a signature has as many forged instances as the trigger set rows."""
        if self.trigger_size is None:
            return None
        reached = (self.known >= self.trigger_size).any(axis=0)
        return float(self.eps[int(reached.argmax())]) if reached.any() else None


def cap_of(findings: Findings) -> float:
    """Return the largest distance up to which smallest ones were sought."""
    caps = [attack.cap for attack in findings.attacks("forgery") if attack.eps == "minimal"]
    return max((GLOBAL if cap is None else cap for cap in caps), default=GLOBAL)


def sought(findings: Findings) -> pd.DataFrame:
    """Return the rows of the forgery frame that sought smallest distances, not an instance within an eps."""
    frame = findings.frame("forgery")
    return frame[frame["eps"].isna()].reset_index(drop=True)


def curves_of(findings: Findings) -> list[SizeCurve]:
    """Return the curves of a campaign."""
    return size_curves(findings.frame("distances"), sought(findings), cap_of(findings), PLACES)


def size_curves(
    distances: pd.DataFrame, planned: pd.DataFrame, cap: float, places: tuple[float, ...] = ()
) -> list[SizeCurve]:
    """Return a curve for each configuration and engine that has any answer.

    Parameters
    ----------
    distances
        Of `orchestrator.results.distances`.
    planned
        Rows of `orchestrator.results.forgery` without eps: what was asked for.
    cap
        Largest distance that was sought.
    places
        Values of eps where sizes are wanted, in addition to those where they step.
    """
    place = [*CONFIGURATION, "engine"]
    answers = dict(iter(distances.groupby(place)))
    return [
        _curve(key, asked, answers[key], cap, places)
        for key, asked in planned.groupby(place, sort=True)
        if key in answers
    ]


def _curve(
    key: tuple[Any, ...], asked: pd.DataFrame, answers: pd.DataFrame, cap: float, places: tuple[float, ...]
) -> SizeCurve:
    steps = np.unique(answers["distance"].dropna().to_numpy(dtype=np.float64))
    if len(steps) > _MAX_STEPS:
        steps = np.quantile(steps, np.linspace(0, 1, _MAX_STEPS), method="nearest")
    eps = np.unique(np.concatenate([[0.0, cap], [place for place in places if place < cap], steps]))
    wanted = asked.set_index(["repeat", "signature"])["instances"].to_dict()
    known, possible = [], []
    for (repeat, signature), part in answers.groupby(["repeat", "signature"], sort=True):
        distance = part["distance"].to_numpy(dtype=np.float64)
        exact = (part["status"] == "forged").to_numpy()
        open_ended = int((~part["status"].isin(["forged", "impossible"])).sum())
        open_ended += int(wanted[repeat, signature]) - len(part)
        # A comparison with a missing distance is false.
        within = distance[:, None] <= eps
        known.append(within.sum(axis=0))
        possible.append(within[exact].sum(axis=0) + open_ended)
    counts = answers["status"].value_counts()
    forged, impossible = int(counts.get("forged", 0)), int(counts.get("impossible", 0))
    sizes, instances = asked["trigger_size"].dropna(), int(asked["instances"].sum())
    return SizeCurve(
        **dict(zip((*CONFIGURATION, "engine"), key, strict=True)),
        trigger_size=None if sizes.empty else int(sizes.iloc[0]),
        signatures=int(answers["signature"].nunique()),
        repeats=int(answers["repeat"].nunique()),
        eps=eps,
        known=np.array(known, dtype=np.int64),
        possible=np.array(possible, dtype=np.int64),
        instances=instances,
        forged=forged,
        impossible=impossible,
        censored=len(answers) - forged - impossible,
        pending=instances - len(answers),
        seconds=float(answers["seconds"].sum()),
    )


def _total(curves: Sequence[SizeCurve], name: str) -> int:
    return sum(getattr(curve, name) for curve in curves)


def headline(findings: Findings, curves: Sequence[SizeCurve]) -> str:
    """Return how many instances can be forged, and how many signatures reach the true size."""
    if not curves:
        return "Smallest distances: no instance has an answer."
    known = np.concatenate([curve.known[:, -1] / (curve.trigger_size or np.inf) for curve in curves])
    parities = [curve.parity for curve in curves if curve.parity is not None]
    first = f", from eps {min(parities):.3g} on" if parities else ""
    return (
        f"Smallest distances: {_total(curves, 'forged'):,} of "
        f"{counted(_total(curves, 'instances'), 'instance')} can be forged within eps "
        f"{cap_of(findings):g}, {_total(curves, 'undecided'):,} undecided; a signature's set reaches "
        f"{across(known, percent_of)} of the true one's size, and its whole size for "
        f"{times(int((known >= 1).sum()), len(known), 'signature')}{first}."
    )


def caveats(curves: Sequence[SizeCurve]) -> Iterator[str]:
    """Yield that searches have no decision, if some have none."""
    if undecided := _total(curves, "undecided"):
        yield (
            f"{undecided:,} of {counted(_total(curves, 'instances'), 'search', 'searches')} for a smallest "
            "distance have no decision: sizes of forged sets are lower limits there."
        )


def figures(findings: Findings, curves: Sequence[SizeCurve]) -> Iterator[Figure]:
    """Yield step curves of forged set size over eps, a few configurations in each figure."""
    limits = [attack.timeout_s for attack in findings.attacks("forgery") if attack.eps == "minimal"]
    for start in range(0, len(curves), PANELS):
        some = curves[start : start + PANELS]
        undecided, instances = _total(some, "undecided"), _total(some, "instances")
        censored = (
            f"{undecided:,} of {instances:,} instances have no decision (a limit, or no answer yet): curves "
            "count them from where a witness is known, if any, and are lower limits; the dotted line is the "
            "mean if all of them could be forged at once."
            if undecided
            else f"All {instances:,} instances are decided: nothing is censored."
        )
        yield figure(
            "distances",
            f"-{start // PANELS + 1}" if len(curves) > PANELS else "",
            partial(distances_chart, some),
            findings.origin(findings.frame("distances")),
            curves="; ".join(_in_words(curve) for curve in some),
            cap=cap_of(findings),
            signatures=counted(max(one.signatures for one in some), "signature"),
            repeats=counted(max(one.repeats for one in some), "repeat"),
            limit=ranged(limits) if limits else "no",
            censored=censored,
        )


def _in_words(curve: SizeCurve) -> str:
    known, possible = curve.known[:, -1], curve.possible[:, -1]
    size = "" if curve.trigger_size is None else f", true trigger set {curve.trigger_size}"
    open_ended = (
        f", mean {number(float(possible.mean()))} if all undecided were forged" if curve.undecided else ""
    )
    return (
        f"{configuration(curve)}, {curve.engine}: at eps {curve.eps[-1]:g} mean "
        f"{number(float(known.mean()))}, maximum {known.max()}{size}{open_ended}"
    )


def distances_chart(curves: Sequence[SizeCurve]) -> Chart:
    """Draw mean, maximum and band over signatures as step curves, a panel for each curve."""
    several = len({curve.engine for curve in curves}) > 1
    titled = [
        (f"{configuration(curve)}{f'; {curve.engine}' if several else ''}", _drawn(curve)) for curve in curves
    ]

    def draw(part: pd.DataFrame) -> Chart:
        return sizes_panel(part, part["true_size"].iloc[0], alt.Axis(tickMinStep=1), is_step=True)

    return panels(titled, draw, height=230)


def sizes_panel(lines: pd.DataFrame, true_size: float, axis: alt.Axis, *, is_step: bool, **y: Any) -> Chart:
    """Draw forged set sizes over eps.

    Parameters
    ----------
    lines
        Of `size_line`, one below the other; those that are not of `LINES` are single signatures.
    true_size
        Of the true trigger set; NaN while it is not known.
    axis, **y
        Options of the vertical axis.
    """
    x = alt.X("eps:Q", title="eps (largest change of any feature)", scale=alt.Scale(zero=False, nice=False))
    vertical = {"title": "Forged set size (instances)", "axis": axis} | y
    shown = lines["line"].isin(LINES)
    return alt.layer(
        faint(lines[~shown], x, vertical, ["line"], alt.value(FAINT), is_step=is_step),
        series(lines[shown], x, vertical, LINES, field="line", ends="band", is_step=is_step),
        *([] if pd.isna(true_size) else [rule(y=float(true_size))]),
    )


def size_line(
    name: str, eps: Any, middle: Any, low: Any = np.nan, high: Any = np.nan, *, n: Any = None
) -> pd.DataFrame:
    """Return a line of `sizes_panel`, with a band if it has ends; `n` is its number of signatures."""
    line = pd.DataFrame({"line": name, "eps": eps, "middle": middle, "low": low, "high": high, "n": n})
    line = line.astype({"middle": float, "low": float, "high": float})
    return line.assign(tooltip=[_tooltip(row) for row in line.itertuples()])


def _tooltip(row: Any) -> str:
    n = None if row.n is None or pd.isna(row.n) else int(row.n)
    quantiles = f"{percent_of(LOW)} to {percent_of(HIGH)} of signatures"
    size = sampled("forged set", row.middle, (row.low, row.high), what=quantiles, n=n, thing="signature")
    return f"eps {row.eps:.3g}, {row.line}: {size}"


def _drawn(curve: SizeCurve) -> pd.DataFrame:
    """Return all lines of a curve's panel."""
    mean, several = curve.known.mean(axis=0), len(curve.known) > 1
    band = np.quantile(curve.known, [LOW, HIGH], axis=0) if several else ()
    n = len(curve.known)
    lines = [size_line("mean", curve.eps, mean, *band, n=n)]
    if several:
        lines.append(size_line("maximum", curve.eps, curve.known.max(axis=0), n=n))
    if 1 < len(curve.known) <= _MAX_LINES:
        lines += [size_line(f"signature {place}", curve.eps, one) for place, one in enumerate(curve.known)]
    if curve.undecided:
        lines.append(size_line(LINES[2], curve.eps, curve.possible.mean(axis=0), n=n))
    return pd.concat(lines).assign(true_size=np.nan if curve.trigger_size is None else curve.trigger_size)


def tables(curves: Sequence[SizeCurve], cap: float) -> Iterator[Table]:
    """Yield the outcomes of the searches, and the sizes of forged sets at some distances."""
    if not curves:
        return
    searches = pd.DataFrame([vars(curve) | {"parity": curve.parity} for curve in curves])
    yield make_table("distances-table", searches)
    places = sorted({*(at for at in PLACES if at < cap), cap})
    rows = pd.concat(_sizes(curve, eps) for curve in curves for eps in places)
    found = summarise(
        rows,
        ["engine", "eps"],
        ["known", "possible"],
        trigger_size=("trigger_size", "first"),
        low=("known", lambda sizes: sizes.quantile(LOW)),
        high=("known", lambda sizes: sizes.quantile(HIGH)),
    )
    shares = [found[f"known_{what}"] / found["trigger_size"] for what in ("mean", "max")]
    yield make_table("sizes-table", found.assign(mean_share=shares[0], share=shares[1]))


def _sizes(curve: SizeCurve, eps: float) -> pd.DataFrame:
    """Return the sizes at some distance, a row for each signature."""
    known, possible = curve.at(eps)
    place = {name: getattr(curve, name) for name in (*CONFIGURATION, "engine")}
    size = np.nan if curve.trigger_size is None else float(curve.trigger_size)
    return pd.DataFrame({"known": known, "possible": possible}).assign(**place, eps=eps, trigger_size=size)
