"""Publications: the document holds nothing secret; logs are read; edited files are refused."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.claims.claim import make_claim
from wm.claims.publication import (
    commitments_before,
    parse_moment,
    parse_publications,
    publication_of,
    read_publications,
)
from wm.errors import ClaimError
from wm.signature import Signature

AT = datetime(2025, 6, 30, 12, 0, tzinfo=UTC)


def claim_of(seed=0, version=2):
    return make_claim(
        scheme="paper",
        signature=Signature.of("0110"),
        X=np.random.default_rng(seed).random((3, 2)).astype(np.float32),
        y=np.array([0, 1, 1]),
        model_hash="ab" * 32,
        model_id="credit \u20ac",
        class_names=("a", "b"),
        version=version,
    )


CLAIM = claim_of()
DOCUMENT = publication_of(CLAIM, AT)


def test_the_document_holds_nothing_secret():
    assert DOCUMENT.model_dump() == {
        "format": "treeproof-commitment",
        "version": 1,
        "commitment": CLAIM.commitment,
        "algorithm": "sha256-merkle-rfc6962",
        "trigger_size": 3,
        "n_trees": 4,
        "model_id": "credit \u20ac",
        "published": "2025-06-30T12:00:00+00:00",
    }
    assert publication_of(claim_of(version=1), AT).algorithm == "sha256"
    text = DOCUMENT.to_json()
    for secret in (CLAIM.signature, CLAIM.nonce, *map(str, CLAIM.trigger_set.X.ravel().tolist())):
        assert secret not in text


def test_documents_and_logs_are_read(tmp_path):
    other = publication_of(claim_of(1), AT)
    assert parse_publications(DOCUMENT.to_json().encode(), what="f") == (DOCUMENT,)
    for log in (
        DOCUMENT.to_line() + other.to_line(),
        DOCUMENT.to_line() + "\n\r\n" + other.to_line().rstrip(),
    ):
        assert parse_publications(log.encode(), what="f") == (DOCUMENT, other)
    file = tmp_path / "log.jsonl"
    file.write_text(DOCUMENT.to_line())
    assert read_publications(file) == (DOCUMENT,)
    with pytest.raises(ClaimError, match="cannot be read"):
        read_publications(tmp_path / "none")


def test_only_publications_older_than_the_suspect_count():
    later = publication_of(claim_of(1), datetime(2026, 1, 1, tzinfo=UTC))
    both = (DOCUMENT, later)
    assert commitments_before(both, None) == {DOCUMENT.commitment, later.commitment}
    assert commitments_before(both, parse_moment("2025-12-31")) == {DOCUMENT.commitment}
    assert commitments_before(both, parse_moment("2025-06-30T12:00Z")) == frozenset()
    assert commitments_before(both, parse_moment("2025-06-30T13:00+00:30")) == {DOCUMENT.commitment}


def edited(**changes):
    return json.dumps(json.loads(DOCUMENT.to_json()) | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no published commitment"),
        ("\n \n", "holds no published commitment"),
        ("[]", "line 1"),
        ("{}", "line 1"),
        ("[" * 100_000, "line 1"),
        (DOCUMENT.to_json()[:-5], "line 1"),
        (DOCUMENT.to_line() + "x", "line 2"),
        (edited(format="treeproof-claim"), "format"),
        (edited(commitment="AB" * 32), "commitment"),
        (edited(commitment="ab"), "commitment"),
        (edited(algorithm="md5"), "algorithm"),
        (edited(trigger_size=0), "trigger_size"),
        (edited(n_trees=1.5), "n_trees"),
        (edited(published="soon"), "published"),
        (edited(published=5), "published"),
        (edited(nonce="00"), "nonce"),
    ],
    ids=itertools.count(),  # the documents differ from process to process
)
def test_other_documents_are_refused(text, reason):
    with pytest.raises(ClaimError) as refused:
        parse_publications(text.encode(), what="the file")
    assert str(refused.value).startswith("the file: ")
    assert reason in str(refused.value)
    assert str(refused.value).isprintable()


@given(st.datetimes(timezones=st.timezones()), st.datetimes(timezones=st.timezones()))
def test_any_two_moments_can_be_compared(published, since):
    try:
        document = publication_of(CLAIM, published)
        moment = parse_moment(since.isoformat())
    except ValueError:  # an offset of seconds, as some zones once had, with a time that is cut to seconds
        return
    expected = {CLAIM.commitment} if parse_moment(document.published) < moment else set()
    assert commitments_before([document], moment) == expected
