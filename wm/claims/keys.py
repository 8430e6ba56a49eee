"""Ed25519 keys of owners and notaries: made, kept in PEM files, used to sign and to check."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from wm.claims.document import read_document
from wm.errors import ClaimError


def new_key() -> Ed25519PrivateKey:
    """Return a fresh private key from the system's randomness."""
    return Ed25519PrivateKey.generate()


def to_pem(key: Ed25519PrivateKey) -> bytes:
    """Return a private key as an unencrypted PKCS 8 PEM file's content."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_hex(key: Ed25519PrivateKey) -> str:
    """Return the public key that belongs to a private one: 32 bytes as hex."""
    return key.public_key().public_bytes_raw().hex()


def read_key(path: str | Path) -> Ed25519PrivateKey:
    """Read a private key from a PEM file.

    Raises
    ------
    ClaimError
        No such file, or one that holds no unencrypted Ed25519 private key.
    """
    content = read_document(path, "a private key")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as reason:
        raise ClaimError(f"{path}: holds no private key that can be read without a password") from reason
    if not isinstance(key, Ed25519PrivateKey):
        raise ClaimError(f"{path}: is a private key of another kind than Ed25519")
    return key


def is_signed(public: str, signature: bytes, message: bytes) -> bool:
    """Return whether a signature of a message was made with the key whose public half is `public` (hex)."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
