"""What the published artifact gets wrong, as experiments on our own models.

They run here, on forests, claims and rows of a store, and give equal results for equal stores; only where a
time limit strikes do they depend on the machine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orchestrator.stored_models import Place, Watermarked
from research.reproduction.published import DISTANCES, MARGIN, ONES_SHARE, TRIGGER_SHARE
from research.reproduction.runs import Run, at_published_point
from research.reproduction.spread import Spread
from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.datasets import Split
from wm.engines import ForgeryQuery, Status
from wm.engines.encoding import LeafBounds, leaf_bounds
from wm.engines.minimal import MinimalOutcome, MinimalSearch
from wm.signature import Signature

MOST_INSTANCES = 50
"""Test rows that an experiment asks about, at most: the first of those that the campaign's attacker has."""

LEAST_DISTANCE_TIMEOUT_S = 20.0


@dataclass(frozen=True, eq=False)
class Scene:
    """The watermark of a run that the paper's attacks are on, and the attacker's rows.

    Attributes
    ----------
    run, model, split
        Campaign, watermark, rows.
    rows : (n,)
        Indexes among the test rows.
    """

    run: Run
    model: Watermarked
    split: Split
    rows: NDArray[np.int64]

    @cached_property
    def bounds(self) -> LeafBounds:
        """Bounds of the model's leaves."""
        return leaf_bounds(self.model.forest)

    @property
    def owner(self) -> Signature:
        """The owner's signature."""
        return self.model.claim.bits

    def query(self, signature: Signature, row: int, eps: float) -> ForgeryQuery:
        """Return the question about one test row."""
        return ForgeryQuery(
            signature=signature, label=int(self.split.y_test[row]), centre=self.split.X_test[row], eps=eps
        )


def scene(run: Run) -> Scene:
    """Return the scene of a run that has a watermark at the published point."""
    place = Place(run.findings.spec.embedding.scheme[0], TRIGGER_SHARE, ONES_SHARE, 0)
    model, split = run.models.watermarked(place), run.models.split
    count = min(MOST_INSTANCES, len(model.claim.trigger_set.rows), len(split.y_test))
    rows = attacker_instances(run.findings.spec.seed, rows=len(split.y_test), count=count, repeat=0)
    return Scene(run, model, split, rows)


@dataclass(frozen=True, eq=False)
class SharedSeed:
    """Forgery by the owner's own signature, which is the attacker's first where both draw from one seed.

    Attributes
    ----------
    trigger_size, instances
        k, and the rows tried.
    agreement
        Share of bits that the owner's signature and our attacker's first have in common.
    owner
        Rows that the owner's signature forges at each of `published.DISTANCES`.
    undecided
        Rows whose least distance a limit left open.
    independent
        Sizes at the same distances, of the same rows, for the campaign's attacker's signatures.
    """

    run: Run
    trigger_size: int
    instances: int
    agreement: float
    owner: tuple[int, ...]
    undecided: int
    independent: tuple[Spread, ...]


def shared_seed(at: Scene) -> SharedSeed:
    """Forge with the owner's own signature, as an attacker with the owner's seed does."""
    found = least_distances(at, at.owner)
    trees = at.model.forest.n_trees
    first = attacker_signature(
        at.run.findings.spec.seed, number=0, length=trees, ones_share=ONES_SHARE, repeat=0
    )
    frame = at_published_point(at.run.findings.frame("distances"))
    same_rows = frame[(frame["repeat"] == 0) & (frame["instance"] < len(at.rows))]
    return SharedSeed(
        run=at.run,
        trigger_size=len(at.model.claim.trigger_set.rows),
        instances=len(at.rows),
        agreement=at.owner.agreement(first),
        owner=tuple(
            sum(one.forged_at is not None and one.forged_at <= eps for one in found) for eps in DISTANCES
        ),
        undecided=sum(one.status not in (Status.FORGED, Status.IMPOSSIBLE) for one in found),
        independent=tuple(
            Spread.of((same_rows["distance"] <= eps).groupby(same_rows["signature"]).sum())
            for eps in DISTANCES
        ),
    )


def least_distances(at: Scene, signature: Signature) -> list[MinimalOutcome]:
    """Return the least distance of each of the scene's rows."""
    with engines.create("portfolio", at.model.forest) as engine:
        search = MinimalSearch(at.model.forest, engine)
        return [
            search.find(at.query(signature, int(row), 1.0), timeout_s=LEAST_DISTANCE_TIMEOUT_S)
            for row in at.rows
        ]


@dataclass(frozen=True)
class Margins:
    """Answers of Z3 with the notebooks' margin, where the exact answer is ``forged``.

    Attributes
    ----------
    eps
        Distance asked about; None: for each row its own least distance.
    forged
        Queries that are ``forged``, exactly.
    lost
        Of these, the ones that the margin makes ``impossible``.
    undecided
        Of these, the ones that a limit left open.
    """

    eps: float | None
    forged: int
    lost: int
    undecided: int


def margins(at: Scene, *, timeout_s: float = 60.0) -> list[Margins]:
    """Ask Z3 with the notebooks' margin about queries of the owner's signature that can be forged."""
    found = least_distances(at, at.owner)
    forged = [
        (int(row), one.distance) for row, one in zip(at.rows, found, strict=True) if one.distance is not None
    ]
    results = []
    with engines.create("z3", at.model.forest, margin=MARGIN) as engine:
        for eps in (*DISTANCES, None):
            asked = [
                (row, least if eps is None else eps) for row, least in forged if eps is None or least <= eps
            ]
            counts = Counter(
                engine.solve(at.query(at.owner, row, distance), timeout_s=timeout_s).status
                for row, distance in asked
            )
            decided = counts[Status.FORGED] + counts[Status.IMPOSSIBLE]
            results.append(Margins(eps, len(asked), counts[Status.IMPOSSIBLE], len(asked) - decided))
    return results


@dataclass(frozen=True, eq=False)
class UnknownAsSat:
    """Z3's answers under a short limit, for an attacker's first signature, and what they truly are.

    Attributes
    ----------
    eps, timeout_s, instances
        Distance, limit for each query, number of queries.
    forged, impossible, unknown
        Answers within the limit, and queries without one.
    truly_forged, truly_impossible
        Answers of the exact engine, from the least distances.
    """

    run: Run
    eps: float
    timeout_s: float
    instances: int
    forged: int
    impossible: int
    unknown: int
    truly_forged: int
    truly_impossible: int

    @property
    def as_published(self) -> int:
        """Size of the forged set if unknown counts as sat."""
        return self.forged + self.unknown


def unknown_as_sat(at: Scene, *, eps: float, timeout_s: float, instances: int) -> UnknownAsSat:
    """Ask Z3 in the paper's form under a short limit."""
    signature = attacker_signature(
        at.run.findings.spec.seed, number=0, length=at.model.forest.n_trees, ones_share=ONES_SHARE, repeat=0
    )
    rows = at.rows[:instances]
    with engines.create("z3", at.model.forest) as engine:
        asked = Counter(
            engine.solve(at.query(signature, int(row), eps), timeout_s=timeout_s).status for row in rows
        )
    with engines.create("portfolio", at.model.forest) as engine:
        truth = Counter(
            engine.solve(at.query(signature, int(row), eps), timeout_s=LEAST_DISTANCE_TIMEOUT_S).status
            for row in rows
        )
    decided = asked[Status.FORGED] + asked[Status.IMPOSSIBLE]
    return UnknownAsSat(
        run=at.run,
        eps=eps,
        timeout_s=timeout_s,
        instances=len(rows),
        forged=asked[Status.FORGED],
        impossible=asked[Status.IMPOSSIBLE],
        unknown=len(rows) - decided,
        truly_forged=truth[Status.FORGED],
        truly_impossible=truth[Status.IMPOSSIBLE],
    )
