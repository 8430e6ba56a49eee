"""BLS signatures on the curve BLS12-381, as drand networks make them."""

from __future__ import annotations

import hashlib
import sys
from typing import Any, Literal

from wm.errors import ClaimError

Scheme = Literal["pedersen-bls-chained", "pedersen-bls-unchained", "bls-unchained-g1-rfc9380"]
"""Names that drand gives its signature schemes; the last signs on G1, the others on G2."""

_G1_DOMAIN = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_G1_BYTES, _G2_BYTES = 48, 96
_MISSING = "a drand receipt cannot be checked: py-ecc is not installed: pip install 'treeproof[drand]'"


def is_round_signed(
    scheme: Scheme, public_key: bytes, *, number: int, signature: bytes, previous: bytes
) -> bool:
    """Return whether a network signed a round.

    The signed message is SHA-256 of the previous round's signature (empty if `scheme` is unchained) and the
    round's number as 8 bytes, big-endian.

    Parameters
    ----------
    public_key
        Compressed: 48 bytes, on G1, if signatures are on G2; else 96 bytes.
    signature
        Compressed: 96 bytes on G2, or 48 on G1.

    Raises
    ------
    ClaimError
        py-ecc is not installed.
    """
    message = hashlib.sha256(previous + number.to_bytes(8, "big")).digest()
    on_g1 = scheme == "bls-unchained-g1-rfc9380"
    sizes = (len(public_key), len(signature))
    if sizes != ((_G2_BYTES, _G1_BYTES) if on_g1 else (_G1_BYTES, _G2_BYTES)):
        return False
    depth = sys.getrecursionlimit()
    try:
        return (_verify_on_g1 if on_g1 else _verify_on_g2)(public_key, message, signature)
    except ImportError as reason:
        raise ClaimError(_MISSING) from reason
    finally:
        # py_ecc allows 100,000 calls: then deeply nested JSON would end the process.
        sys.setrecursionlimit(depth)


def _verify_on_g2(public_key: bytes, message: bytes, signature: bytes) -> bool:
    from eth_typing import BLSPubkey, BLSSignature
    from py_ecc.bls.ciphersuites import G2Basic

    return G2Basic.Verify(BLSPubkey(public_key), message, BLSSignature(signature))


def _verify_on_g1(public_key: bytes, message: bytes, signature: bytes) -> bool:
    from eth_typing import BLSPubkey, BLSSignature
    from py_ecc.bls.g2_primitives import pubkey_to_G1, signature_to_G2, subgroup_check
    from py_ecc.bls.hash_to_curve import hash_to_G1
    from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
    from py_ecc.optimized_bls12_381.optimized_curve import G2, is_inf, neg
    from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

    # py-ecc names points after their use where signatures are on G2: here the two groups are exchanged.
    try:
        signed, key = pubkey_to_G1(BLSPubkey(signature)), signature_to_G2(BLSSignature(public_key))
    except ValueError:
        return False
    # Outside the subgroup other points pass the pairing too: an owner could choose between randomnesses.
    if is_inf(signed) or is_inf(key) or not (subgroup_check(signed) and subgroup_check(key)):
        return False
    sha256: Any = hashlib.sha256  # py_ecc gives the type of a hash where it means the function
    hashed = hash_to_G1(message, _G1_DOMAIN, sha256)
    product = pairing(neg(G2), signed, final_exponentiate=False) * pairing(
        key, hashed, final_exponentiate=False
    )
    return bool(final_exponentiate(product) == FQ12.one())
