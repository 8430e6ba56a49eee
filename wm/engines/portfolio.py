"""`portfolio`: cheap checks, carried-over proofs, then two searches that take turns, and a global one.

A query that is not settled quickly shares its time with a search for its signature and label in the domain
[0, 1]^d. If that one proves impossible, every later query of the pair is answered at once. Budgets are
counted in choices of a leaf, not in seconds. In a small forest an incremental SAT solver is asked first
whether there is a witness, in the domain and then in the query's box. A query that stays hard is also given
to `learning`, in turn with `search`: each is sometimes hopeless where the other is quick. How much of its
tree `search` has seen tells which of them gets most of the time.

Earlier queries can only contribute proofs of `impossible`; a witness is found from its query alone, so
answers, apart from reasons, do not depend on history.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.engines import learning
from wm.engines.carried_proofs import PairRecord
from wm.engines.constrained import ConstrainedSolver
from wm.engines.encoding import build_problem, nearest_witness
from wm.engines.first_look import FirstLook, Open, quick_choices
from wm.engines.learning import LearnedFormula
from wm.engines.protocol import Answer, ForgeryQuery
from wm.forest import Forest

EASY_CHOICES = 40_000
"""A query settled within this many choices (about 15 milliseconds) is easy, and so are probably the next."""

EASY_SHARE, HARD_SHARE = 0.25, 5.0
"""Work on the global search for each unit of work on its pair's queries, within `EASY_CHOICES` and beyond. A
global proof saves all later queries, which soon costs less if these are hard."""

GLOBAL_WORK = 1_700_000_000
"""A pair's global search is given up after this much work (some 2 seconds); proofs on ijcnn1 take 1e9."""

GLOBAL_PROBE, GLOBAL_HOPE = 250_000_000, 5e-4
"""A global search is given up after this much work (some 0.3 seconds) if less than this share of its tree is
done: one that succeeds in time has seen several times as much by then."""

LEARN_AFTER = 120_000_000
"""After this much work (some 0.15 seconds) a query that is still open earns time for `learning`, too."""

LEARN_SETUP = 100_000_000
"""`learning` begins when it has earned this much: its preparation takes about as long."""

EVEN_WORK = 320_000_000_000
"""Where `search` seems to need this much work in all (some 400 seconds), both get the same time."""

LEAST_SHARE, LARGEST_SHARE = 0.05, 8.0
"""Limits on the time of `learning` for each second of `search`."""

_LEARNING_WORK = 1.6
"""Work of `search` that takes as long as a unit of `learning`."""

_CONFLICTS = 200
"""Conflicts of `learning` (some 10 milliseconds) between two looks at its work."""

_SLICE = 4_000
"""Choices of the search between two turns of the others."""


class PortfolioSolver:
    """Answers queries with the help of proofs from earlier ones."""

    answers_constrained = True
    first_look = FirstLook

    def __init__(self, forest: Forest) -> None:
        learning.compile_kernel()
        self._look = FirstLook(forest)
        self._geometry = self._look.geometry
        self._domain_cells = self._look.domain_cells
        self._words = int(forest.is_leaf.sum()) // 128  # about half of the leaves have a wanted vote

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        if query.is_constrained:
            return self._constrained.answer(query)
        looked = self._look.look(query)
        if isinstance(looked, Answer):
            return looked
        return self._look.conclude(looked, self._share(looked))

    @cached_property
    def _constrained(self) -> ConstrainedSolver:
        return ConstrainedSolver(self._geometry.forest)

    def _share(self, opened: Open) -> NDArray[np.float32] | None:
        """Advance the query's search, the global search and `learning` in turn until the query is settled.

        Returns the witness of `learning` if that was first.
        """
        geometry, query = self._geometry, opened.query
        search, record = opened.search, opened.record
        choices, work, granted = quick_choices(search), 0.0, 0.0
        is_domain = self._look.is_domain(opened.box)
        formula = None
        while not search.is_over:
            if not record.is_settled and not is_domain:
                self._advance_global(query, record)
                if record.is_impossible:
                    return None
            search.advance(_SLICE)
            choices += _SLICE
            work += _SLICE * search.words
            share = EASY_SHARE if choices <= EASY_CHOICES else HARD_SHARE
            record.earned += share * _SLICE * search.words
            if work < LEARN_AFTER or search.is_over:
                continue
            granted += learning_share(work, search.progress) * _SLICE * search.words
            if formula is None and granted < LEARN_SETUP:
                continue
            if formula is None:
                problem = build_problem(geometry.forest, geometry.bounds, query)
                formula = LearnedFormula(geometry.bounds, problem, query.centre)
            has_witness = None
            while has_witness is None and formula.work * _LEARNING_WORK < granted:
                has_witness = formula.has_witness(_CONFLICTS)
            if has_witness:
                return nearest_witness(geometry.forest, geometry.bounds, formula.point(), query)
            if has_witness is False:
                return None
        return None

    def _advance_global(self, query: ForgeryQuery, record: PairRecord) -> None:
        """Continue the global search until the work earned for it is spent, if that is a slice or more."""
        if record.search is None:
            if record.earned < _SLICE * self._words or not self._look.memory.has_room(record):
                return
            record.search = self._look.start(query, record, self._domain_cells)
        # Work earned while there was no room may exceed the limit for any pair.
        budget = min(record.earned, GLOBAL_WORK + _SLICE * record.search.words)
        choices = int((budget - record.work) / max(1, record.search.words))
        if choices < _SLICE:
            return
        record.work += choices * record.search.words
        if record.search.advance(choices):
            record.settle(impossible=record.search.found is None)
        elif record.work >= GLOBAL_WORK or (
            record.work >= GLOBAL_PROBE and record.search.progress < GLOBAL_HOPE
        ):
            record.settle(impossible=False)


def learning_share(work: float, progress: float) -> float:
    """Return the time for `learning` for each second of `search`.

    Parameters
    ----------
    work
        Work that `search` has done.
    progress
        Share of its tree that it has seen by that, 0 to 1.
    """
    return min(max(work / EVEN_WORK / max(progress, 1e-12), LEAST_SHARE), LARGEST_SHARE)
