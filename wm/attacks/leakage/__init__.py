"""Leakage: information in a model file beyond its predictions.

- `files`: the audit of a model file of any format; `inspection`: of trees that vote; `margins`: of trees that
  add margins; `holdings`: of a Python object's attributes;
- `findings`: the possible findings; `node_weights`: weights of nodes;
- `attack`: the audit of a watermarked forest in each of its forms, scored against the claim.
"""

from wm.attacks.leakage.attack import ATTACK, Options, Row, run
from wm.attacks.leakage.findings import Finding, Severity
from wm.attacks.leakage.inspection import LeakageReport, inspect

__all__ = ["ATTACK", "Finding", "LeakageReport", "Options", "Row", "Severity", "inspect", "run"]
