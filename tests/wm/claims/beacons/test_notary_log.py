"""A notary's log counts each owner's receipts, other processes' too, and refuses what it cannot read."""

from __future__ import annotations

import errno
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pools import OWNER, STRANGER
from wm.claims.beacons.notary import count_receipts, read_statement, read_unchecked, sign_receipt
from wm.claims.beacons.notary_log import NotaryLog
from wm.claims.beacons.request import sign_request
from wm.claims.keys import new_key, public_hex
from wm.errors import ClaimError

KEY = new_key()
REQUEST = sign_request("c5" * 32, OWNER)
OTHER = sign_request("c5" * 32, STRANGER)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notary.log"


@pytest.fixture
def log(path):
    return NotaryLog(path, KEY)


def number_of(receipt):
    return read_statement(receipt.content)[1].predicate.number


def test_receipts_are_numbered_for_each_owner_and_kept(log, path):
    receipts = [log.sign(each) for each in (REQUEST, OTHER, REQUEST, REQUEST)]
    assert [number_of(each) for each in receipts] == [1, 1, 2, 3]
    lines = path.read_text().splitlines()
    assert lines == [each.content for each in receipts]
    assert count_receipts(tuple(lines), notary=public_hex(KEY), owner=REQUEST.owner) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"".join(log.copy()) == path.read_bytes()
    assert log.count() == 4


def test_another_process_s_receipts_count(log, path):
    log.sign(REQUEST)
    assert number_of(NotaryLog(path, KEY).sign(REQUEST)) == 2
    assert number_of(log.sign(REQUEST)) == 3
    # Another notary's do not, nor do numbers get smaller if lines are missing.
    assert number_of(NotaryLog(path, new_key()).sign(REQUEST)) == 1
    ahead = sign_receipt(KEY, commitment=REQUEST.commitment, owner=REQUEST.owner, number=9)
    path.write_text(path.read_text() + ahead.content + "\n")
    assert number_of(log.sign(REQUEST)) == 10


def test_receipts_at_the_same_time_have_different_numbers(path):
    logs = [NotaryLog(path, KEY) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda turn: logs[turn % 4].sign(REQUEST), range(40)))
    assert sorted(map(number_of, receipts)) == list(range(1, 41))
    assert path.read_text().count("\n") == 40


def test_a_log_of_a_hundred_thousand_lines_is_read_once(log, path, monkeypatch):
    line = sign_receipt(KEY, commitment=OTHER.commitment, owner=OTHER.owner, number=1).content + "\n"
    path.write_text(line * 100_000)
    read = []
    monkeypatch.setattr(
        "wm.claims.beacons.notary_log.read_unchecked", lambda line: read.append(line) or read_unchecked(line)
    )
    assert number_of(log.sign(OTHER)) == 100_001
    assert number_of(log.sign(REQUEST)) == 1
    assert number_of(log.sign(OTHER)) == 100_002
    assert len(read) == 100_002


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\n", "line 1: is no receipt"),
        (b"{}\n", "line 1: is no receipt"),
        (b"\xff\n", "line 1: is no receipt"),
        (b"[" * 60_000 + b"\n", "line 1: is no receipt"),
        (b"x" * 70_000 + b"\n", "line 1: is cut off or too long"),
        (b'{"payload": ', "line 1: is cut off"),
        (b"[" * 100_000, "line 1: is cut off"),
    ],
)
def test_a_log_that_cannot_be_read_is_an_error_and_stays_as_it_is(log, path, content, reason):
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(ClaimError, match=f"notary.log: {reason}"):
            log.sign(REQUEST)
    assert path.read_bytes() == content


def test_a_line_that_was_cut_off_is_named(log, path):
    log.sign(REQUEST)
    log.sign(REQUEST)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ClaimError, match="line 2: is cut off"):
        NotaryLog(path, KEY).sign(REQUEST)


def test_a_log_that_became_shorter_is_an_error_and_one_that_was_replaced_is_read_anew(log, path):
    for _ in range(3):
        log.sign(REQUEST)
    lines = path.read_text().splitlines(keepends=True)
    with path.open("r+") as file:
        file.truncate(len(lines[0]))
    with pytest.raises(ClaimError, match="became shorter: receipts are missing"):
        log.sign(REQUEST)
    (path.parent / "new").write_text("".join(lines))
    (path.parent / "new").rename(path)
    assert number_of(log.sign(REQUEST)) == 4


def test_a_full_disk_gives_no_receipt_and_leaves_the_log(log, path, monkeypatch):
    log.sign(REQUEST)
    before = path.read_bytes()
    write, places = os.pwrite, []

    def until_full(descriptor, content, place):
        places.append(place)
        if len(places) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:100], place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", until_full)
        with pytest.raises(OSError, match="No space left"):
            log.sign(REQUEST)
    assert places == [len(before), len(before) + 100]
    assert path.read_bytes() == before
    assert number_of(log.sign(REQUEST)) == 2


def test_a_log_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ClaimError, match=r"nowhere/log: the log cannot be opened \(No such file"):
        NotaryLog(tmp_path / "nowhere" / "log", KEY).sign(REQUEST)
    with pytest.raises(ClaimError, match="the log cannot be opened"):
        NotaryLog(tmp_path, KEY).sign(REQUEST)


def test_there_may_be_nothing_to_copy(log, path):
    assert list(log.copy()) == []
    assert not path.exists()
    assert json.loads(log.sign(REQUEST).to_json())["kind"] == "notary"
