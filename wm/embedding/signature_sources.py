"""A forest's signature: given, derived from the owner's key, or drawn.

All raise `SignatureError` for a signature that does not fit the forest: its length is not the number of
trees, or it has no zeros or no ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wm.errors import SignatureError
from wm.signature import Signature, keyed_signature, random_signature


def given_signature(given: Signature | str | Sequence[Any], n_trees: int) -> Signature:
    """Read a signature; raise `SignatureError` also for values that are not bits."""
    return _checked(given if isinstance(given, Signature) else Signature.of(given), n_trees)


def derived_signature(
    key: bytes | str | PathLike[str], model_id: str, n_trees: int, ones_share: float
) -> Signature:
    """Derive the signature of a model identifier from the owner's key, given as bytes or as a file.

    Raises
    ------
    SignatureError
        A file that cannot be read or a short key.
    """
    secret = key if isinstance(key, bytes) else _key_in(Path(key))
    return _checked(keyed_signature(n_trees, ones_share, secret, model_id), n_trees)


def drawn_signature(rng: np.random.Generator, n_trees: int, ones_share: float) -> Signature:
    """Draw a signature from a stream of the owner."""
    return _checked(random_signature(n_trees, ones_share, rng), n_trees)


def _checked(signature: Signature, n_trees: int) -> Signature:
    """Refuse a signature of another length than the number of trees, or without zeros or ones."""
    if len(signature) != n_trees or not 0 < signature.ones < len(signature):
        raise SignatureError(
            f"a signature of {len(signature)} bits with {signature.ones} ones does not fit {n_trees} trees: "
            "one bit for each is needed, zeros and ones among them"
        )
    return signature


def _key_in(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as reason:
        raise SignatureError(f"{file}: the owner's key cannot be read ({reason.strerror})") from reason
