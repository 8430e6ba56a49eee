"""Timestamp tokens read to the byte: who signed, the bytes of the signature, and whether they were edited.

Only what `rfc3161-client` does not tell: it checks a signature only after a chain of certificates, and hides
its bytes. A token is a CMS ContentInfo in DER (RFC 5652), a response holds a status and a token (RFC 3161):

    response    SEQUENCE { status SEQUENCE, token }
    token       SEQUENCE { OID signedData, [0] { SEQUENCE { version, digests SET,
                           SEQUENCE { OID, [0] { OCTET STRING info } }, ..., signerInfos SET } } }
    signerInfo  SEQUENCE { version, SEQUENCE { issuer, serial }, SEQUENCE { OID digest, ... },
                           [0] attributes, signature algorithm, OCTET STRING signature, ... }
    attribute   SEQUENCE { OID messageDigest, SET { OCTET STRING digest of info } }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from wm.errors import ClaimError

_INTEGER, _OCTETS, _OID, _SEQUENCE, _SET, _TAGGED = 0x02, 0x04, 0x06, 0x30, 0x31, 0xA0
_GRANTED: Final = bytes([_SEQUENCE, 3, _INTEGER, 1, 0])
_MESSAGE_DIGEST: Final = bytes.fromhex("2a864886f70d010904")
_DIGESTS: Final[dict[bytes, hashes.HashAlgorithm]] = {
    bytes.fromhex("608648016503040201"): hashes.SHA256(),
    bytes.fromhex("608648016503040202"): hashes.SHA384(),
    bytes.fromhex("608648016503040203"): hashes.SHA512(),
}
"""By the content of their object identifiers."""


@dataclass(frozen=True)
class Token:
    """Parts of a timestamp token.

    Attributes
    ----------
    response
        DER of a response that holds the token.
    issuer, serial
        Issuer (DER of a name) and serial number of the certificate that signed.
    digest
        Object identifier of the hash, without tag and length.
    info
        DER of what the authority states.
    attributes
        DER of the signed attributes, a SET: the signed bytes.
    signature
        The signature's bytes, without tag and length.
    """

    response: bytes
    issuer: bytes
    serial: int
    digest: bytes
    info: bytes
    attributes: bytes
    signature: bytes


@dataclass(frozen=True)
class _Element:
    tag: int
    content: bytes
    whole: bytes

    def children(self, tag: int) -> list[_Element]:
        """Return the elements inside; raise `ValueError` if this one has another tag."""
        return _elements(self.of(tag))

    def of(self, tag: int) -> bytes:
        """Return the content; raise `ValueError` if this element has another tag."""
        if self.tag != tag:
            raise ValueError("an element of another type is expected")
        return self.content


def read_token(der: bytes) -> Token:
    """Read a response or a token; raise `ClaimError` for other bytes, or unless exactly one party signed."""
    try:
        (outer,) = _elements(der)
        first, second = outer.children(_SEQUENCE)
        (signed_data,) = (second if first.tag == _OID else second.children(_SEQUENCE)[1]).children(_TAGGED)
        parts = signed_data.children(_SEQUENCE)
        (info,) = parts[2].children(_SEQUENCE)[1].children(_TAGGED)
        (signer,) = parts[-1].children(_SET)
        _, identity, digest, attributes, _, signature, *_ = signer.children(_SEQUENCE)
        issuer, serial = identity.children(_SEQUENCE)
        return Token(
            response=_sequence(_GRANTED + der) if first.tag == _OID else der,
            issuer=issuer.whole,
            serial=int.from_bytes(serial.of(_INTEGER), "big", signed=True),
            digest=digest.children(_SEQUENCE)[0].of(_OID),
            info=info.of(_OCTETS),
            attributes=_as_set(attributes),
            signature=signature.of(_OCTETS),
        )
    except (ValueError, IndexError) as reason:
        raise ClaimError("a timestamp is no DER of an RFC 3161 response or token with one signer") from reason


def check_signature(token: Token, enclosed: list[x509.Certificate]) -> x509.Certificate:
    """Return the enclosed certificate that signed a token; whether it can be trusted is another question.

    Raises
    ------
    ClaimError
        The token was edited, holds not exactly one certificate that its signer can mean, or is signed by
        another method than RSA (PKCS 1) or ECDSA with SHA-2.
    """
    signers = [
        each
        for each in enclosed
        if (each.issuer.public_bytes(), each.serial_number) == (token.issuer, token.serial)
    ]
    if len(signers) != 1:  # of two with one name, two programs could take one each
        raise ClaimError("a timestamp must enclose its signer's certificate, once")
    algorithm = _DIGESTS.get(token.digest)
    key = signers[0].public_key()
    try:
        if algorithm is None or _stated_digest(token) != _digest(algorithm, token.info):
            raise InvalidSignature
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(token.signature, token.attributes, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(token.signature, token.attributes, ec.ECDSA(algorithm))
        else:
            raise InvalidSignature
    except (InvalidSignature, ValueError, IndexError) as reason:
        raise ClaimError(
            "the timestamp is not validly signed (RSA or ECDSA with SHA-2): it was edited"
        ) from reason
    return signers[0]


def _as_set(attributes: _Element) -> bytes:
    """Return signed attributes as they are signed: with the tag of a SET instead of their place's number."""
    attributes.of(_TAGGED)
    return bytes([_SET]) + attributes.whole[1:]


def _stated_digest(token: Token) -> bytes:
    (attributes,) = _elements(token.attributes)
    (stated,) = (
        values
        for name, values in (each.children(_SEQUENCE) for each in attributes.children(_SET))
        if name.content == _MESSAGE_DIGEST
    )
    return stated.children(_SET)[0].of(_OCTETS)


def _digest(algorithm: hashes.HashAlgorithm, content: bytes) -> bytes:
    digest = hashes.Hash(algorithm)
    digest.update(content)
    return digest.finalize()


def _elements(content: bytes) -> list[_Element]:
    """Return the DER elements that follow each other in `content`; raise `ValueError` for other bytes."""
    found, start = [], 0
    while start < len(content):
        if len(content) < start + 2 or content[start] & 0x1F == 0x1F:
            raise ValueError("cut off, or a tag of several bytes")
        body, size = start + 2, content[start + 1]
        if size >= 0x80:  # so many bytes of length follow; 0 would be BER's indefinite length
            count = size & 0x7F
            size = int.from_bytes(content[body : body + count], "big")
            if not 1 <= count <= 4 or size < 0x80:
                raise ValueError("a length that DER does not allow")
            body += count
        if body + size > len(content):
            raise ValueError("cut off")
        found.append(_Element(content[start], content[body : body + size], content[start : body + size]))
        start = body + size
    return found


def _sequence(content: bytes) -> bytes:
    """Return a SEQUENCE around DER elements of at least 128 bytes."""
    length = len(content).to_bytes(4, "big").lstrip(b"\0")
    return bytes([_SEQUENCE, 0x80 | len(length), *length]) + content
