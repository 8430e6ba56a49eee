"""Randomization tests of protocol 3: a fixed list, each exact or bounded from above, combined by Holm.

Null hypothesis: the suspect is independent of the beacon's value. Whatever the pool, its labels, the suspect
and the claimant's intentions are, the draw is then uniform: the k trigger rows are a random subset of the
pool (and, in an opening, of the rows that are shown), and the ones of the signature are a random subset of
the trees, independently of the rows. So every p-value is one over these draws; nothing is assumed about data.
Of several classes a vote is right or wrong too; which wrong class it is for, no test reads.

| answers | test | statistic |
| --- | --- | --- |
| votes of m trees | bits | errors on trigger rows in the trees with bit 1; of a codebook `log10_in_order` |
| votes, codebook | bits, aligned | the best matching of the trees with the codebook's columns, `match_columns` |
| votes | rows by votes | rank of closeness of the share of wrong trees to the share of ones, or rank of that share among the rows of the same label, which pairs of trees that cancel do not change |
| probabilities | rows by probabilities | the same with the probability of the wrong classes |
| probabilities | rows by rank | rank of the wrong classes' probability among the rows of the same label, which no monotone recalibration changes |
| labels | rows by labels | wrong labels on trigger rows (hypergeometric) |
"""  # noqa: E501 - a table's rows are one line each

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wm.codebook import Codebook, Marks
from wm.statistics import doubled_ranks
from wm.verification.answers import AnswerKind, Answers
from wm.verification.codebook import log10_aligned_floor, log10_floor, log10_in_order, match_columns
from wm.verification.tails import log10_p_value, log10_tail


@dataclass(frozen=True)
class Test:
    """One test of the list.

    Attributes
    ----------
    name
        As in the table above.
    log10_p
        p-value as a power of ten.
    log10_floor
        The smallest that this test can give.
    log10_adjusted
        p-value adjusted for the number of tests (Holm 1979), as a power of ten.
    figure
        The statistic in words: what was seen on trigger rows and on controls.
    """

    __test__ = False  # pytest: this class is no test case

    name: str
    log10_p: float
    log10_floor: float
    log10_adjusted: float
    figure: str


@dataclass(frozen=True, eq=False)
class RowTruth:
    """What a judge knows of the rows that a suspect answered.

    Attributes
    ----------
    labels : (n,)
        0, 1, ....
    is_trigger : (n,) bool
        Which of them are trigger rows.
    signature
        m bits, as drawn; of a codebook those of the trigger rows, in this order.
    """

    labels: NDArray[np.int64]
    is_trigger: NDArray[np.bool_]
    signature: Marks


def run_tests(answers: Mapping[AnswerKind, Answers], truth: RowTruth) -> tuple[Test, ...]:
    """Return every test that the answers allow, with p-values adjusted for their number.

    Parameters
    ----------
    answers
        Of each kind that the suspect gave, on the same n rows, in the order of `truth`.
    """
    return adjusted(each_test(answers, truth))


def each_test(answers: Mapping[AnswerKind, Answers], truth: RowTruth) -> list[Test]:
    """Return the tests of `run_tests` before they are adjusted."""
    return [each for kind, given in answers.items() for each in _TESTS[kind](given, truth)]


def adjusted(found: Sequence[Test]) -> tuple[Test, ...]:
    """Return tests with p-values adjusted for their number."""
    logs = holm([each.log10_p for each in found])
    return tuple(replace(each, log10_adjusted=value) for each, value in zip(found, logs, strict=True))


def row_floor(pool: int, triggers: int) -> float:
    """Return the smallest log10 p of a test over rows: one draw of C(pool, triggers)."""
    return -_log10_subsets(pool, triggers)


def bit_floor(trees: int, ones: int) -> float:
    """Return the smallest log10 p of the test over bits."""
    return -_log10_subsets(trees, ones)


def marks_floor(marks: Marks) -> float:
    """Return the smallest log10 p of the test over the bits of a signature or codebook, trees in order."""
    if isinstance(marks, Codebook):
        return log10_floor(marks.array == 1, marks.share)
    return bit_floor(len(marks), marks.ones)


def _log10_subsets(count: int, size: int) -> float:
    logs = math.lgamma(count + 1) - math.lgamma(size + 1) - math.lgamma(count - size + 1)
    return logs / math.log(10)


def _votes(answers: Answers, truth: RowTruth) -> Iterator[Test]:
    wrong = answers.wrong_votes(truth.labels)
    signature = truth.signature
    if isinstance(signature, Codebook):
        yield from _codebook(wrong, truth.is_trigger, signature, distinct_trees(answers.values))
    elif wrong.shape[1] == signature.trees:
        errors = wrong[truth.is_trigger].sum(axis=0).astype(np.int64)
        marked, others = errors[signature.array == 1], errors[signature.array == 0]
        size = int(truth.is_trigger.sum())
        matched = int(marked.sum() + others.size * size - others.sum())
        yield unadjusted(
            "bits",
            log10_p_value(errors, signature),
            marks_floor(signature),
            f"{matched} of {size * len(signature)} votes on trigger rows fit the signature",
        )
    shares = wrong.mean(axis=1)
    close = _closeness("rows by votes", shares, truth, "share of wrong trees")
    high = _ranked("rows by votes", shares, truth, "share of wrong trees")
    best, choice = min(close, high, key=lambda each: each.log10_p), math.log10(2)
    yield unadjusted(best.name, min(0.0, best.log10_p + choice), best.log10_floor + choice, best.figure)


def distinct_trees(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the trees, ascending, of votes (n, t) that are not for one class only, one of each equal ones.

    Others can be added by the thousand without any change of answers, and raise the number of matchings.
    """
    first = {votes[:, tree].tobytes(): tree for tree in range(votes.shape[1] - 1, -1, -1)}
    return np.array(sorted(tree for tree in first.values() if np.ptp(votes[:, tree])), dtype=np.int64)


def _codebook(
    wrong: NDArray[np.bool_], is_trigger: NDArray[np.bool_], codebook: Codebook, distinct: NDArray[np.int64]
) -> Iterator[Test]:
    votes, controls = wrong[is_trigger], wrong[~is_trigger]
    bits, rho = codebook.array == 1, codebook.share
    if votes.shape[1] == codebook.trees:
        # As if one more control had been asked, half right: no rate is 0.
        error = (controls.sum() + 0.5) / (controls.size + 1)
        yield unadjusted(
            "bits",
            log10_in_order(votes, bits, rho, float(error)),
            marks_floor(codebook),
            f"{int((votes == bits).sum())} of {bits.size} votes on trigger rows fit the codebook; "
            f"{int((votes & bits).sum())} of {int(votes.sum())} wrong votes have bit 1",
        )
    errors = (controls.sum(axis=0) + 0.5) / (len(controls) + 1)
    found = match_columns(votes[:, distinct], bits, rho, errors[distinct])
    trees = f"of {votes.shape[1]} trees, {len(distinct)} of which vote differently, "
    fit = f"{found.trees} fit" if found.trees else "none are more like columns of the codebook than by chance"
    yield unadjusted(
        "bits, aligned",
        found.log10_p,
        log10_aligned_floor(bits, max(1, len(distinct)), rho),
        f"{trees}{fit}{' a column of the codebook' if found.trees else ''}, whatever their order",
    )


def _probabilities(answers: Answers, truth: RowTruth) -> Iterator[Test]:
    of_wrong = answers.wrong(truth.labels)
    yield _closeness("rows by probabilities", of_wrong, truth, "probability of the wrong class")
    yield _ranked("rows by rank", of_wrong, truth, "probability of the wrong class")


def _labels(answers: Answers, truth: RowTruth) -> Iterator[Test]:
    wrong = (answers.values != truth.labels).astype(np.int64)
    yield _rows("rows by labels", wrong, truth, _means(wrong, truth, "share of wrong labels"))


_TESTS = {"votes": _votes, "probabilities": _probabilities, "labels": _labels}


def _closeness(name: str, shares: NDArray[np.float64], truth: RowTruth, what: str) -> Test:
    expected = truth.signature.share
    # Rounded, so that equal distances on either side of the expected share count as equal.
    scores = doubled_ranks(-np.round(np.abs(shares - expected), 9))
    return _rows(name, scores, truth, f"{_means(shares, truth, what)}; expected {expected:.3g}")


def _ranked(name: str, wrong: NDArray[np.float64], truth: RowTruth, what: str) -> Test:
    """Return the test of ranks within each label, which no monotone change of the shares changes."""
    rounded = np.round(wrong, 9)
    scores = np.zeros(len(wrong), dtype=np.int64)
    for label in np.unique(truth.labels):
        rows = truth.labels == label
        ranks = doubled_ranks(rounded[rows])
        # The same top score for each label, however many rows it has.
        scores[rows] = 2 * len(scores) + ranks - 2 * len(ranks)
    return _rows(name, scores, truth, _means(wrong, truth, what))


def _rows(name: str, scores: NDArray[np.int64], truth: RowTruth, figure: str) -> Test:
    size = int(truth.is_trigger.sum())
    order = np.argsort(~truth.is_trigger, kind="stable")  # the tail is that of the first `size` scores
    log10_p, _ = log10_tail(scores[order], size)
    return unadjusted(name, log10_p, row_floor(len(scores), size), figure)


def _means(values: NDArray[np.float64] | NDArray[np.int64], truth: RowTruth, what: str) -> str:
    on, off = values[truth.is_trigger].mean(), values[~truth.is_trigger].mean()
    return f"{what} {on:.3g} on trigger rows, {off:.3g} on controls"


def unadjusted(name: str, log10_p: float, floor: float, figure: str) -> Test:
    """Return a test that is not adjusted for the number of tests yet."""
    return Test(name, log10_p, floor, log10_p, figure)


def holm(logs: list[float]) -> list[float]:
    """Return Holm's adjusted p-values of p-values that may be far below the range of a double."""
    order = np.argsort(logs, kind="stable")
    steps = np.log10(np.arange(len(logs), 0, -1)) + np.array(logs)[order]
    adjusted = np.empty(len(logs))
    adjusted[order] = np.minimum(0.0, np.maximum.accumulate(steps))
    return [float(value) for value in adjusted]
