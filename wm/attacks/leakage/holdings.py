"""Secrets that a model object holds beside its trees: claims, signatures, private keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wm.attacks.leakage.findings import Finding, Severity
from wm.claims.claim import Claim
from wm.claims.opened import OpenedClaim
from wm.claims.pooled import PooledClaim
from wm.embedding.claimed import OwnedForest
from wm.signature import Signature

_SECRETS = (Claim, PooledClaim, OpenedClaim, OwnedForest, Signature, Ed25519PrivateKey)

_MOST = 100_000
"""Objects that are looked at; a model of thousands of trees has fewer."""


def holding_findings(model: Any) -> Iterator[Finding]:
    """Report each claim, signature or key in an object's attributes, wherever it lies in them."""
    for path, secret in _secrets(model):
        yield Finding(
            "secret-inside",
            Severity.CRITICAL,
            f"the object holds a {type(secret).__name__} as {path}: whoever loads the file has it",
            "release the forest alone, or an export of it (wm.formats.export.save_model)",
        )


def _secrets(model: Any) -> Iterator[tuple[str, Any]]:
    open_: list[tuple[str, Any]] = [("model", model)]
    seen: set[int] = set()
    while open_ and len(seen) < _MOST:
        path, each = open_.pop()
        if id(each) in seen or isinstance(each, np.ndarray | str | bytes | int | float | None):
            continue
        seen.add(id(each))
        if isinstance(each, _SECRETS):
            yield path, each
            continue
        open_ += [(f"{path}{step}", part) for step, part in _parts(each)]


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r:.40}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{place}]", part) for place, part in enumerate(value))
    else:
        yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())
