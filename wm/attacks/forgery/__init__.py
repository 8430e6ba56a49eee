"""Forgery of prescribed signatures (Section 4.2.2): a fake trigger set for a signature drawn at random.

- `forger`: the attacker's draws, and the engine that answers queries;
- `following`: answers at one distance that follow from those at another;
- `forged_sets`: scores of a forged trigger set, as a judge sees it;
- `meaning`: rules that keep whole numbers, one-hot groups and missing values;
- `attack`: the attack. In campaigns its queries are answered in batches, by jobs of their own kind.
"""

from wm.attacks.forgery.attack import ATTACK, BATCH, Minimal, Options, Row, run
from wm.attacks.forgery.forger import Forger, Target, attacker_instances, attacker_signature
from wm.engines import ForgeryQuery

__all__ = [
    "ATTACK",
    "BATCH",
    "Forger",
    "ForgeryQuery",
    "Minimal",
    "Options",
    "Row",
    "Target",
    "attacker_instances",
    "attacker_signature",
    "run",
]
