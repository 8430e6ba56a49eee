"""Free forgery: the claimant chooses the signature after seeing the model, or has read the true one off it.

- `methods`: sets of natural rows, clones, and rows that `local_search` forges without a solver;
- `attack`: every method on one forest, each set judged.
"""

from wm.attacks.free_forgery.attack import ATTACK, Options, Row, run

__all__ = ["ATTACK", "Options", "Row", "run"]
