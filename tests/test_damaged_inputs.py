"""Damaged inputs of all kinds: refused with one clear line, or unchanged in meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.damage.running import Target, run
from tests.damage.targets import targets
from wm.errors import ClaimError

SEED = 20
COUNTS = {"claim": 300, "opening": 300, "receipt": 200, "statement": 300, "forest": 200, "arrays": 150}
OTHERS = 100


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> list[Target]:
    return targets(tmp_path_factory.mktemp("damage"))


def test_every_valid_input_is_read(everything) -> None:
    for target in everything:
        assert target.fault(target.read(target.content)) is None, target.name


def test_damaged_inputs_are_refused_with_one_clear_line(everything) -> None:
    total = 0
    for target in everything:
        count = COUNTS.get(target.name, OTHERS)
        tally = run(target, count, SEED)
        assert not tally.failures, tally.failures[0]
        assert tally.refused > 0.3 * count, f"{target.name}: the damage has no effect"
        total += tally.refused + tally.accepted
    assert total >= 1000


def test_unhandled_inputs_are_reported(everything) -> None:
    claim = everything[0]

    def crash(content: bytes) -> None:
        raise KeyError("made by a test")

    def two_lines(content: bytes) -> None:
        raise ClaimError("claim: one line\nand another")

    def nameless(content: bytes) -> None:
        raise ClaimError("something is wrong")

    for read in (crash, two_lines, nameless):
        assert len(run(replace(claim, read=read), 20, SEED).failures) == 20
    accepting = replace(claim, read=lambda content: content, fault=lambda read: "accepted")
    tally = run(accepting, 20, SEED)
    assert (tally.accepted, len(tally.failures)) == (20, 20)
    again = run(accepting, 20, SEED)
    assert [failure.content for failure in again.failures] == [failure.content for failure in tally.failures]
