"""A timestamp authority: RFC 3161 responses signed by certificates made here, good ones and bad ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""Time that tokens state."""

DAY = timedelta(days=1)
_SHA256 = "2.16.840.1.101.3.4.2.1"
_RSA_SHA256 = "1.2.840.113549.1.1.11"
_SIGNED_DATA = "1.2.840.113549.1.7.2"
_TST_INFO = "1.2.840.113549.1.9.16.1.4"
_CONTENT_TYPE = "1.2.840.113549.1.9.3"
_MESSAGE_DIGEST = "1.2.840.113549.1.9.4"
_NULL = b"\x05\x00"


def tlv(tag: int, *parts: bytes) -> bytes:
    """Return one DER element."""
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes(4, "big").lstrip(b"\0")
    return bytes([tag, 0x80 | len(length)]) + length + content


def whole(number: int) -> bytes:
    return tlv(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def oid(dotted: str) -> bytes:
    first, second, *others = map(int, dotted.split("."))
    content = bytearray([first * 40 + second])
    for number in others:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        content += bytes(reversed(groups))
    return tlv(0x06, bytes(content))


def der_set(*parts: bytes) -> bytes:
    return tlv(0x31, *sorted(parts))


@dataclass(frozen=True)
class Certified:
    """A key and its certificate."""

    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)


def certify(
    name: str,
    issuer: Certified | None = None,
    *,
    issuer_name: str | None = None,
    serial: int | None = None,
    usage: tuple[x509.ObjectIdentifier, ...] | None = (ExtendedKeyUsageOID.TIME_STAMPING,),
    critical: bool = True,
    valid: tuple[datetime, datetime] = (NOW - DAY, NOW + DAY),
) -> Certified:
    """Return a new key with a certificate: a root, or one that `issuer` signed."""
    root = issuer is None and issuer_name is None
    key = ec.generate_private_key(ec.SECP256R1()) if root else rsa.generate_private_key(65537, 2048)
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by = named if issuer is None else issuer.certificate.subject
    if issuer_name is not None:
        by = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer_name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
        .add_extension(x509.BasicConstraints(ca=root, path_length=None), critical=True)
    )
    if not root and usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=critical)
    return Certified(key, builder.sign(key if issuer is None else issuer.key, hashes.SHA256()))


def stamp(
    signer: Certified,
    commitment: str,
    *,
    enclosed: tuple[Certified, ...] = (),
    time: datetime = NOW,
    accuracy: bytes = b"",
    status: int = 0,
    imprint: bytes | None = None,
    signers: int = 1,
) -> bytes:
    """Return the DER of a response.

    Parameters
    ----------
    enclosed
        Certificates besides the signer's.
    accuracy
        DER of the token's accuracy.
    imprint
        What the token is of, instead of SHA-256 of the commitment.
    signers
        How often the signer's entry stands in the token.
    """
    digest = hashlib.sha256(bytes.fromhex(commitment)).digest() if imprint is None else imprint
    algorithm = tlv(0x30, oid(_SHA256), _NULL)
    info = tlv(
        0x30,
        whole(1),
        oid("1.2.3.4.1"),
        tlv(0x30, algorithm, tlv(0x04, digest)),
        whole(77),
        tlv(0x18, time.strftime("%Y%m%d%H%M%SZ").encode()),
        accuracy,
    )
    attributes = der_set(
        tlv(0x30, oid(_CONTENT_TYPE), der_set(oid(_TST_INFO))),
        tlv(0x30, oid(_MESSAGE_DIGEST), der_set(tlv(0x04, hashlib.sha256(info).digest()))),
    )
    assert isinstance(signer.key, rsa.RSAPrivateKey)
    signature = signer.key.sign(attributes, padding.PKCS1v15(), hashes.SHA256())
    entry = tlv(
        0x30,
        whole(1),
        tlv(0x30, signer.certificate.issuer.public_bytes(), whole(signer.certificate.serial_number)),
        algorithm,
        b"\xa0" + attributes[1:],
        tlv(0x30, oid(_RSA_SHA256), _NULL),
        tlv(0x04, signature),
    )
    signed = tlv(
        0x30,
        whole(3),
        der_set(algorithm),
        tlv(0x30, oid(_TST_INFO), tlv(0xA0, tlv(0x04, info))),
        tlv(0xA0, *sorted(each.der for each in (signer, *enclosed))),
        der_set(*[entry] * signers),
    )
    token = tlv(0x30, oid(_SIGNED_DATA), tlv(0xA0, signed))
    return tlv(0x30, tlv(0x30, whole(status)), token)


def token_of(response: bytes) -> bytes:
    """Return the token inside a granted response of 256 bytes or more."""
    header = 2 + (response[1] & 0x7F)
    return response[header + 5 :]
