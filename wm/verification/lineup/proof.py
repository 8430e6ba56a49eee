"""A line-up that is kept: queries, candidates' votes and places, for many suspects of one forest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.lineup.trees import votes_of_seeds
from wm.embedding.proof import Scores, VotingModel
from wm.errors import ClaimError
from wm.formats import npz
from wm.verification.answers import Answers
from wm.verification.lineup.candidates import Lineup, lined_up
from wm.verification.lineup.evidence import BY_SHARES, lineup_tests
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import build_queries


@dataclass(frozen=True, eq=False)
class LineupProof:
    """A line-up with its queries: a `wm.embedding.proof.Proof`.

    Attributes
    ----------
    X : (q, d)
        Queries.
    lineup
        Of q queries.
    """

    X: NDArray[np.float32]
    lineup: Lineup

    @classmethod
    def of_seeds(
        cls,
        seeds: Sequence[int],
        rows: TrainingRows,
        training: TreeSettings,
        held_out: tuple[NDArray[np.float32], NDArray[np.int64]],
        judge: Judge,
        *,
        candidates: int,
        counts: Counts | None = None,
        n_jobs: int = 1,
    ) -> LineupProof:
        """Train decoys beside the trees of some seeds, one for each position of the owner's forest.

        Parameters
        ----------
        held_out, counts
            As in `wm.verification.lineup.queries.build_queries`.
        candidates
            N.
        """
        X = build_queries(counts or Counts(), rows, held_out, training, judge).X
        places, every = lined_up(seeds, candidates, judge)
        votes = votes_of_seeds(rows, training, every, X, n_jobs=n_jobs)
        return cls(X, Lineup(votes.reshape(len(seeds), candidates, len(X)), places))

    def scores(self, suspect: VotingModel) -> Scores:
        """Return the evidence on a suspect with classes 0 and 1."""
        votes = suspect.votes(self.X).astype(np.int64)
        by_votes = lineup_tests(self.lineup, {"votes": Answers("votes", votes)})
        labels = Answers("labels", suspect.predict(self.X).astype(np.int64))
        by_labels = lineup_tests(self.lineup, {"labels": labels})
        by_shares = [each.log10_p for each in by_votes if each.name.startswith(BY_SHARES)]
        return Scores(
            votes=min(each.log10_adjusted for each in by_votes),
            null="lineup",
            shares=min(0.0, min(by_shares) + math.log10(len(by_shares))),
            labels=min(each.log10_adjusted for each in by_labels),
        )

    def to_bytes(self) -> bytes:
        """Return the proof as npz bytes, a bit for each vote."""
        votes = self.lineup.votes
        return npz.pack(
            {
                "X": self.X,
                "places": self.lineup.places,
                "candidates": np.array(votes.shape[1]),
                "votes": np.packbits(votes.reshape(-1, votes.shape[2]), axis=1),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> LineupProof:
        """Read what `to_bytes` wrote.

        Raises
        ------
        ClaimError
            Other bytes.
        """
        arrays = npz.unpack(data, error=ClaimError, what="line-up")
        try:
            X, places, packed = (arrays[name] for name in ("X", "places", "votes"))
            count = int(arrays["candidates"].item())
            votes = np.unpackbits(packed, axis=1, count=len(X)).reshape(len(places), count, len(X))
        except (
            KeyError,
            TypeError,
            ValueError,
            OverflowError,
            MemoryError,
            np.exceptions.AxisError,
        ) as reason:
            raise ClaimError(
                f"line-up: not the arrays of a line-up ({' '.join(str(reason).split())})"
            ) from reason
        is_place = places.dtype.kind in "iu" and places.ndim == 1 and ((places >= 0) & (places < count)).all()
        if not votes.size or not is_place or X.ndim != 2 or X.dtype.kind != "f" or not np.isfinite(X).all():
            raise ClaimError("line-up: places or queries are damaged")
        return cls(X.astype(np.float32), Lineup(votes, places.astype(np.int64)))
