"""All engines against each other and against brute force, on small random forests with awkward traits.

    python -m research.benchmarks.fuzz [--count N] [--seed S] [-o research/benchmarks/results/fuzz.json]

Asks N queries of every engine, in this process, and compares each answer with brute force over the cells of
the box. Every witness is replayed: box and range in exact arithmetic, and each tree's vote. Of the queries
found impossible, a share is proved once more by `sat` with `certify`, and spoilt proofs are put to the
checker: one without its end, and one for a query that has a witness. Prints counts; each disagreement is
printed with the seed and number that give it again, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from pysat.solvers import Solver as PysatSolver

from research.benchmarks import common
from wm import engines
from wm.engines import Answer, ForgeryQuery
from wm.engines.cnf import encode
from wm.engines.encoding import build_problem, leaf_bounds, query_box
from wm.engines.proof import ProofChecker, ProofError
from wm.engines.protocol import OutOfResourcesError
from wm.engines.sat import SatSolver
from wm.forest import Forest
from wm.testing import ForgeryCase, forgeable, in_box, random_case, wanted_votes

_QUERIES_PER_FOREST = 8
_SHOWN = 10
"""Disagreements that are printed whole."""


@dataclass(frozen=True)
class Row:
    """One engine."""

    engine: str
    queries: int
    forged: int
    impossible: int
    disagreements: int  # answers other than brute force's, and witnesses that did not replay
    reasons: dict[str, int]  # how many impossible answers followed from what
    seconds: float  # of all answers together


@dataclass
class Proofs:
    """Counts of what the independent checker was asked."""

    accepted: int = 0  # impossible queries whose certificate was accepted
    searched: int = 0  # that needed a proof: not settled by an empty box or a tree without a wanted leaf
    refused: int = 0  # genuine certificates that were refused; should be 0
    truncated_refused: int = 0  # spoilt proofs that were refused: without the empty clause
    misplaced_refused: int = 0  # the same: put to a query that has a witness
    believed: int = 0  # spoilt proofs that were accepted; should be 0


@dataclass
class Tally:
    """What a run has found so far."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    faults: Counter[str] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    proofs: Proofs = field(default_factory=Proofs)

    def row(self, name: str) -> Row:
        """Return the counts of one engine."""
        forged, impossible = self.answers[name, "forged"], self.answers[name, "impossible"]
        reasons = dict(sorted(self.reasons.get(name, Counter()).items()))
        counts = (forged + impossible, forged, impossible, self.faults[name])
        return Row(name, *counts, reasons, self.seconds[name])

    def fault(self, name: str, place: str, text: str) -> None:
        """Count a disagreement and print the first ones."""
        self.faults[name] += 1
        if self.faults.total() <= _SHOWN:
            print(f"{place}: {name}: {text}", file=sys.stderr)


def main() -> int:
    """Run, print and keep the counts; return the exit code."""
    parser = common.parser(__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="queries, each put to every engine")
    parser.add_argument("--engine", action="append", choices=engines.names())
    parser.add_argument("--proof-share", type=float, default=0.5, help="share of forests with proofs")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or engines.names()
    tally = run(arguments)
    rows = [tally.row(name) for name in arguments.engine]
    print(table(rows))
    print(f"proofs: {tally.proofs}")
    traits = dict(sorted(tally.traits.items()))
    print(f"queries with each trait: {traits}")
    common.save_results(arguments, rows, proofs=vars(tally.proofs), traits=traits)
    wrong = tally.faults.total()
    print(f"{arguments.count} queries, {wrong} disagreements")
    return 1 if wrong else 0


def run(arguments: argparse.Namespace) -> Tally:
    """Put every query to every engine."""
    tally = Tally()
    for place, case, rng in cases(arguments.seed, arguments.count):
        solvers = {name: engines.solver_class(name)(case.forest) for name in arguments.engine}
        truth = [forgeable(case.forest, query) for query in case.queries]
        _count_traits(tally, case)
        for number, query in enumerate(case.queries):
            here = f"{place}, query {number}"
            planted = case.planted[number]
            if planted is not None and in_box(planted, query.centre, query.eps) and not truth[number]:
                tally.fault("brute force", here, "overlooks the planted point")
            for name, solver in solvers.items():
                started = time.perf_counter()
                answer = solver.answer(query)
                tally.seconds[name] += time.perf_counter() - started
                _judge(tally, name, here, case.forest, query, answer, truth[number])
        if rng.random() < arguments.proof_share:
            _prove(tally, place, case, truth)
    return tally


def cases(seed: int, count: int) -> Iterator[tuple[str, ForgeryCase, np.random.Generator]]:
    """Yield forests with up to 8 queries each, `count` queries in all; each forest has its own generator."""
    for number, start in enumerate(range(0, count, _QUERIES_PER_FOREST)):
        rng = np.random.default_rng([seed, number])
        yield f"seed {seed}, forest {number}", random_case(rng, min(_QUERIES_PER_FOREST, count - start)), rng


def _count_traits(tally: Tally, case: ForgeryCase) -> None:
    for query, planted in zip(case.queries, case.planted, strict=True):
        lower, upper = query_box(query.centre, query.eps)
        found = {
            "planted point": planted is not None,
            "centre outside [0, 1]": bool(((query.centre < 0) | (query.centre > 1)).any()),
            "empty box": bool((lower > upper).any()),
            "box of a single point": bool((lower == upper).all()),
        }
        tally.traits.update(case.traits() | {trait for trait, holds in found.items() if holds})


def _judge(
    tally: Tally, name: str, place: str, forest: Forest, query: ForgeryQuery, answer: Answer, truth: bool
) -> None:
    """Hold one answer against brute force, and its witness against the forest."""
    witness = answer.witness
    tally.answers[name, "impossible" if witness is None else "forged"] += 1
    if witness is None:
        tally.reasons.setdefault(name, Counter())[answer.reason] += 1
    if (witness is not None) != truth:
        tally.fault(name, place, f"says {answer}, brute force {truth}")
    elif witness is not None and (
        witness.dtype != np.float32
        or witness.shape != query.centre.shape
        or not in_box(witness, query.centre, query.eps)
        or not wanted_votes(forest, witness[None], query).all()
    ):
        tally.fault(name, place, f"the witness {witness.tolist()} does not replay")


def _prove(tally: Tally, place: str, case: ForgeryCase, truth: list[bool]) -> None:
    """Have the impossible queries of a case proved, and put spoilt proofs to the checker."""
    certifying, checker = SatSolver(case.forest, certify=True), ProofChecker(case.forest)
    possible = [query for query, is_forgeable in zip(case.queries, truth, strict=True) if is_forgeable]
    for query, is_forgeable in zip(case.queries, truth, strict=True):
        if is_forgeable:
            continue
        try:
            reason = certifying.answer(query).reason
        except OutOfResourcesError as refusal:
            tally.proofs.refused += 1
            tally.fault("certify", place, str(refusal))
            continue
        tally.proofs.accepted += 1
        if "proof checked" not in reason:
            continue
        tally.proofs.searched += 1
        names, proof = written_proof(case.forest, query)
        without_end = proof[: proof.index("0")]
        tally.proofs.truncated_refused += _refused(tally, place, checker, query, names, without_end)
        for other in possible:
            tally.proofs.misplaced_refused += _refused(tally, place, checker, other, names, proof)


def written_proof(forest: Forest, query: ForgeryQuery) -> tuple[list[tuple[int, float]], list[str]]:
    """Return what a solver's variables stand for, and its proof that a query is impossible."""
    bounds = leaf_bounds(forest)
    problem = build_problem(forest, bounds, query)
    encoding = encode(bounds, problem.unwanted, problem.lower, problem.upper)
    with PysatSolver(name="glucose4", bootstrap_with=encoding.order + encoding.leaves, with_proof=True) as it:
        it.solve()
        proof: list[str] = it.get_proof()
    names = list(zip(encoding.feature.tolist(), encoding.threshold.tolist(), strict=True))
    return names, proof if "0" in proof else [*proof, "0"]


def _refused(
    tally: Tally,
    place: str,
    checker: ProofChecker,
    query: ForgeryQuery,
    names: list[tuple[int, float]],
    proof: list[str],
) -> bool:
    """Return whether the checker refuses a spoilt proof, as it must."""
    try:
        checker.check(query, names, proof)
    except ProofError:
        return True
    tally.proofs.believed += 1
    tally.fault("proof checker", place, f"believes the spoilt proof {proof}")
    return False


def table(rows: Sequence[Row]) -> str:
    """Return the counts as a Markdown table."""
    return common.table(
        "engine | queries | forged | impossible | disagreements | impossible because of | ms each",
        rows,
        lambda row: (
            f"{row.engine} | {row.queries} | {row.forged} | {row.impossible} | {row.disagreements} "
            f"| {', '.join(f'{reason} {count}' for reason, count in row.reasons.items())} "
            f"| {1e3 * row.seconds / max(1, row.queries):.3g}"
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
