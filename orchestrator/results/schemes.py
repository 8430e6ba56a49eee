"""The scoreboard: what every attack of a campaign leaves of each scheme, in one table.

Derived from what the attacks have recorded; nothing here knows a scheme. A column that an attack does not
measure is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.results.columns import SCHEMES
from orchestrator.results.rows import accuracy, attack_rows
from orchestrator.store.campaigns import get_campaign
from orchestrator.store.database import Store
from wm.attacks.claims import RELEASED, RENAMED, TRUE
from wm.attacks.detection.rows import RANKING
from wm.embedding import scheme_of

_PLACE = ["scheme", "trigger_share", "ones_share"]

_MEASURED = ["accuracy_change", "log10_p", "auc", "tpr_at_1pct_fpr", "bits", "null_bits"]

NO_ATTACK = "none"
"""Name in `attack` of the forest as released."""


def scoreboard(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the scoreboard of a campaign: `SCHEMES`; schemes and attacks as they come in the plan."""
    found = [part(store, campaign_id) for part in _PARTS]
    rows = pd.concat([part for part in found if not part.empty] or found)
    rows = rows.reindex(columns=[*_PLACE, "repeat", "attack", "strength", *_MEASURED])
    rows = rows.astype(dict.fromkeys(["strength", *_MEASURED], float))
    keys = [*_PLACE, "attack", "strength"]
    board = rows.groupby(keys, sort=False, dropna=False).agg(
        accuracy_change=("accuracy_change", "mean"),
        log10_p=("log10_p", "median"),
        auc=("auc", "mean"),
        tpr_at_1pct_fpr=("tpr_at_1pct_fpr", "mean"),
        repeats=("repeat", "nunique"),
        log10_p_min=("log10_p", "min"),
        log10_p_max=("log10_p", "max"),
        accuracy_change_std=("accuracy_change", "std"),
        bits=("bits", "mean"),
        null_bits=("null_bits", "mean"),
    )
    named = board.reset_index()
    if named.empty:
        return named.reindex(columns=list(SCHEMES))
    dataset = get_campaign(store, campaign_id).parsed().dataset
    name = str(dataset.name or Path(str(dataset.path)).name)
    return named.assign(scheme=_names(named), dataset=name)[list(SCHEMES)]


def _names(board: pd.DataFrame) -> list[str]:
    """Return the name of each row's scheme, with the shares where it has several."""
    points = board[_PLACE].drop_duplicates()
    several = set(points.loc[points.duplicated("scheme"), "scheme"])
    return [
        f"{row.scheme}, trigger share {row.trigger_share:.3g}, ones share {row.ones_share:.3g}"
        if row.scheme in several
        else str(row.scheme)
        for row in board.itertuples()
    ]


def _unmodified(store: Store, campaign_id: int) -> pd.DataFrame:
    frame = accuracy(store, campaign_id)
    change = frame["accuracy_watermarked"] - frame["accuracy_standard"]
    return frame.assign(attack=NO_ATTACK, accuracy_change=change)


def _modifications(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the best of the evidence that each row holds (votes, vote shares), corrected for the choice."""
    frame = attack_rows(store, campaign_id, "modification")
    held = frame.filter(regex="^log10_p").astype(float)
    better = held.min(axis=1) + np.log10(held.notna().sum(axis=1))
    return frame.assign(attack="modification: " + frame["modification"], log10_p=better.clip(upper=0.0))


def _suppression(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the evidence after the filter, which changes no label; none of schemes without trigger rows."""
    frame = attack_rows(store, campaign_id, "suppression")
    has_rows = frame["scheme"].map(lambda name: scheme_of(name).marks_rows).astype(bool)
    return frame.assign(
        attack="suppression: " + frame["method"],
        accuracy_change=0.0,
        log10_p=frame["log10_p_after"].where(has_rows),
    )


def _detection(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the rankings of the trees by their bits."""
    frame = attack_rows(store, campaign_id, "detection")
    rankings = frame[frame["strategy"] == RANKING]
    return rankings.assign(attack="detection: " + rankings["measure"])


def _presence(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the place of each watermarked forest among the honest ones.

    A p-value is (1 + honest forests that deviate at least as much) / (1 + honest forests), so that it gives
    the share of the honest ones that deviate less, whose mean over watermarked forests is the area under the
    curve. Found at 1% false alarms is a forest that no more than 1% of the honest ones reach.
    """
    frame = attack_rows(store, campaign_id, "detection")
    tests = frame[frame["measure"] == "presence"]
    honest = tests["points"].astype(float)
    reach = np.round(tests["p_value"].astype(float) * (honest + 1) - 1) / honest
    found = (reach <= 0.01).astype(float)
    return tests.assign(attack="detection: presence", auc=1.0 - reach, tpr_at_1pct_fpr=found)


def _claims(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the evasions of a claim, each judged by each kind of answers as `wm verify` does."""
    frame = attack_rows(store, campaign_id, "claims")
    # Results of an older version have no false claims, and do not say so.
    is_true = frame["claim"].isna() | (frame["claim"] == TRUE)
    evasions = frame[is_true & (frame["suspect"] != "honest")]
    kept = evasions["suspect"] == RELEASED
    keys = [*_PLACE, "repeat", "answers"]
    before = evasions[kept].set_index(keys)["accuracy"].rename("before")
    both = evasions.join(before, on=keys)
    return both.assign(
        attack=evasion(both["suspect"], both["answers"]),
        accuracy_change=(both["accuracy"] - both["before"]).mask(both["suspect"].isin(RENAMED), 0.0),
    )


def evasion(suspect: Any, answers: Any) -> Any:
    """Return the name in `attack` of an evasion judged by a kind of answers, or those of columns of them."""
    return "claims: " + suspect + ", by " + answers


_PARTS: tuple[Callable[[Store, int], pd.DataFrame], ...] = (
    _unmodified,
    _detection,
    _presence,
    _suppression,
    _modifications,
    _claims,
)


def cheapest(board: pd.DataFrame, losses: Sequence[float]) -> pd.DataFrame:
    """Return what each attack leaves to a thief who loses no more than some accuracy.

    Parameters
    ----------
    board
        As `scoreboard` returns it.
    losses
        Accuracy that may be lost, in [0, 1].

    Returns
    -------
    DataFrame
        `scheme`, `dataset`, `attack`, `loss`, and `log10_p`: the largest of the strengths that cost no more.
        No row for a loss at which no strength was tried.
    """
    measured = board[["log10_p", "accuracy_change"]].notna().all(axis=1)
    is_attack = (board["attack"] != NO_ATTACK) & ~board["attack"].str.startswith(evasion(RELEASED, ""))
    tried = board[measured & is_attack]
    # Rounding of a mean must not move a strength beyond the loss that it has.
    within = [tried[tried["accuracy_change"] >= -loss - 1e-9].assign(loss=loss) for loss in losses]
    keys = ["scheme", "dataset", "attack", "loss"]
    return pd.concat(within).groupby(keys, sort=False)["log10_p"].max().reset_index()
