"""Ask beacons for receipts over HTTP: a notary's service, a timestamp authority, a drand network.

What comes back is checked as a judge will, but for trust: validly signed, for this commitment and owner.
"""

from __future__ import annotations

import urllib.parse
from typing import Final

from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import DrandChain, Receipt, Trust, parse_receipt
from wm.claims.beacons.drand import drand_receipt, first_round
from wm.claims.beacons.request import CommitmentRequest
from wm.claims.beacons.rfc3161 import MAX_TOKEN_BYTES, timestamp_receipt, timestamp_request
from wm.claims.document import named_errors
from wm.errors import ClaimError, EndpointError
from wm.http import check_address, send

LIMIT_S: Final = 30.0
"""Time for a whole exchange."""

MAX_ANSWER_BYTES: Final = 2**16
"""Largest answer of a notary or a drand network; a usual one has 1 KB."""

DRAND_API: Final = "https://api.drand.sh"
"""Public HTTP interface of the League of Entropy's networks."""


def notary_receipt(
    url: str, request: CommitmentRequest, *, token: str | None = None, limit_s: float = LIMIT_S
) -> Receipt:
    """Return a notary's receipt for a commitment; each request counts against its owner.

    Parameters
    ----------
    url
        Of the service, as `wm notary serve` prints it. Redirects are not followed.
    token
        Sent as a bearer token, over https or to this machine only.

    Raises
    ------
    EndpointUnavailableError
        The notary cannot be reached, is busy or too slow: a later attempt may succeed.
    EndpointError
        An address or token that cannot be used, or a refusal.
    ClaimError
        The answer is no such receipt.
    """
    address = _below(url, "receipts", has_token=token is not None)
    answer = send(
        address,
        request.to_line().encode(),
        what=address,
        token=token,
        limit_s=limit_s,
        max_bytes=MAX_ANSWER_BYTES,
    )
    receipt = parse_receipt(answer, what=address)
    with named_errors(address, "a receipt"):
        if receipt.kind != "notary":
            raise ClaimError(f"gave a receipt of kind {receipt.kind[:40]!r}")
        return _checked(receipt, request)


def authority_receipt(url: str, request: CommitmentRequest, *, limit_s: float = LIMIT_S) -> Receipt:
    """Return a timestamp authority's receipt (RFC 3161, section 3.4) for a commitment.

    Raises
    ------
    EndpointError, ClaimError
        As in `notary_receipt`; a `ClaimError` also if rfc3161-client is not installed.
    """
    address = check_address(url, has_token=False)
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    answer = send(
        url,
        timestamp_request(request.commitment),
        what=address,
        token=None,
        limit_s=limit_s,
        max_bytes=MAX_TOKEN_BYTES,
        headers=headers,
    )
    return authority_answer(answer, request, where=address)


def authority_answer(answer: bytes, request: CommitmentRequest, *, where: str) -> Receipt:
    """Return the receipt of a timestamp authority's answer (DER), checked; `where` names it in errors."""
    with named_errors(where, "a receipt"):
        return _checked(timestamp_receipt(answer), request)


def due_round(chain: DrandChain, proof: Receipt, request: CommitmentRequest, trust: Trust) -> int:
    """Return the round of a drand network that follows a proof of a commitment's time.

    Parameters
    ----------
    proof
        Receipt of kind notary or rfc3161.
    trust
        Holds the root of the timestamp authority; a notary's time is known without it.

    Raises
    ------
    ClaimError
        A receipt of another kind or commitment, or one whose time nobody in `trust` proves.
    """
    if proof.kind not in ("notary", "rfc3161"):
        raise ClaimError(
            f"a receipt of kind {proof.kind[:40]} proves no time: a notary's or authority's does"
        )
    _, (found,) = check_receipts([proof], commitment=request.commitment, owner=request.owner, trust=trust)
    if found.time is None:
        raise ClaimError("the time of a timestamp is known only with the root of its authority")
    return first_round(chain, found.time)


def round_address(chain: DrandChain, number: int, url: str = DRAND_API) -> str:
    """Return the address at which a drand network publishes a round."""
    return _below(url, f"{chain.hash}/public/{number}", has_token=False)


def published_round(address: str, *, limit_s: float = LIMIT_S) -> bytes:
    """Return what a drand network says of a round; raise `EndpointError` if it cannot be read."""
    return send(address, None, what=address, token=None, limit_s=limit_s, max_bytes=MAX_ANSWER_BYTES)


def round_receipt(
    chain: DrandChain, answer: bytes, proof: Receipt, request: CommitmentRequest, trust: Trust, *, where: str
) -> Receipt:
    """Return the receipt for a round, checked to be the due one; `where` names the answer in errors."""
    with named_errors(where, "a receipt"):
        return _checked(drand_receipt(chain, answer, proof), request, trust)


def _checked(receipt: Receipt, request: CommitmentRequest, trust: Trust | None = None) -> Receipt:
    check_receipts([receipt], commitment=request.commitment, owner=request.owner, trust=trust)
    return receipt


def _below(url: str, path: str, *, has_token: bool) -> str:
    """Return an address below a service's; raise `EndpointError` for one that cannot have any."""
    check_address(url, has_token=has_token)
    parts = urllib.parse.urlsplit(url)
    if parts.query or parts.fragment:
        raise EndpointError(f"{url!r} is not the address of a service: it has a query")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/{path}", "", ""))
