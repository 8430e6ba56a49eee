"""The signatures of a model's forests: given, derived from the owner's key, or drawn.

All raise `SignatureError` for a signature that does not fit the forest: its length is not the number of
trees, or it has no zeros or no ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from wm import streams
from wm.errors import SignatureError
from wm.signature import Signature, keyed_signature, random_signature
from wm.streams import Role


def given_signatures(given: Signature | str | Sequence[Any], count: int, n_trees: int) -> list[Signature]:
    """Read one signature (for one forest), or a sequence of `count` of them.

    Raises
    ------
    SignatureError
        Another number of signatures or values that are not bits.
    """
    if count == 1:
        return [_checked(_read(given), n_trees)]
    if isinstance(given, str | Signature) or len(given) != count:
        raise SignatureError(f"{count} classes need a sequence of as many signatures")
    return [_checked(_read(one), n_trees) for one in given]


def derived_signatures(
    key: bytes | str | PathLike[str], model_ids: Sequence[str], n_trees: int, ones_share: float
) -> list[Signature]:
    """Derive a signature for each model identifier from the owner's key, given as bytes or as a file.

    Raises
    ------
    SignatureError
        A file that cannot be read or a short key.
    """
    secret = key if isinstance(key, bytes) else _key_in(Path(key))
    return [
        _checked(keyed_signature(n_trees, ones_share, secret, model_id), n_trees) for model_id in model_ids
    ]


def drawn_signatures(seed: int, count: int, n_trees: int, ones_share: float) -> list[Signature]:
    """Draw each signature from a stream of the owner."""
    rngs = (streams.generator(seed, Role.OWNER_SIGNATURE, number) for number in range(count))
    return [_checked(random_signature(n_trees, ones_share, rng), n_trees) for rng in rngs]


def _read(given: Signature | str | Sequence[int]) -> Signature:
    return given if isinstance(given, Signature) else Signature.of(given)


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
