"""Theorem 1 of the paper: forgery is NP-hard, by reduction from 3SAT.

A formula in conjunctive normal form becomes a forest with one tree for each clause and one feature for each
variable: the tree votes +1 exactly on the points whose assignment satisfies the clause. The formula is
satisfiable iff the votes +1, ..., +1 can be forged (label +1, signature all zeros). So every formula is a
test for the engines, with an answer that is known independently, and hard formulas make hard queries.

Literals are those of DIMACS: variable j of 1..n is ``j``, its negation ``-j``; its feature is j - 1. Values
outside the ranges stated raise `QueryError`.

Examples
--------
(x1 or x2 or not x3) and (not x1 or x3 or x2) and (not x2 or x1 or x3), solved by forging:

>>> import numpy as np
>>> from wm import Signature, engines, hardness
>>> formula = hardness.Formula(3, ((1, 2, -3), (-1, 3, 2), (-2, 1, 3)))
>>> forest = hardness.to_forest(formula)  # one tree for each clause, one feature for each variable
>>> query = engines.ForgeryQuery(
...     signature=Signature.of("000"), label=1, centre=np.full(3, 0.5, dtype=np.float32), eps=1.0
... )
>>> with engines.create("sat", forest) as engine:
...     outcome = engine.solve(query, timeout_s=60)
>>> outcome.status.value
'forged'
>>> hardness.satisfies(formula, hardness.assignment(outcome.witness, formula))
True

A formula that no assignment satisfies cannot be forged:

>>> clauses = [(a, b, c) for a in (-1, 1) for b in (-2, 2) for c in (-3, 3)]
>>> impossible = hardness.Formula(3, tuple(clauses))
>>> hardness.brute_force(impossible) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import QueryError
from wm.forest import Forest

THRESHOLD = 0.0
"""Threshold of every node, as in the paper. On [0, 1] it reads "false iff exactly 0", which float32 keeps."""

MAX_BRUTE_FORCE_VARIABLES = 20
"""Largest number of variables for `brute_force`: 2^20 assignments take some milliseconds."""

_INTEGER = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class Formula:
    """A formula in conjunctive normal form.

    A clause has one or more literals. It may repeat a literal, which changes nothing, or hold a variable and
    its negation, which makes it always true; `clauses` is not simplified.
    """

    n_variables: int
    """At least 1; a variable need not occur."""
    clauses: tuple[tuple[int, ...], ...]
    """Non-empty tuples of DIMACS literals in -n..-1 and 1..n. Without any clause the formula is true."""

    def __post_init__(self) -> None:
        if (
            isinstance(self.n_variables, bool)
            or not isinstance(self.n_variables, int)
            or self.n_variables < 1
        ):
            raise QueryError(f"a formula has {self.n_variables!r} variables; at least 1 is needed")
        if not isinstance(self.clauses, tuple):
            raise QueryError("a formula's clauses must be a tuple of tuples of literals")
        for number, clause in enumerate(self.clauses, start=1):
            if not isinstance(clause, tuple) or not clause:
                raise QueryError(f"clause {number}: {clause!r} is not a tuple of one or more literals")
            for literal in clause:
                if isinstance(literal, bool) or not isinstance(literal, int):
                    raise QueryError(f"clause {number}: literal {literal!r} is not a whole number")
                if not 1 <= abs(literal) <= self.n_variables:
                    raise QueryError(
                        f"clause {number}: literal {literal} is outside -{self.n_variables}..-1 and "
                        f"1..{self.n_variables}"
                    )

    def to_dimacs(self) -> str:
        """Return the formula as DIMACS CNF text, one clause on each line."""
        lines = [f"p cnf {self.n_variables} {len(self.clauses)}"]
        lines += [" ".join(map(str, (*clause, 0))) for clause in self.clauses]
        return "\n".join(lines) + "\n"


def parse_dimacs(text: str) -> Formula:
    """Read a formula from DIMACS CNF text.

    Comment lines (``c ...``) are allowed everywhere, clauses may span lines or share one, and a line ``%``
    ends the formula, as in the SATLIB files.

    Raises
    ------
    QueryError
        A missing, repeated or malformed problem line, a word that is not a literal, a clause without its
        closing 0, an empty clause, or another number of clauses than announced; the message has the line
        number.
    """
    problem: tuple[int, int] | None = None
    clauses: list[tuple[int, ...]] = []
    clause: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("c"):
            continue
        if words[0].startswith("%"):
            break
        if words[0] == "p":
            if problem is not None:
                raise QueryError(f"DIMACS line {number}: a second problem line; give one formula at a time")
            problem = _problem_line(words, number)
            continue
        if problem is None:
            raise QueryError(f"DIMACS line {number}: a clause before the line 'p cnf VARIABLES CLAUSES'")
        for literal in _literals(words, number, problem[0]):
            if literal:
                clause.append(literal)
                continue
            if not clause:
                raise QueryError(f"DIMACS line {number}: an empty clause; each needs at least one literal")
            clauses.append(tuple(clause))
            clause.clear()
    if problem is None:
        raise QueryError("DIMACS text has no problem line; start with 'p cnf VARIABLES CLAUSES'")
    if clause:
        raise QueryError(f"DIMACS text ends inside clause {len(clauses) + 1}; close each clause with 0")
    if len(clauses) != problem[1]:
        raise QueryError(f"DIMACS text has {len(clauses)} clauses, its problem line announces {problem[1]}")
    return Formula(problem[0], tuple(clauses))


def _problem_line(words: list[str], number: int) -> tuple[int, int]:
    """Return the numbers of variables and clauses that a line ``p cnf VARIABLES CLAUSES`` announces."""
    counts = [int(word) for word in words[2:] if _INTEGER.fullmatch(word)]
    if len(words) != 4 or words[1] != "cnf" or len(counts) != 2 or counts[0] < 1 or counts[1] < 0:
        raise QueryError(
            f"DIMACS line {number}: {' '.join(words)[:40]!r} is not 'p cnf VARIABLES CLAUSES' with counts"
        )
    return counts[0], counts[1]


def _literals(words: list[str], number: int, n_variables: int) -> Iterator[int]:
    for word in words:
        if not _INTEGER.fullmatch(word) or abs(int(word)) > n_variables:
            raise QueryError(
                f"DIMACS line {number}: {word[:20]!r} is neither a literal of {n_variables} variables nor 0"
            )
        yield int(word)


def random_3cnf(n_variables: int, n_clauses: int, rng: np.random.Generator) -> Formula:
    """Draw a formula of 3-literal clauses, each uniformly among those with three distinct variables.

    Formulas with about 4.27 clauses for each variable are the hardest; half of them are satisfiable.
    """
    if n_variables < 3:
        raise QueryError(f"{n_variables} variables are too few: a clause has 3 distinct ones")
    if n_clauses < 0:
        raise QueryError(f"{n_clauses} clauses are impossible; give 0 or more")
    clauses = []
    for _ in range(n_clauses):
        variables = rng.choice(n_variables, size=3, replace=False) + 1
        signs = rng.choice([-1, 1], size=3)
        clauses.append(tuple(int(literal) for literal in variables * signs))
    return Formula(n_variables, tuple(clauses))


def to_forest(formula: Formula, *, threshold: float = THRESHOLD) -> Forest:
    """Return the forest of Theorem 1: classes -1 and +1, tree i votes +1 iff clause i is satisfied.

    A literal that a clause repeats is tested once. A clause with a variable and its negation becomes a single
    leaf that votes +1. So no path contradicts itself, and every leaf can be reached.

    Parameters
    ----------
    formula
        With at least one clause: a forest needs a tree.
    threshold
        In [0, 1), so that both truth values exist in the domain [0, 1]: variable j is true iff
        ``float32(x[j - 1]) > threshold``. The paper's is 0, for which only one value is false: a test of the
        engines' exactness. At 0.5 both truth values are equally far from the middle of the domain.
    """
    _check_threshold(threshold)
    if not formula.clauses:
        raise QueryError("a formula without clauses has no forest: give it at least one clause")
    trees = [_clause_tree(clause) for clause in formula.clauses]
    left, right, feature, value = (np.concatenate(arrays) for arrays in zip(*trees, strict=True))
    return Forest.from_arrays(
        offset=np.cumsum([0, *(len(tree[0]) for tree in trees)]),
        left=left,
        right=right,
        feature=feature,
        threshold=np.where(feature >= 0, threshold, 0.0),
        value=value,
        n_features=formula.n_variables,
        classes=[-1, 1],
    )


def _clause_tree(clause: tuple[int, ...]) -> tuple[NDArray[Any], ...]:
    """Return the chain of nodes that tests a clause's literals one after the other.

    Its arrays are `left`, `right`, `feature` and `value` as in `Forest`.

    Node 2i tests literal i; node 2i + 1 is the leaf +1 where it is true, node 2i + 2 the rest of the clause,
    which after the last literal is the leaf -1.
    """
    distinct = list(dict.fromkeys(clause))
    always_true = not {-literal for literal in clause}.isdisjoint(clause)
    literals = np.array([] if always_true else distinct, dtype=np.int64)
    nodes = 2 * len(literals) + 1
    left, right, feature = (np.full(nodes, -1, dtype=np.int32) for _ in range(3))
    test = np.arange(0, nodes - 1, 2)
    positive = literals > 0
    # A true variable is right of the threshold: a positive literal is satisfied there, a negative one left.
    left[test] = np.where(positive, test + 2, test + 1)
    right[test] = np.where(positive, test + 1, test + 2)
    feature[test] = np.abs(literals) - 1
    value = np.tile([0.0, 1.0], (nodes, 1))
    value[-1] = [0.0, 1.0] if always_true else [1.0, 0.0]
    return left, right, feature, value


def assignment(point: ArrayLike, formula: Formula, *, threshold: float = THRESHOLD) -> tuple[bool, ...]:
    """Return the assignment that a point of the forest's domain represents.

    Parameters
    ----------
    point : (n,)
        Converted to float32, as the forest does: 1e-60 is 0, and so false at threshold 0.
    formula
        n variables.
    threshold
        The one given to `to_forest`.

    Returns
    -------
    n truth values; variable j is true iff ``float32(x[j - 1]) > threshold``.
    """
    _check_threshold(threshold)
    try:
        with np.errstate(over="ignore"):
            values = np.asarray(point).astype(np.float32)
    except (TypeError, ValueError) as reason:
        raise QueryError(f"the point is not a row of numbers ({reason})") from reason
    if values.shape != (formula.n_variables,):
        raise QueryError(f"the point has shape {values.shape}; the formula needs ({formula.n_variables},)")
    if not np.isfinite(values).all():
        raise QueryError(f"feature {int(np.argmin(np.isfinite(values)))} of the point: not a finite number")
    # Compared in float64, as in the forest: a plain Python float would be rounded to float32 first.
    return tuple(bool(true) for true in values > np.float64(threshold))


def satisfies(formula: Formula, values: Sequence[bool]) -> bool:
    """Return whether an assignment (one truth value for each variable) makes every clause true."""
    if len(values) != formula.n_variables:
        raise QueryError(f"the assignment has {len(values)} values for {formula.n_variables} variables")
    return all(
        any(bool(values[abs(literal) - 1]) == (literal > 0) for literal in clause)
        for clause in formula.clauses
    )


def brute_force(formula: Formula) -> tuple[bool, ...] | None:
    """Return the first satisfying assignment of all 2^n, or None if there is none.

    Assignments are ordered as binary numbers whose lowest bit is variable 1, from all false.
    """
    if formula.n_variables > MAX_BRUTE_FORCE_VARIABLES:
        raise QueryError(
            f"{formula.n_variables} variables are too many to try all assignments; "
            f"at most {MAX_BRUTE_FORCE_VARIABLES}"
        )
    codes = np.arange(2**formula.n_variables, dtype=np.int64)
    for clause in formula.clauses:
        positive = sum(1 << (literal - 1) for literal in set(clause) if literal > 0)
        negative = sum(1 << (-literal - 1) for literal in set(clause) if literal < 0)
        codes = codes[((codes & positive) | (~codes & negative)) != 0]
    if not len(codes):
        return None
    first = int(codes[0])
    return tuple(bool(first >> variable & 1) for variable in range(formula.n_variables))


def _check_threshold(threshold: float) -> None:
    if not 0 <= threshold < 1:
        raise QueryError(
            f"the threshold {threshold} is outside [0, 1): one truth value would not exist there"
        )
