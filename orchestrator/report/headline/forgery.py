"""What forgery found: prescribed signatures at given distances and at any, and freely chosen ones."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET, across, percent_of, times
from orchestrator.report.summaries import ForgerySummary, SizeCurve, Spread, forgery_summaries, size_curves
from orchestrator.report.wording import counted, listed, number, percent


def forgery(findings: Findings) -> str:
    """Tell of forgery of prescribed signatures, at given distances and at any."""
    summaries = sorted(forgery_summaries(findings.forgery), key=lambda row: row.engine)
    texts = [
        _forgery_of(engine, list(rows)) for engine, rows in groupby(summaries, key=lambda row: row.engine)
    ]
    if not findings.least_forgery.empty:
        texts.append(_at_any_distance(findings))
    return " ".join(texts)


def _forgery_of(engine: str, rows: list[ForgerySummary]) -> str:
    begun = [(row, row.forged) for row in rows if row.forged is not None]
    if not begun:
        return f"Engine {engine}: no query has an outcome."
    worst, forged = max(begun, key=lambda pair: (_share_of_true(pair[0], pair[1].most), -pair[0].eps))
    per_eps = [f"{number(spread.mean)} at eps {row.eps:g}" for row, spread in _largest_of_each_eps(begun)]
    undecided, queries = sum(row.undecided for row in rows), sum(row.instances for row in rows)
    share = _share_of_true(worst, forged.most)
    many = len({row.configuration for row in rows}) > 1
    of_true = "" if not worst.trigger_size else f" of {worst.trigger_size} ({percent(share, 0)})"
    return (
        f"Engine {engine}: the most successful of "
        f"{counted(worst.signatures * worst.repeats, 'signature')} forges "
        f"{forged.most:.0f}{of_true}, first at eps {worst.eps:g}; mean set size "
        f"{'(largest over configurations) ' if many else ''}{listed(per_eps)}; "
        f"{undecided:,} of {counted(queries, 'query', 'queries')} undecided."
    )


def _share_of_true(row: ForgerySummary, size: float) -> float:
    return size / row.trigger_size if row.trigger_size else 0.0


def _largest_of_each_eps(begun: list[tuple[ForgerySummary, Spread]]) -> list[tuple[ForgerySummary, Spread]]:
    """Return for each eps the configuration with the largest mean."""
    largest: dict[float, tuple[ForgerySummary, Spread]] = {}
    for row, spread in begun:
        if row.eps not in largest or spread.mean > largest[row.eps][1].mean:
            largest[row.eps] = (row, spread)
    return [largest[eps] for eps in sorted(largest)]


def _at_any_distance(findings: Findings) -> str:
    curves = size_curves(findings.distances, findings.least_forgery, findings.cap)
    if not curves:
        return "Least distances: no instance has an answer."
    known = np.concatenate([_over_true_size(curve, curve.known[:, -1]) for curve in curves])
    reach = int((known >= 1).sum())
    within = f"within eps {findings.cap:g}"
    instances, undecided = (
        sum(getattr(curve, name) for curve in curves) for name in ("instances", "undecided")
    )
    forged = sum(curve.forged for curve in curves)
    parities = [parity for curve in curves if (parity := curve.parity()) is not None]
    first = f", from eps {min(parities):.3g} on" if parities else ""
    return (
        f"Least distances: {forged:,} of {counted(instances, 'instance')} can be forged {within}, "
        f"{undecided:,} undecided; a signature's set reaches {across(Spread.of(known), percent_of)} of the "
        f"true one's size, and its whole size for {times(reach, len(known), 'signature')}{first}."
    )


def _over_true_size(curve: SizeCurve, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    return sizes / curve.trigger_size if curve.trigger_size else np.zeros(len(sizes))


def free_forgery(findings: Findings) -> str:
    """Tell how large freely forged sets get, and what stops them."""
    frame = findings.free_forgery
    if frame.empty:
        return NOTHING_YET
    made = frame[frame["size"] > 0]
    if made.empty:
        return f"None of {counted(len(frame), 'set')} has any row: nothing was forged."
    largest = made.iloc[int(made["size_over_k"].to_numpy(dtype=np.float64).argmax())]
    standing, late = made[made["stopped_by"] == ""], made[made["stopped_but_for_commitment"] == ""]
    kinds = listed(dict.fromkeys(late["method"]))
    only = (
        f"the commitment alone stops {len(late) - len(standing)} of them ({kinds})"
        if len(late) > len(standing)
        else "none depends on the commitment alone"
    )
    return (
        f"Of {counted(len(frame), 'set')} of {counted(frame['method'].nunique(), 'kind')}, {len(made)} have "
        f"rows; the largest ({largest['method']}) is {largest['size_over_k']:.2f} times the true one. "
        f"Verification refuses {len(made) - len(standing)} of these {len(made)}; {only}."
    )
