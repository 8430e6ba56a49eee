"""The file of a small campaign on breast-cancer: the cheap attacks, and forgery in some batches."""

from __future__ import annotations

from collections.abc import Sequence

_FILE = """\
name = "{name}"
seed = 1

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 12
max_depth = 4

[embedding]
trigger_share = 0.02

[[attack]]
kind = "detection"

[[attack]]
kind = "suppression"

[[attack]]
kind = "forgery"
engine = [{engines}]
signatures = {signatures}
eps = [0.3, 0.7]
batch = {batch}
"""

BATCH = 50
"""Queries of a forgery job."""


def small_campaign(
    *,
    name: str = "small",
    engines: Sequence[str] = ("sat", "z3"),
    signatures: int = 2,
    instances: int | None = None,
    timeout_s: float | None = None,
) -> str:
    """Return the text of the campaign file; what is None is left to its default."""
    text = _FILE.format(
        name=name,
        engines=", ".join(f'"{engine}"' for engine in engines),
        signatures=signatures,
        batch=BATCH,
    )
    options = {"instances": instances, "timeout_s": timeout_s}
    return text + "".join(f"{key} = {value}\n" for key, value in options.items() if value is not None)
