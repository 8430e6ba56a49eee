"""Modification: changes of a stolen forest, and how much of the watermark they leave.

- `ensemble`: shuffle, drop, replace, regrow trees;
- `pruning`: truncate, cost-complexity, reduced-error;
- `splits`: noise on thresholds, coarser thresholds, flipped leaves;
- `distillation`: students of votes or labels; majority collapse and hedging, wrappers of votes;
- `evaluation`: the registry, one or several in a row, and the score of the changed forest;
- `attack`: all of them over their strengths.

The paper leaves these to future work. Each is a pure function (forest, strength, thief's data, generator) ->
forest or wrapper. A new one is a function and a line in `evaluation.MODIFICATIONS`.
"""

from wm.attacks.modification.attack import ATTACK, Options, run
from wm.attacks.modification.evaluation import MODIFICATIONS, STRENGTHS, Row

__all__ = ["ATTACK", "MODIFICATIONS", "STRENGTHS", "Options", "Row", "run"]
