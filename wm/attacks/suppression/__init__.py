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
from wm.attacks.suppression.scores import FALSE_POSITIVE_LIMIT, METHODS

__all__ = ["ATTACK", "FALSE_POSITIVE_LIMIT", "METHODS", "Options", "Row", "run"]
