"""The claim of protocol 3: a committed pool of rows, of which a beacon draws the trigger rows.

The owner commits to a header, a secret and N training rows with labels, by a Merkle tree whose leaves are
salted: every field that a verdict reads is in a leaf. Then a beacon's value appears, and `wm.claims.draw`
makes trigger rows and signature of it. The other rows of the pool are controls, of the same kind by
construction.

Hashed bytes (SHA-256 and HMAC-SHA256, u64 a little-endian integer of 8 bytes):

    nonce of a leaf  HMAC(salt, NAME), NAME being "header", "secret" or "row" || u64(i)
    header leaf      0x00 || "treeproof/header/v3" || 0x00 || canonical JSON of the header || nonce
    secret leaf      0x00 || "treeproof/secret/v3" || 0x00 || secret || nonce
    row leaf i       0x00 || "treeproof/row/v3"    || 0x00 || u64(i) || float32 values || label || nonce

The commitment is the root (RFC 6962) over header, secret and rows 0..N - 1, in this order. Canonical JSON is
ASCII text with sorted keys and without spaces; numbers as Python's `repr` writes them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, ValidationError, model_validator

from wm.claims.beacons.base import Receipt
from wm.claims.commitment import merkle_root, row_bytes, whole
from wm.claims.document import Document, Hash, first_error, named_errors, read_document
from wm.claims.draw import SECRET_BYTES
from wm.errors import ClaimError

MAX_CELLS = 2**26
"""Largest N x d of a pool, 256 MiB of float32: a judge must be able to read it."""


def _distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("names are given twice")
    return names


class MinMax(Document):
    """Scaling of raw rows to model input: (x - low) / span for each feature, 0 where span is 0.

    Attributes
    ----------
    low, span
        d numbers each; span at least 0.
    """

    low: tuple[float, ...]
    span: tuple[Annotated[float, Field(ge=0)], ...]

    def inverse(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return model input, (n, d), in raw units."""
        raw: NDArray[np.float64] = X.astype(np.float64) * np.array(self.span) + np.array(self.low)
        return raw.astype(np.float32)


class Header(Document):
    """What an owner commits to besides the rows.

    Attributes
    ----------
    scheme
        Name of the watermarking scheme.
    trees, ones
        m, and the number of trees that will err on the trigger rows.
    trigger_size, pool_size
        k and N.
    owner
        The owner's public key (Ed25519), hex.
    model_id
        The owner's name for the model.
    class_names
        Names of the classes 0 and 1.
    feature_names
        d names.
    domain
        d pairs: the range of each feature over the owner's training rows, as model input.
    preparation
        How raw rows become model input; None: they are model input.
    """

    scheme: str
    trees: int = Field(ge=1, le=100_000)
    ones: int = Field(ge=0)
    trigger_size: int = Field(ge=1)
    pool_size: int = Field(ge=2)
    owner: Hash
    model_id: str
    class_names: Annotated[tuple[str, str], AfterValidator(_distinct_names)]
    feature_names: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_distinct_names)]
    domain: tuple[tuple[float, float], ...]
    preparation: MinMax | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        features = len(self.feature_names)
        prepared = self.preparation
        lengths = {len(self.domain)} | ({len(prepared.low), len(prepared.span)} if prepared else set())
        if lengths != {features}:
            raise ValueError(f"{features} features are named, but others have a domain or a scaling")
        if self.ones > self.trees or self.trigger_size >= self.pool_size:
            raise ValueError("more ones than trees, or no rows beside the trigger rows")
        if self.pool_size * features > MAX_CELLS:
            raise ValueError(f"{self.pool_size} rows of {features} features are more than a judge reads")
        return self

    def canonical(self) -> bytes:
        """Return the bytes that are hashed."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":")).encode()


class PooledClaim(Document):
    """A claim file of version 3; `check_pooled` says whether it is consistent.

    Attributes
    ----------
    rows, labels
        The pool: (N, d) little-endian float32 and N bytes of 0 and 1, each as base64.
    salt, secret
        Random bytes, hex; the salt hides what the commitment fixes, the secret makes the draw.
    commitment
        Hex.
    receipts
        What the beacons gave, in order; none before the draw.
    source
        How the owner's rows were read, for `wm embed --claim`; no verdict reads it.
    """

    format: Literal["treeproof-claim"] = "treeproof-claim"
    version: Literal[3] = 3
    header: Header
    rows: str
    labels: str
    salt: Hash
    secret: Hash
    commitment: Hash
    receipts: tuple[Receipt, ...] = ()
    source: dict[str, str | int | float | None] | None = None

    def __eq__(self, other: object) -> bool:
        # Not pydantic's, which would compare the arrays that are kept below.
        return isinstance(other, PooledClaim) and self.model_dump() == other.model_dump()

    @cached_property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """The pool's rows: (N, d)."""
        return unpacked_rows(self.rows, len(self.header.feature_names))

    @cached_property
    def y(self) -> NDArray[np.int64]:
        """Their labels: (N,)."""
        return unpacked_labels(self.labels)


def new_claim(
    header: Header,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    salt: bytes | None = None,
    secret: bytes | None = None,
    source: dict[str, Any] | None = None,
) -> PooledClaim:
    """Return a claim that commits to a pool; its draw is still open.

    Parameters
    ----------
    X : (N, d), y : (N,)
        The pool.
    salt, secret
        32 bytes each; None draws them from the system.

    Raises
    ------
    ClaimError
        A pool that `check_pooled` refuses.
    """
    salt = secrets.token_bytes(SECRET_BYTES) if salt is None else salt
    secret = secrets.token_bytes(SECRET_BYTES) if secret is None else secret
    try:
        claim = PooledClaim(
            header=header,
            rows=packed_rows(X),
            labels=packed_labels(y),
            salt=salt.hex(),
            secret=secret.hex(),
            commitment=merkle_root(leaves_of(header, secret, X, y.tolist(), salt)).hex(),
            source=source,
        )
    except ValidationError as reason:
        raise ClaimError(f"no claim can be made of this: {first_error(reason)}") from reason
    check_pooled(claim)
    return claim


def leaf_nonce(salt: bytes, name: bytes) -> bytes:
    """Return a leaf's nonce, which reveals none of the others."""
    return hmac.digest(salt, name, "sha256")


def header_leaf(header: Header, nonce: bytes) -> bytes:
    """Return the hash of the header."""
    return _leaf(b"header", header.canonical() + nonce)


def secret_leaf(secret: bytes, nonce: bytes) -> bytes:
    """Return the hash of the secret."""
    return _leaf(b"secret", secret + nonce)


def row_leaf(index: int, row: NDArray[np.float32], label: int, nonce: bytes) -> bytes:
    """Return the hash of pool row number `index`."""
    return _leaf(b"row", whole(index) + row.astype("<f4").tobytes() + bytes([label]) + nonce)


def row_name(index: int) -> bytes:
    """Return the name of a row's leaf, for its nonce."""
    return b"row" + whole(index)


def leaves_of(
    header: Header, secret: bytes, X: NDArray[np.float32], labels: Sequence[int], salt: bytes
) -> list[bytes]:
    """Return the leaves: header, secret, then the rows."""
    return [
        header_leaf(header, leaf_nonce(salt, b"header")),
        secret_leaf(secret, leaf_nonce(salt, b"secret")),
        *(
            row_leaf(index, row, label, leaf_nonce(salt, row_name(index)))
            for index, (row, label) in enumerate(zip(X, labels, strict=True))
        ),
    ]


def check_pooled(claim: PooledClaim) -> None:
    """Raise `ClaimError` unless the pool is as the header says and the commitment fits."""
    header = claim.header
    if len(claim.X) != header.pool_size or len(claim.y) != header.pool_size:
        raise ClaimError(
            f"the pool has {len(claim.X)} rows and {len(claim.y)} labels, its header says {header.pool_size}"
        )
    check_rows(header, claim.X, claim.y)
    salt, secret = bytes.fromhex(claim.salt), bytes.fromhex(claim.secret)
    root = merkle_root(leaves_of(header, secret, claim.X, claim.y.tolist(), salt))
    if root.hex() != claim.commitment:
        raise ClaimError("the commitment does not fit: header, secret or pool was edited")


def check_rows(header: Header, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
    """Raise `ClaimError` for repeated rows, labels other than 0 and 1, or values outside the domain."""
    if not np.isin(y, (0, 1)).all():
        raise ClaimError("the pool has labels other than 0 and 1")
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite
        low, high = np.array(header.domain).T.astype(np.float32)
    # Written so that a NaN fails too.
    if not ((low <= X) & (high >= X)).all():
        raise ClaimError("the pool has a value that is outside the domain of its feature")
    if len(set(row_bytes(X))) != len(X):
        raise ClaimError("a row of the pool occurs twice")


def parse_pooled(text: str | bytes, *, what: str = "claim") -> PooledClaim:
    """Read and check a claim file's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a valid claim of version 3"):
        claim = PooledClaim.model_validate_json(text)
        check_pooled(claim)
    return claim


def read_pooled(path: str | Path) -> PooledClaim:
    """Read and check a claim file; errors as in `read_document` and `parse_pooled`."""
    return parse_pooled(read_document(path, "a claim"), what=str(path))


def packed_rows(X: NDArray[np.float32]) -> str:
    """Return rows as base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(X, dtype="<f4").tobytes()).decode()


def packed_labels(y: NDArray[np.int64]) -> str:
    """Return labels, (n,), as base64 of a byte each."""
    return base64.b64encode(y.astype(np.uint8).tobytes()).decode()


def unpacked_rows(text: str, features: int) -> NDArray[np.float32]:
    """Return the rows that `packed_rows` wrote, (n, features); raise `ClaimError` for other text."""
    content = decoded(text)
    if not content or len(content) % (4 * features):
        raise ClaimError(f"the rows are not {features} float32 numbers each")
    return np.frombuffer(content, dtype="<f4").astype(np.float32).reshape(-1, features)


def unpacked_labels(text: str) -> NDArray[np.int64]:
    """Return labels, (n,), of base64 text with a byte for each; raise `ClaimError` for other text."""
    return np.frombuffer(decoded(text), dtype=np.uint8).astype(np.int64)


def decoded(text: str) -> bytes:
    """Return the bytes of base64 text; raise `ClaimError` for other text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as reason:
        raise ClaimError("rows or labels are not base64") from reason


def _leaf(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha256(b"\x00treeproof/" + kind + b"/v3\x00" + content).digest()
