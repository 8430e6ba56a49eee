"""Which jobs a page lists: what its address says, and what it cannot say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException

from orchestrator.store.tables import JobState
from orchestrator.store.wanted import Wanted

Places = Mapping[str, tuple[str | float | int, ...]]
"""Coordinates of a campaign's grid, with their values."""

_NAMED = 20
"""Values that a message names."""


@dataclass(frozen=True)
class JobList:
    """Which jobs a page lists, as its address says."""

    kind: str = ""
    state: JobState | None = None
    place: Mapping[str, str | float | int] = field(default_factory=dict)
    least_s: float | None = None
    most_s: float | None = None
    after: int | None = None
    before: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], kinds: tuple[str, ...], places: Places) -> JobList:
        """Read an address; empty values mean all.

        Raises
        ------
        HTTPException
            No such kind, state or coordinate, or what should be a number is none.
        """
        kind, state = query.get("kind", ""), query.get("state", "")
        if kind and kind not in kinds:
            raise HTTPException(400, f"kind={kind}: this campaign has {', '.join(kinds)}")
        if state and state not in set(JobState):
            raise HTTPException(400, f"state={state}: a job is one of {', '.join(JobState)}")
        after, before = (
            whole(query[name], name) if query.get(name) else None for name in ("after", "before")
        )
        if after is not None and before is not None:
            raise HTTPException(400, "give after or before, not both")
        place = {
            name: _one_of(query[name], name, values) for name, values in places.items() if query.get(name)
        }
        least, most = (
            _seconds(query[name], name) if query.get(name) else None for name in ("least_s", "most_s")
        )
        return cls(kind, JobState(state) if state else None, place, least, most, after, before)

    @property
    def filters(self) -> dict[str, object]:
        """What is filtered by, as the address has it; without the place in the list."""
        state = "" if self.state is None else self.state.value
        given = {
            "kind": self.kind,
            "state": state,
            **self.place,
            "least_s": self.least_s,
            "most_s": self.most_s,
        }
        return {name: value for name, value in given.items() if value not in ("", None)}

    def wanted(self, kinds: tuple[str, ...]) -> Wanted:
        """Return the same for the store; `kinds` are all that the campaign may have."""
        return Wanted(
            (self.kind,) if self.kind else kinds,
            self.state,
            is_every_kind=not self.kind,
            place=self.place,
            least_s=self.least_s,
            most_s=self.most_s,
        )


def whole(text: str, name: str) -> int:
    """Return a whole number of an address.

    Raises
    ------
    HTTPException
        It is none, or too large for an id.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HTTPException(400, f"{name}={text}: not a whole number")
    return int(text)


def _seconds(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise HTTPException(400, f"{name}={text}: not a number of seconds")
    return value


def _one_of(text: str, name: str, values: tuple[str | float | int, ...]) -> str | float | int:
    found = [value for value in values if str(value) == text]
    if not found:
        there = ", ".join(map(str, values[:_NAMED])) + (", ..." if len(values) > _NAMED else "")
        raise HTTPException(400, f"{name}={text}: this campaign has {there}")
    return found[0]
