"""What the published artifact gets wrong, as experiments on our own models.

They run here, on forests, claims and rows of a store, and give equal results for equal stores; only where a
time limit strikes do they depend on the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orchestrator.results.forged_sets import attempts
from orchestrator.results.stored_models import Place, Watermarked
from orchestrator.store.database import Store
from research.reproduction.published import DISTANCES, MARGIN, ONES_SHARE, TRIGGER_SHARE
from research.reproduction.runs import Run, at_published_point
from research.reproduction.spread import Spread
from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.datasets import Split
from wm.engines import ForgeryQuery, Status
from wm.engines.encoding import LeafBounds, leaf_bounds, nearest_witness, query_box
from wm.engines.minimal import MinimalOutcome, MinimalSearch
from wm.signature import Signature

MOST_INSTANCES = 50
"""Test rows that an experiment asks about, at most: the first of those that the campaign's attacker has."""

LEAST_DISTANCE_TIMEOUT_S = 20.0


@dataclass(frozen=True, eq=False)
class Scene:
    """The watermark of a run that the paper's attacks are on, and the attacker's rows."""

    run: Run
    model: Watermarked
    split: Split
    rows: NDArray[np.int64]  # (n,) indexes among the test rows

    @cached_property
    def bounds(self) -> LeafBounds:
        """Bounds of the model's leaves."""
        return leaf_bounds(self.model.forest)

    @property
    def owner(self) -> Signature:
        """The owner's signature."""
        return Signature.of(self.model.claim.signature)

    @property
    def attacker(self) -> Signature:
        """The attacker's first signature."""
        seed, trees = self.run.findings.spec.seed, self.model.forest.n_trees
        return attacker_signature(seed, number=0, length=trees, ones_share=ONES_SHARE, repeat=0)

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
    """Forgery by the owner's own signature, which is the attacker's first where both draw from one seed."""

    trigger_size: int
    instances: int  # rows tried
    agreement: float  # share of bits that the owner's signature and our attacker's first have in common
    owner: tuple[int, ...]  # rows that the owner's signature forges at each of `published.DISTANCES`
    undecided: int  # rows whose least distance a limit left open
    independent: tuple[Spread, ...]  # the same for the campaign's attacker's signatures


def shared_seed(at: Scene) -> SharedSeed:
    """Forge with the owner's own signature, as an attacker with the owner's seed does."""
    found = least_distances(at, at.owner)
    frame = at_published_point(at.run.findings.frame("distances"))
    same_rows = frame[(frame["repeat"] == 0) & (frame["instance"] < len(at.rows))]
    forged = [one.forged_at for one in found if one.forged_at is not None]
    return SharedSeed(
        trigger_size=len(at.model.claim.trigger_set.rows),
        instances=len(at.rows),
        agreement=at.owner.agreement(at.attacker),
        owner=tuple(sum(least <= eps for least in forged) for eps in DISTANCES),
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
        queries = (at.query(signature, int(row), 1.0) for row in at.rows)
        return [search.find(query, timeout_s=LEAST_DISTANCE_TIMEOUT_S) for query in queries]


@dataclass(frozen=True)
class Margins:
    """Answers of Z3 with the notebooks' margin to queries that are ``forged``, exactly."""

    eps: float | None  # None: for each row its own least distance
    forged: int
    lost: int  # of these, those that the margin makes ``impossible``
    undecided: int  # and those that a limit left open


def margins(at: Scene, *, timeout_s: float = 60.0) -> list[Margins]:
    """Ask Z3 with the notebooks' margin about queries of the owner's signature that can be forged."""
    found = zip(at.rows.tolist(), least_distances(at, at.owner), strict=True)
    forged = [(row, one.distance) for row, one in found if one.distance is not None]
    results = []
    with engines.create("z3", at.model.forest, margin=MARGIN) as engine:
        for eps in (*DISTANCES, None):
            asked = [
                at.query(at.owner, row, least if eps is None else eps)
                for row, least in forged
                if eps is None or least <= eps
            ]
            counts = Counter(engine.solve(query, timeout_s=timeout_s).status for query in asked)
            decided = counts[Status.FORGED] + counts[Status.IMPOSSIBLE]
            results.append(Margins(eps, len(asked), counts[Status.IMPOSSIBLE], len(asked) - decided))
    return results


@dataclass(frozen=True, eq=False)
class UnknownAsSat:
    """Z3's answers under a short limit, for an attacker's first signature, and those of the exact engine."""

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


def unknown_as_sat(at: Scene, eps: float, timeout_s: float, instances: int) -> UnknownAsSat:
    """Ask Z3 in the paper's form under a short limit."""
    queries = [at.query(at.attacker, int(row), eps) for row in at.rows[:instances]]
    counts = []
    for name, limit_s in (("z3", timeout_s), ("portfolio", LEAST_DISTANCE_TIMEOUT_S)):
        with engines.create(name, at.model.forest) as engine:
            found = Counter(engine.solve(query, timeout_s=limit_s).status for query in queries)
        counts.append((found[Status.FORGED], found[Status.IMPOSSIBLE]))
    (forged, impossible), truly = counts
    unknown = len(queries) - forged - impossible
    return UnknownAsSat(len(queries), forged, impossible, unknown, *truly)


@dataclass(frozen=True, eq=False)
class FreeChoice:
    """Accuracy of the standard forest on forged sets that differ only in the point picked from each cell.

    All points of a cell draw the same votes from the model.
    """

    sets: int
    instances: int  # rows of all sets
    nearest: Spread  # over sets: of the point of each row's cell that is nearest to the original
    random: Spread  # of a uniform point of what the box leaves free
    farthest: Spread  # of a corner of that


def free_choice(store: Store, at: Scene, eps: float) -> FreeChoice | None:
    """Pick other points of the cells that a campaign's instances forged at `eps` are in; None without any."""
    here = []
    for one in attempts(store, at.run.findings.record.id, at.run.models):
        place = (one.place.trigger_share, one.place.ones_share, one.place.repeat)
        if one.eps == eps and one.forgeries and place == (TRIGGER_SHARE, ONES_SHARE, 0):
            here.append(one)
    if not here:
        return None
    rng = np.random.default_rng(at.run.findings.spec.seed)
    accuracies = []
    for attempt in here:
        signature, forged = attempt.signature, attempt.forgeries
        points = [points_of_cell(at, signature, one.row, one.forged, eps, rng) for one in forged]
        labels = [one.label for one in forged]
        accuracies.append(
            [at.model.standard.accuracy(np.array(rows), labels) for rows in zip(*points, strict=True)]
        )
    nearest, uniform, farthest = (Spread.of(column) for column in np.array(accuracies).T)
    instances = sum(len(one.forgeries) for one in here)
    return FreeChoice(len(here), instances, nearest, uniform, farthest)


def points_of_cell(
    at: Scene,
    signature: Signature,
    row: int,
    forged: NDArray[np.float32],
    eps: float,
    rng: np.random.Generator,
) -> Sequence[NDArray[np.float32]]:
    """Return a forged point, a uniform one and a corner of what its cell and the row's box have in common.

    Parameters
    ----------
    row
        Index among the test rows.
    forged : (d,)
        Within `eps` of it.
    """
    lower, upper = query_box(at.split.X_test[row].astype(np.float64), eps)
    wanted = (rng.uniform(lower, upper), np.where(rng.integers(0, 2, len(lower)) == 1, lower, upper))
    label = int(at.split.y_test[row])
    # Of a point of the box, the nearest one in the cell is in both: each feature is cut on its own.
    queries = (ForgeryQuery(signature=signature, label=label, centre=point, eps=1.0) for point in wanted)
    return [forged, *(nearest_witness(at.model.forest, at.bounds, forged, query) for query in queries)]
