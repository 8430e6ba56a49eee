"""Suppression: spotting the judge's trigger queries among ordinary ones, and answering them otherwise.

- `scores`: disagreement and repeats, ROC and TPR at 1% FPR of any score;
- `shadow`: a classifier trained on forests that the attacker watermarked itself;
- `recovery`: the signature from spotted queries, and how many trigger queries that takes;
- `filtering`: the majority's answer for spotted queries, the evidence that is left, and the cost to users;
- `attack`: all of them on one forest.

May import `wm.attacks.divisions`, `wm.attacks.detection`, `wm.attacks.populations`, `wm.embedding` and what
these may.
"""

from wm.attacks.suppression.attack import ATTACK, Options, Row, run
from wm.attacks.suppression.filtering import Filtered, filter_and_verify, filtered_codes
from wm.attacks.suppression.recovery import BudgetPoint, budget_curve, recover_signature
from wm.attacks.suppression.scores import (
    FALSE_POSITIVE_LIMIT,
    METHODS,
    SpotScore,
    evaluate,
    threshold_at_limit,
)
from wm.attacks.suppression.shadow import ShadowPlan, Spotter, train_spotter

__all__ = [
    "ATTACK",
    "FALSE_POSITIVE_LIMIT",
    "METHODS",
    "BudgetPoint",
    "Filtered",
    "Options",
    "Row",
    "ShadowPlan",
    "SpotScore",
    "Spotter",
    "budget_curve",
    "evaluate",
    "filter_and_verify",
    "filtered_codes",
    "recover_signature",
    "run",
    "threshold_at_limit",
    "train_spotter",
]
