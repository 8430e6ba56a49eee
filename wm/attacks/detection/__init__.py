"""Detection: reading the signature, or that there is one, off a bare forest; no metadata, no trigger set.

- `strategies`: the paper's two, on depth and leaves (Section 4.2.1), each with its p-values;
- `shapes`: mean leaf depth, share of positive leaves, volume of leaves and of the positive region;
- `spectrum`: the leading direction of the votes, on sample rows or on points clipped into leaves;
- `guesses`: how good a guess is up to complement, with exact permutation p-values;
- `presence`: whether a forest is watermarked at all, against honest ones of equal settings;
- `attack`: all of them on one forest, scored.

May import `wm.forest`, `wm.signature`, `wm.statistics`, `wm.verification.evidence` (exact subset sums) and
`wm.engines.encoding` (boxes).
"""

from wm.attacks.detection.attack import ATTACK, Options, Row, SpectrumRow, run
from wm.attacks.detection.guesses import GuessScore, ValueScore, score_guess, score_values
from wm.attacks.detection.presence import (
    PresenceResult,
    PresenceStatistics,
    presence_statistics,
    presence_test,
)
from wm.attacks.detection.shapes import Shape, ShapeResult, detect_by_shape, measure_shape
from wm.attacks.detection.spectrum import (
    Mode,
    Spectrum,
    SpectrumResult,
    detect_by_spectrum,
    leaf_probes,
    split_at_median,
    vote_spectrum,
)
from wm.attacks.detection.strategies import (
    UNDECIDED,
    DetectionResult,
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
    "DetectionResult",
    "GuessScore",
    "Measure",
    "Mode",
    "Options",
    "PresenceResult",
    "PresenceStatistics",
    "Row",
    "Shape",
    "ShapeResult",
    "Spectrum",
    "SpectrumResult",
    "SpectrumRow",
    "Strategy",
    "ValueScore",
    "detect",
    "detect_by_shape",
    "detect_by_spectrum",
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
    "split_at_median",
    "vote_spectrum",
]
