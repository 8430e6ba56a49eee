"""What detection read off the bare forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET, across, percent_of, times
from orchestrator.report.summaries import Spread
from orchestrator.report.summaries.detection import PRESENCE, RANKING, SPLIT
from orchestrator.report.wording import counted, p_value

_LEVEL = 0.05


def detection(findings: Findings) -> str:
    """Tell of the best guesses, corrected for their number, and whether the forests stand out."""
    parts = (
        (findings.detection, _strategies),
        (findings.guesses, _guesses),
        (findings.presence, _presence),
    )
    return " ".join(tell(frame) for frame, tell in parts if not frame.empty) or NOTHING_YET


def _best(frame: pd.DataFrame) -> pd.Series[Any]:
    return frame.iloc[int(np.argmin(frame["p_value_exact"].to_numpy(dtype=np.float64)))]


def _corrected(best: pd.Series[Any], tried: int) -> str:
    return p_value(min(1.0, tried * float(best["p_value_exact"])))


def _strategies(frame: pd.DataFrame) -> str:
    best, tried = _best(frame), len(frame)
    bits = sum(int(best[name]) for name in ("correct", "wrong", "uncertain"))
    return (
        f"The most telling guess ({best['measure']}, strategy {best['strategy']}) reads {best['correct']} of "
        f"{bits} bits right, {best['wrong']} wrong and leaves {best['uncertain']} open: p = "
        f"{p_value(float(best['p_value']))}, exact {p_value(float(best['p_value_exact']))}. It is "
        f"the best of {tried} guesses; corrected for that (Bonferroni), p = {_corrected(best, tried)}."
    )


def _guesses(frame: pd.DataFrame) -> str:
    best, tried = _best(frame), len(frame)
    own = frame[frame["measure"] == best["measure"]]
    split, ranking = own[own["strategy"] == SPLIT], own[own["strategy"] == RANKING]
    return (
        f"Beyond the paper, {best['measure']} tells most: it guesses "
        f"{across(Spread.of(split['bits']), percent_of)} of the bits up to complement, where unrelated "
        f"guesses get {percent_of(float(split['null_bits'].mean()))}, and ranks the trees with AUC "
        f"{across(Spread.of(ranking['auc']), '{:.3f}'.format)} in {counted(len(split), 'forest')}; its least "
        f"p, corrected for {tried} tests (Bonferroni), is {_corrected(best, tried)}."
    )


def _presence(frame: pd.DataFrame) -> str:
    overall = frame[frame["measure"] == PRESENCE]
    honest = int(overall["points"].min())
    p = Spread.of(overall["p_value"])
    found = int((overall["p_value"] <= _LEVEL * (1 + 1e-9)).sum())
    return (
        f"Presence: against {honest:,} honest forests, p \N{LESS-THAN OR EQUAL TO} {_LEVEL:g} in "
        f"{times(found, len(overall), 'watermarked forest')}, all statistics together (p = "
        f"{across(p, p_value, 'median')}; so few honest forests allow none below "
        f"{p_value(1 / (honest + 1))})."
    )
