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

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from wm.boosting import outputs
from wm.claims.beacons.base import Receipt
from wm.claims.commitment import leaf_hash, merkle_root, row_content, whole
from wm.claims.document import MAX_CLASSES, Document, Hash, Names, SecretDocument, first_error, parse_checked
from wm.claims.draw import SECRET_BYTES
from wm.claims.packing import packed_labels, packed_rows, unpacked_labels, unpacked_rows
from wm.codebook import BOOSTED, HOLDERS, check_size
from wm.datasets.preparation import MinMax as MinMax
from wm.datasets.preparation import Preparation
from wm.errors import ClaimError

MAX_CELLS = 3 * 2**23
"""Largest N x d of a pool, 96 MiB of float32: a judge reads it in 1 GB of memory."""

MAX_ROWS = 2**18
"""Largest N, also of a pool that is opened in part: a judge recomputes its draw in seconds."""


def check_features(
    names: tuple[str, ...], domain: tuple[tuple[float, float], ...], preparation: MinMax | Preparation | None
) -> None:
    """Raise `ValueError` unless domain and preparation are of the features that are named."""
    scaling = preparation.scaling if isinstance(preparation, Preparation) else preparation
    lengths = {len(domain)} | ({len(scaling.low), len(scaling.span)} if scaling else set())
    if lengths != {len(names)}:
        raise ValueError(f"{len(names)} features are named, but others have a domain or a scaling")
    if isinstance(preparation, Preparation) and preparation.feature_names != names:
        raise ValueError("the preparation makes other features than those that are named")


class Header(Document):
    """What an owner commits to besides the rows.

    Attributes
    ----------
    scheme
        Name of the watermarking scheme.
    trees, ones
        m, and the number of trees that will err on the trigger rows; in schemes with a codebook the
        expected number.
    trigger_size, pool_size
        k and N.
    owner
        The owner's public key (Ed25519), hex.
    model_id
        The owner's name for the model.
    class_names
        Names of the classes 0, 1, ....
    feature_names
        d names.
    domain
        d pairs: the range of each feature over the owner's training rows, as model input.
    preparation
        How raw rows become model input: scaled, or each column as it says; None: they are model input.
    """

    scheme: str
    trees: int = Field(ge=1, le=100_000)
    ones: int = Field(ge=0)
    trigger_size: int = Field(ge=1)
    pool_size: int = Field(ge=2, le=MAX_ROWS)
    owner: Hash
    model_id: str
    class_names: Annotated[Names, Field(min_length=2, max_length=MAX_CLASSES)]
    feature_names: Annotated[Names, Field(min_length=1)]
    domain: tuple[tuple[float, float], ...]
    preparation: MinMax | Preparation | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_features(self.feature_names, self.domain, self.preparation)
        features = len(self.feature_names)
        if self.ones > self.trees or self.trigger_size >= self.pool_size:
            raise ValueError("more ones than trees, or no rows beside the trigger rows")
        if self.pool_size * features > MAX_CELLS:
            raise ValueError(f"{self.pool_size} rows of {features} features are more than a judge reads")
        if self.scheme in HOLDERS:
            check_size(self.trigger_size, self.trees, self.ones, self.scheme)
        if self.scheme == BOOSTED and 2 * self.ones != self.trees:
            raise ValueError(
                "in scheme boosted every bit is a fair coin: an even number of trees, half of them ones, is "
                "needed"
            )
        rounds_of = outputs(len(self.class_names))
        if self.scheme == BOOSTED and self.trees % rounds_of:
            raise ValueError(
                f"in scheme boosted each round has a tree for each of {rounds_of} classes: {self.trees} "
                "trees are no whole rounds"
            )
        return self


class PooledClaim(SecretDocument):
    """A claim file of version 3; `check_pooled` says whether it is consistent.

    Attributes
    ----------
    rows, labels
        The pool: (N, d) little-endian float32 and N bytes of 0, 1, ..., each as base64.
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
    source: dict[str, str | int | float | bool | tuple[str, ...] | None] | None = None

    @property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """The pool's rows: (N, d); read from `rows` at each call."""
        return unpacked_rows(self.rows, self.header.pool_size, len(self.header.feature_names))

    @property
    def y(self) -> NDArray[np.int64]:
        """Their labels: (N,)."""
        return unpacked_labels(self.labels, self.header.pool_size)


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
        A pool that `check_pooled` refuses, or whose file would be larger than is read.
    """
    if not len(X) == len(y) == header.pool_size:
        raise ClaimError(f"{len(X)} rows and {len(y)} labels are no pool of {header.pool_size} rows")
    check_rows(header, X, y)
    salt = secrets.token_bytes(SECRET_BYTES) if salt is None else salt
    secret = secrets.token_bytes(SECRET_BYTES) if secret is None else secret
    try:
        made = PooledClaim(
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
    made.to_json()  # a claim too large to be read is refused here, not after hours of training
    return made


def leaf_nonce(salt: bytes, name: bytes) -> bytes:
    """Return a leaf's nonce, which reveals none of the others."""
    return hmac.digest(salt, name, "sha256")


def header_leaf(header: Header, nonce: bytes) -> bytes:
    """Return the hash of the header."""
    return leaf_hash(b"header/v3", header.canonical() + nonce)


def secret_leaf(secret: bytes, nonce: bytes) -> bytes:
    """Return the hash of the secret."""
    return leaf_hash(b"secret/v3", secret + nonce)


def row_leaf(index: int, row: NDArray[np.float32], label: int, nonce: bytes) -> bytes:
    """Return the hash of pool row number `index`."""
    return leaf_hash(b"row/v3", row_content(index, row, label) + nonce)


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
    header, X, y = claim.header, claim.X, claim.y
    check_rows(header, X, y)
    salt, secret = bytes.fromhex(claim.salt), bytes.fromhex(claim.secret)
    if merkle_root(leaves_of(header, secret, X, y.tolist(), salt)).hex() != claim.commitment:
        raise ClaimError("the commitment does not fit: header, secret or pool was edited")


def check_rows(header: Header, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
    """Raise `ClaimError` for repeated rows, labels of no class, or values outside the domain."""
    if not np.isin(y, np.arange(len(header.class_names))).all():
        raise ClaimError(f"the pool has labels other than 0 to {len(header.class_names) - 1}")
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite
        low, high = np.array(header.domain).T.astype(np.float32)
    # Written so that a NaN fails too.
    if not ((low <= X) & (high >= X)).all():
        raise ClaimError("the pool has a value that is outside the domain of its feature")
    # Hashes of single rows, since copies of all would double the memory; -0.0 equals 0.0.
    if len({hashlib.sha256((row + np.float32(0)).tobytes()).digest() for row in X}) != len(X):
        raise ClaimError("a row of the pool occurs twice")


def parse_pooled(text: str | bytes, *, what: str = "claim") -> PooledClaim:
    """Read and check a claim file's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    return parse_checked(text, PooledClaim, check_pooled, what=what, kind="a valid claim of version 3")
