"""The science: watermark a forest, verify it, attack it.

The public names below are imported when they are first used, so that ``import wm`` costs next to nothing:

>>> import wm
>>> wm.Signature.of("0110").ones
2
>>> "portfolio" in wm.engines.names()
True

`embed`, `verify` and `audit` are the three calls of an owner and a judge; `WatermarkedForestClassifier` and
`WatermarkedBoostingClassifier` do the same as scikit-learn estimators. `attacks` and `engines` break
watermarks, `hardness` is Theorem 1.

Packages: `forest` (the only model form that everything else sees), `streams` and `signature` (named
randomness), `datasets` and `tuning` (what a forest is trained on and how), `embedding` (making the
watermark), `interface` and `exporting` (raw rows for a released model, other libraries), `verification` and
`claims` (proving it), `attacks` and `engines` (breaking it), `isolation` (child processes that can be
killed).

It knows nothing of queues, databases or the command line, and imports neither `workers` nor
`orchestrator`. The words used here are fixed in docs/glossary.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wm import attacks, engines
    from wm.api import audit, embed, verify
    from wm.attacks import hardness
    from wm.embedding.boosted.estimator import WatermarkedBoostingClassifier
    from wm.embedding.estimator import WatermarkedForestClassifier
    from wm.forest import Forest
    from wm.signature import Signature

__version__ = "0.1.0"

__all__ = [
    "Forest",
    "Signature",
    "WatermarkedBoostingClassifier",
    "WatermarkedForestClassifier",
    "__version__",
    "attacks",
    "audit",
    "embed",
    "engines",
    "hardness",
    "verify",
]

_MODULES = {"attacks": "wm.attacks", "engines": "wm.engines", "hardness": "wm.attacks.hardness"}
_HOMES = {
    "Forest": "wm.forest",
    "Signature": "wm.signature",
    "WatermarkedBoostingClassifier": "wm.embedding.boosted.estimator",
    "WatermarkedForestClassifier": "wm.embedding.estimator",
    "audit": "wm.api",
    "embed": "wm.api",
    "verify": "wm.api",
}
"""Public name -> module that holds it."""


if not TYPE_CHECKING:  # or else type checkers would believe in any name

    def __getattr__(name: str) -> Any:
        """Import a public name on its first use (PEP 562)."""
        if name in _MODULES:
            found = importlib.import_module(_MODULES[name])
        elif name in _HOMES:
            found = getattr(importlib.import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
