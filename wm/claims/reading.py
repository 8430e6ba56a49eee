"""Reader of claim files of every version, and of openings."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from wm.claims.claim import Claim, parse_claim
from wm.claims.document import check_parts, named_errors, read_document
from wm.claims.lineup import FORMAT as LINEUP
from wm.claims.lineup import LineupClaim, parse_lineup
from wm.claims.lineup_opened import FORMAT as LINEUP_OPENING
from wm.claims.lineup_opened import OpenedLineup, parse_opened_lineup
from wm.claims.opened import OpenedClaim, parse_opened
from wm.claims.pooled import PooledClaim, parse_pooled
from wm.errors import ClaimError

AnyClaim = Claim | PooledClaim | OpenedClaim | LineupClaim | OpenedLineup
"""A claim of version 1 or 2, one of version 3, the opening of one, or both of scheme `lineup`."""


_NO_CLAIMS = {
    "treeproof-commitment": "a commitment",
    "treeproof-order": "the order of questions",
    "treeproof-lineup-order": "the order of questions",
    "treeproof-trust": "a list of trusted beacons",
}
"""Other files of an owner's or a judge's, and what they are."""


class _Kind(BaseModel):
    """The fields that say which kind of file this is."""

    format: str = ""
    version: int = 0


def read_any_claim(path: str | Path) -> AnyClaim:
    """Read and check a claim of any version, or an opening.

    Raises
    ------
    ClaimError
        No such file, or a faulty one.
    """
    text, what = read_document(path, "a claim"), str(path)
    with named_errors(what, "a claim"):
        check_parts(text)
    try:
        kind = _Kind.model_validate_json(text)
    except ValidationError:
        kind = _Kind()
    if kind.format == "treeproof-opening":
        return parse_opened(text, what=what)
    if kind.format == LINEUP:
        return parse_lineup(text, what=what)
    if kind.format == LINEUP_OPENING:
        return parse_opened_lineup(text, what=what)
    if kind.format in _NO_CLAIMS:
        raise ClaimError(
            f"{path}: is {_NO_CLAIMS[kind.format]}, not a claim as wm claim new or wm embed writes it"
        )
    return parse_pooled(text, what=what) if kind.version == 3 else parse_claim(text, what=what)


def read_whole_claim(path: str | Path) -> PooledClaim | LineupClaim:
    """Read and check a claim that `wm claim new` makes, of any scheme.

    Raises
    ------
    ClaimError
        As in `read_any_claim`, or another kind of claim.
    """
    claim = read_any_claim(path)
    if not isinstance(claim, PooledClaim | LineupClaim):
        raise ClaimError(f"{path}: is not a whole claim, as wm claim new makes it")
    return claim
