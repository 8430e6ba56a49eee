"""Detection: reading the signature, or that there is one, off a bare forest; no metadata, no trigger set.

- `strategies`: the paper's two, on depth and leaves (Section 4.2.1), with their p-values;
- `shapes`: mean leaf depth, share of positive leaves, volume of leaves and of the positive region;
- `spectrum`: the leading direction of the votes, on sample rows or on points moved into leaves;
- `guesses`: scores of a guess up to complement, with exact permutation p-values;
- `presence`: whether a forest is watermarked at all, compared with honest forests of equal settings;
- `attack`: all of them on one forest; `rows`: its results.

May import `wm.forest`, `wm.signature`, `wm.statistics`, `wm.verification.tails` (exact subset sums) and
`wm.engines.encoding` (boxes).
"""

from wm.attacks.detection.attack import ATTACK, Options, SpectrumRow, run
from wm.attacks.detection.rows import Row
from wm.attacks.detection.strategies import Measure, Strategy, detect

__all__ = ["ATTACK", "Measure", "Options", "Row", "SpectrumRow", "Strategy", "detect", "run"]
