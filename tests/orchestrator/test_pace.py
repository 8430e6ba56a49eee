"""When something is due, and how much time counting may take."""

from __future__ import annotations

from itertools import pairwise

from orchestrator import pace
from orchestrator.pace import Counter, Due


def test_due_at_first_and_after_each_period(clock):
    due = Due(10.0)
    times = []
    for second in range(31):
        clock.now = 100.0 + second
        if due.now():
            times.append(second)
    assert times == [0, 10, 20, 30]


def test_it_can_be_postponed(clock):
    due = Due(10.0)
    due.postpone()
    clock.now += 9.9
    assert not due.now()
    due.postpone(0.5)
    clock.now += 0.5
    assert due.now()


def test_counting_takes_at_most_a_twentieth_of_the_time(clock, monkeypatch):
    """A count of 10^6 jobs takes a second, and then one of a few takes none."""
    cost, counted = 1.0, []

    def progress(store, campaign_id):
        assert (store, campaign_id) == ("store", 7)
        counted.append(clock.now)
        clock.now += cost
        return len(counted)

    monkeypatch.setattr(pace.campaigns, "progress", progress)
    counter = Counter("store", 7, every_s=2.0)
    seen = []
    while clock.now < 200.0:
        seen.append(counter.look())
        clock.now += 0.5
    assert [found for found in seen if found is not None] == list(range(1, len(counted) + 1))
    assert all(later - earlier >= 20.0 for earlier, later in pairwise(counted))
    assert 4 <= len(counted) <= 5
    assert counter.look(at_once=True) == len(counted)
    cost = 0.0
    clock.now += 20.0
    before = len(counted)
    for _ in range(20):
        counter.look()
        clock.now += 0.5
    assert len(counted) - before == 5, "every two seconds"
