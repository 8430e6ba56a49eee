"""Job kind `detection`."""

from __future__ import annotations

from dataclasses import asdict

from wm.attacks.detection import detect
from workers.context import Context
from workers.handlers.inputs import read_claim, read_forest
from workers.jobs import DetectionParameters, DetectionResult, DetectionRow


def run(parameters: DetectionParameters, context: Context) -> DetectionResult:
    """Guess the signature from the trees' shapes and score the guesses."""
    results = detect(read_forest(context), read_claim(context).bits)
    return DetectionResult(rows=tuple(DetectionRow(**asdict(result)) for result in results))
