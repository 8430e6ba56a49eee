"""Calibration: count how often each p-value is small for false claims.

- `p_values`: every p-value of one false claim, and rates with exact intervals;
- `attack`: the attack, part by part over a population of forests.
"""

from wm.attacks.calibration.attack import ATTACK, Options, Row, run
from wm.attacks.calibration.p_values import LEVELS, Rate, calibrate

__all__ = ["ATTACK", "LEVELS", "Options", "Rate", "Row", "calibrate", "run"]
