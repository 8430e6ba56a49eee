"""Beacon `rfc3161`: a timestamp authority signs the commitment and its time.

A receipt's content is base64 of the DER of a timestamp response or token (RFC 3161). Its message imprint is
SHA-256 over the 32 bytes of the commitment. R is SHA-256 over the bytes of the signature in the token's one
SignerInfo: the content of that OCTET STRING, without tag and length. The token must enclose its signer's
certificate, for time stamping alone, and the chain to a root that the judge trusts; whether one of them was
revoked is not checked.

Tokens can be asked for again, and an ECDSA signature has two valid forms: the grinding factor is `CHOICES`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID

from wm.claims.beacons.base import BeaconValue, Receipt, Trust
from wm.claims.beacons.timestamp_token import Token, check_signature, read_token
from wm.errors import ClaimError

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

CHOICES: Final = 1e6
"""Tokens that an owner may have asked for; more than an authority gives out to one client in days."""

MAX_TOKEN_BYTES = 2**20
"""Largest token; a usual one has 1 to 10 KB."""

_SHA256 = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.1")
_MISSING = "timestamps cannot be read: rfc3161-client is not installed: pip install 'treeproof[timestamps]'"


def timestamp_request(commitment: str) -> bytes:
    """Return the DER of a request for a timestamp authority, as `openssl ts -query -cert` makes it.

    Raises
    ------
    ClaimError
        rfc3161-client is not installed.
    """
    try:
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder
    except ImportError as reason:
        raise ClaimError(_MISSING) from reason
    builder = TimestampRequestBuilder().data(bytes.fromhex(commitment)).hash_algorithm(HashAlgorithm.SHA256)
    return builder.cert_request(cert_request=True).build().as_bytes()


def timestamp_receipt(der: bytes) -> Receipt:
    """Return the receipt that holds an authority's response or token; raise `ClaimError` for other bytes."""
    read_token(der)
    return Receipt(kind="rfc3161", content=base64.b64encode(der).decode())


class TimestampBeacon:
    """Tokens of timestamp authorities."""

    def check(
        self, content: str, *, commitment: str, owner: str, trust: Trust, log: tuple[str, ...]
    ) -> BeaconValue:
        """Check a receipt; as in `wm.claims.beacons.base.Beacon`.

        A token whose certificate is not for time stamping, or does not chain to a root that the judge trusts,
        is not trusted and proves no time.
        """
        token = read_token(_decoded(content))
        response = _response(token)
        imprint = response.tst_info.message_imprint
        expected = hashlib.sha256(bytes.fromhex(commitment)).digest()
        if (imprint.hash_algorithm, imprint.message) != (_SHA256, expected):
            raise ClaimError("the timestamp is of another commitment")
        enclosed = [_certificate(der) for der in response.signed_data.certificates]
        signer = check_signature(token, enclosed)
        trusted = _is_for_time_stamping(signer) and _is_under(_roots(trust), response, expected)
        serial = f"timestamp {response.tst_info.serial_number:x}"
        return BeaconValue(
            hashlib.sha256(token.signature).digest(),
            time=_latest(response) if trusted else None,
            trusted=trusted,
            choices=CHOICES,
            about=f"{serial} of an authority" + ("" if trusted else " that the judge does not trust"),
        )


def _decoded(content: str) -> bytes:
    if len(content) > MAX_TOKEN_BYTES * 4 // 3:
        raise ClaimError(f"a timestamp is larger than {MAX_TOKEN_BYTES} bytes")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as reason:
        raise ClaimError("a timestamp's receipt is not base64") from reason


def _response(token: Token) -> TimeStampResponse:
    try:
        from rfc3161_client import decode_timestamp_response
    except ImportError as reason:
        raise ClaimError(_MISSING) from reason
    try:
        response = decode_timestamp_response(token.response)
        if response.status != 0:
            raise ClaimError("the timestamp authority did not grant a timestamp")
        _ = response.tst_info.gen_time, response.tst_info.message_imprint.message  # decoded on use
    except ValueError as reason:
        raise ClaimError("a timestamp is no RFC 3161 response or token") from reason
    return response


def _roots(trust: Trust) -> list[x509.Certificate]:
    try:
        pems = [x509.load_pem_x509_certificates(root.encode()) for root in trust.timestamp_roots]
    except ValueError as reason:
        raise ClaimError("a trusted timestamp root is not a certificate in PEM") from reason
    return [certificate for pem in pems for certificate in pem]


def _certificate(der: bytes) -> x509.Certificate:
    try:
        certificate = x509.load_der_x509_certificate(der)
        _ = certificate.issuer, certificate.public_key()  # decoded on use
    # cryptography looks up types of text that it does not know.
    except (ValueError, KeyError, UnsupportedAlgorithm, x509.InvalidVersion) as reason:
        raise ClaimError("a timestamp encloses a certificate that cannot be read") from reason
    return certificate


def _is_for_time_stamping(signer: x509.Certificate) -> bool:
    """Return whether a certificate is for time stamping alone: its root may stand above web servers too."""
    try:
        usage = signer.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return False
    return usage.critical and list(usage.value) == [ExtendedKeyUsageOID.TIME_STAMPING]


def _is_under(roots: list[x509.Certificate], response: TimeStampResponse, imprint: bytes) -> bool:
    """Return whether the signer's certificate chains to a root, all of them valid at the token's time."""
    from rfc3161_client import VerificationError, VerifierBuilder

    try:
        return bool(roots) and VerifierBuilder(roots=roots).build().verify(response, imprint)
    except (VerificationError, ValueError):
        return False


def _latest(response: TimeStampResponse) -> datetime:
    """Return the latest time that the token can mean: its time plus its stated accuracy."""
    info = response.tst_info
    accuracy = info.accuracy
    if accuracy is None:
        return info.gen_time
    micros = (accuracy.millis or 0) * 1000 + (accuracy.micros or 0)
    return info.gen_time + timedelta(seconds=accuracy.seconds or 0, microseconds=micros)
