"""Suppression: spotting the judge's trigger queries among ordinary ones, and answering them otherwise.

- `scores`: disagreement and repeats, ROC and TPR at 1% FPR of any score;
- `shadow`: a classifier trained on forests that the attacker watermarked itself;
- `recovery`: the signature from spotted queries, and how many trigger queries that takes;
- `filtering`: the majority's answer for spotted queries, what verification then says, and what it costs;
- `attack`: all of it on one forest.

May import `wm.attacks.divisions`, `wm.attacks.detection`, `wm.embedding` and what these may.
"""

from wm.attacks.divisions import disagreement, repeats
from wm.attacks.suppression.attack import ATTACK, Options, Row, run
from wm.attacks.suppression.filtering import FilterResult, filter_and_verify, filtered_codes
from wm.attacks.suppression.recovery import BudgetPoint, Spot, budget_curve, recover_signature, spot_by_votes
from wm.attacks.suppression.scores import (
    FALSE_POSITIVE_LIMIT,
    METHODS,
    SuppressionResult,
    evaluate,
    suppress,
    threshold_at_limit,
)
from wm.attacks.suppression.shadow import ShadowPlan, Spotter, train_spotter

__all__ = [
    "ATTACK",
    "FALSE_POSITIVE_LIMIT",
    "METHODS",
    "BudgetPoint",
    "FilterResult",
    "Options",
    "Row",
    "ShadowPlan",
    "Spot",
    "Spotter",
    "SuppressionResult",
    "budget_curve",
    "disagreement",
    "evaluate",
    "filter_and_verify",
    "filtered_codes",
    "recover_signature",
    "repeats",
    "run",
    "spot_by_votes",
    "suppress",
    "threshold_at_limit",
    "train_spotter",
]
