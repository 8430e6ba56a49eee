"""All processes that came of one: whoever starts with a mark in the environment hands it to its children."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Family:
    """The processes that were started with a mark, directly or not."""

    mark: str = field(default_factory=lambda: f"TREEPROOF_TEST_{uuid.uuid4().hex}")

    @property
    def environment(self) -> Mapping[str, str]:
        """What the first of them must have in its environment."""
        return {self.mark: "1"}

    def living(self) -> list[int]:
        """Return the ids of those that live."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                marked = self.mark.encode() in (process / "environ").read_bytes()
            except OSError:  # ended meanwhile, or another user's
                continue
            if marked:
                found.append(int(process.name))
        return found

    def gone(self, *, within_s: float = 30.0) -> bool:
        """Return whether all have ended, after some patience: one may just be importing."""
        deadline = time.monotonic() + within_s
        while self.living():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True
