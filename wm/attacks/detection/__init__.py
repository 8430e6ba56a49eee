"""Detection: reading the signature, or that there is one, off a bare forest; no metadata, no trigger set.

- `strategies`: the paper's two, on depth and leaves (Section 4.2.1), with their p-values;
- `shapes`: mean leaf depth, share of positive leaves, volume of leaves and of the positive region;
- `spectrum`: the leading direction of the votes, on sample rows or on points moved into leaves;
- `guesses`: scores of a guess up to complement, with exact permutation p-values;
- `presence`: whether a forest is watermarked at all, compared with honest forests of equal settings;
- `attack`: all of them on one forest; `rows`: its results.

May import `wm.forest`, `wm.signature`, `wm.statistics`, `wm.verification.evidence` (exact subset sums) and
`wm.engines.encoding` (boxes).
"""

from wm.attacks.detection.attack import ATTACK, Options, SpectrumRow, run
from wm.attacks.detection.guesses import score_guess, score_values
from wm.attacks.detection.presence import (
    PresenceResult,
    PresenceStatistics,
    presence_statistics,
    presence_test,
)
from wm.attacks.detection.rows import Row
from wm.attacks.detection.shapes import Shape, detect_by_shape, measure_shape
from wm.attacks.detection.spectrum import Spectrum, leaf_probes, vote_spectrum
from wm.attacks.detection.strategies import (
    UNDECIDED,
    Measure,
    Strategy,
    detect,
    exact_p_value,
    guess_signature,
    measure_trees,
)

__all__ = [
    "ATTACK",
    "UNDECIDED",
    "Measure",
    "Options",
    "PresenceResult",
    "PresenceStatistics",
    "Row",
    "Shape",
    "Spectrum",
    "SpectrumRow",
    "Strategy",
    "detect",
    "detect_by_shape",
    "exact_p_value",
    "guess_signature",
    "leaf_probes",
    "measure_shape",
    "measure_trees",
    "presence_statistics",
    "presence_test",
    "run",
    "score_guess",
    "score_values",
    "vote_spectrum",
]
