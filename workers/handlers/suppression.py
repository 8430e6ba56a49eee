"""Job kind `suppression`."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from wm.attacks.suppression import suppress
from workers.context import Context
from workers.handlers.inputs import read_claim, read_forest, read_split
from workers.jobs import SuppressionParameters, SuppressionResult, SuppressionRow


def run(parameters: SuppressionParameters, context: Context) -> SuppressionResult:
    """Spot the trigger rows in a stream of trigger and test rows."""
    ordinary = read_split(context).X_test
    triggers = read_claim(context).trigger_set.X
    stream = np.concatenate([ordinary, triggers])
    is_trigger = np.arange(len(stream)) >= len(ordinary)
    results = suppress(read_forest(context).vote_codes(stream), is_trigger)
    return SuppressionResult(rows=tuple(SuppressionRow(**asdict(result)) for result in results))
