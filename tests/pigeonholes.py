"""A forest with a query that no solver by resolution answers within an hour, however fast the machine is."""

from __future__ import annotations

import itertools

from wm.attacks.hardness import Formula, to_forest
from wm.forest import Forest


def hopelessly_slow() -> Forest:
    """Return a forest of one tree for each clause; the query is (label 1, all bits 0, the whole domain).

    The pigeonhole principle: 16 pigeons do not fit into 15 holes; every resolution proof is exponential.
    """
    pigeons, holes = range(16), range(15)

    def sits(pigeon: int, hole: int) -> int:
        return 1 + pigeon * len(holes) + hole

    clauses = [tuple(sits(pigeon, hole) for hole in holes) for pigeon in pigeons]
    clauses += [
        (-sits(one, hole), -sits(other, hole))
        for hole in holes
        for one, other in itertools.combinations(pigeons, 2)
    ]
    return to_forest(Formula(len(pigeons) * len(holes), tuple(clauses)), threshold=0.5)
