"""Honest trees that won tournaments which a key decides: a scheme that was tried (docs/adr/0044).

For each position of a forest 2^L honest candidates meet in L layers of matches. A row j, known before the
key, has a fair coin for each position and layer, 1 or -1,

    coin (i, l, j) = bit j of the blocks HMAC(key, "coin" || u64(i) || u64(l) || u64(block)),

and of a pair the candidate with the larger sum_j coin w_j vote_j goes on, the first one on a tie. Two
candidates of the same law change places with equal chance, and each layer has coins of its own: over all keys
the winner's law is that of any candidate, and winners of positions are independent. So the forest is an honest
one, exactly (the tests count all coins of small cases).

With `level` above 0 each tree is honest down to that level, and in each subtree below it 2^L honest subtrees
compete on the rows that reach it: more matches for the same training, and as honest.

Null hypothesis: the suspect is independent of the key. Whatever its votes are, T = sum coin u, u its votes
less the vote shares of an honest forest, weighted, is then a weighted sum of independent fair coins. Its tail
is exact for few coins, else Chernoff's bound min over t of exp(-t T) prod cosh(t u).
"""

from __future__ import annotations

import hmac
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.rebuild import grafted, joined, student
from wm.claims.commitment import whole
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.lineup.trees import train_tree, tree_votes, votes_of_seeds
from wm.embedding.proof import VotingModel
from wm.forest import Forest
from wm.verification.boosted import log10_signs
from wm.verification.randomization import holm

REFERENCE_TREES = 200
"""Honest trees that say how divided an honest forest is on a row."""

DIVIDED = (0.03, 0.97)
"""Vote share of them for class 1 on a row that is used: nothing is to be decided on others."""

_LEAST_VARIANCE = 0.02
"""Added to a vote's variance before rows are weighted: nearly unanimous ones shall not outweigh the others."""

_MATCHED_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of the suspect's trees, the best ones, that are matched with positions."""

_DIGEST_BITS = 256


@dataclass(frozen=True, eq=False)
class Rows:
    """What an owner would commit to before the key is drawn.

    Attributes
    ----------
    X : (n, d) float32
    centre : (n,)
        Vote shares of an honest forest for class 1.
    weights : (n,)
    """

    X: NDArray[np.float32]
    centre: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def divided(
        cls,
        X: NDArray[np.float32],
        most: int,
        training: tuple[TrainingRows, TreeSettings],
        rng: np.random.Generator,
    ) -> Rows:
        """Keep the first rows, `most` at most, on which honest trees are divided.

        Parameters
        ----------
        X : (q, d)
        training
            Rows and settings of the honest trees, whose seeds `rng` draws.
        """
        X = np.ascontiguousarray(X)
        seeds = rng.integers(2**31, size=REFERENCE_TREES).tolist()
        share = votes_of_seeds(*training, seeds, X).mean(axis=0, dtype=np.float64)
        kept = np.flatnonzero((share > DIVIDED[0]) & (share < DIVIDED[1]))[:most]
        return cls(X[kept], share[kept], weights_of(share[kept]))


@dataclass(frozen=True)
class Evidence:
    """Upper bounds of log10 p, by what is known of a suspect; corrected for the number of tests (Holm)."""

    votes: float
    """By the votes of its trees, in order or matched, and by their shares."""
    in_order: float
    """By the votes in order alone, not corrected; 0 if there are not as many trees as positions."""
    matched: float
    """By votes whose order is lost, not corrected for other tests."""
    shares: float
    """By shares of votes alone."""
    labels: float
    """By labels alone."""


def weights_of(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of rows with given vote shares for class 1, in [0, 1]: (n,) -> (n,)."""
    found: NDArray[np.float64] = (share * (1.0 - share) + _LEAST_VARIANCE) ** -0.5
    return found


def keyed_coins(key: bytes, positions: int, layers: int, rows: int) -> NDArray[np.int8]:
    """Return the coins of a key, 1 or -1: (positions, layers, rows)."""
    blocks = -(-rows // _DIGEST_BITS)
    digests = b"".join(
        hmac.digest(key, b"coin" + whole(position) + whole(layer) + whole(block), "sha256")
        for position in range(positions)
        for layer in range(layers)
        for block in range(blocks)
    )
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(positions, layers, -1)
    return (2 * bits[:, :, :rows].astype(np.int8) - 1).astype(np.int8)


def winner(scores: NDArray[np.float64]) -> int:
    """Return which of 2^L candidates wins: scores (L, 2^L), the sums of each layer's coins times votes."""
    left = np.arange(scores.shape[1])
    for layer in scores:
        first, second = left[::2], left[1::2]
        left = np.where(layer[first] >= layer[second], first, second)
    return int(left[0])


def marked_forest(
    training: TrainingRows,
    settings: TreeSettings,
    rows: Rows,
    coins: NDArray[np.int8],
    rng: np.random.Generator,
    *,
    level: int = 0,
) -> Forest:
    """Return the forest whose trees, or subtrees below a level, won their tournaments.

    Parameters
    ----------
    coins : (m, L, n)
    rng
        Draws all seeds of training.
    level
        Smaller than the settings' depth.
    """
    return joined([_marked_tree(training, settings, rows, each, rng, level) for each in coins])


def _marked_tree(
    training: TrainingRows,
    settings: TreeSettings,
    rows: Rows,
    coins: NDArray[np.int8],
    rng: np.random.Generator,
    level: int,
) -> Forest:
    classes = np.arange(2)
    depth = None if settings.max_depth is None else settings.max_depth - level
    below = settings.model_copy(update={"max_depth": depth})
    tree = student(Forest.from_sklearn(train_tree(training, settings, int(rng.integers(2**31)))), classes)
    trained, asked = (_nodes_at(tree, X, level) for X in (training.X, rows.X))
    parts: dict[int, Forest] = {}
    for node in np.unique(trained):
        if tree.is_leaf[node]:
            continue
        some = TrainingRows(training.X[trained == node], training.y[trained == node])
        candidates = [train_tree(some, below, int(rng.integers(2**31))) for _ in range(2 ** len(coins))]
        here = asked == node
        votes = np.zeros((len(candidates), int(here.sum())))
        if here.any():
            votes[:] = [tree_votes(each, rows.X[here]) for each in candidates]
        scores = (coins[:, here] * rows.weights[here]) @ votes.T
        parts[int(node)] = student(Forest.from_sklearn(candidates[winner(scores)]), classes)
    return grafted(tree, parts)


def _nodes_at(tree: Forest, X: NDArray[np.float32], level: int) -> NDArray[np.int64]:
    """Return the node of a tree at a level, or the leaf above it, through which each row passes: (n,)."""
    node = tree.apply(X)[:, 0]
    while (tree.node_depth[node] > level).any():
        node = np.where(tree.node_depth[node] > level, tree.parent[node], node)
    return node


def evidence(suspect: VotingModel, rows: Rows, coins: NDArray[np.int8]) -> Evidence:
    """Judge a suspect with classes 0 and 1 by the coins of a key that is independent of it under the null.

    Parameters
    ----------
    coins : (m, L, n)
        Of all positions.
    """
    votes, labels = suspect.votes(rows.X).astype(np.float64), suspect.predict(rows.X).astype(np.float64)
    centred = (votes.T - rows.centre) * rows.weights
    in_order = _log10_sum(centred, coins) if len(centred) == len(coins) else 0.0
    matched = _log10_matched(centred, coins)
    shares, by_labels = (
        _log10_sum(np.broadcast_to((each - rows.centre) * rows.weights, (len(coins), len(rows.X))), coins)
        for each in (votes.mean(axis=1), labels)
    )
    return Evidence(min(holm([in_order, matched, shares])), in_order, matched, shares, by_labels)


def _log10_sum(centred: NDArray[np.float64], coins: NDArray[np.int8]) -> float:
    """Return log10 P(T >= t) of centred votes, (m, n), with coins (m, L, n): exact or a bound."""
    sizes = np.broadcast_to(centred[:, None], coins.shape).ravel()
    return log10_signs(sizes, coins.ravel().astype(np.int64))[0]


def _log10_matched(centred: NDArray[np.float64], coins: NDArray[np.int8]) -> float:
    """Return the bound for votes whose order is lost, (r, n), by the best matching of trees and positions.

    The bound of one matching holds for each of them, so that of the best one is multiplied by their number;
    and by the number of sizes that are tried.
    """
    from scipy.optimize import linear_sum_assignment

    trees, positions = len(centred), len(coins)
    alike = centred @ coins.sum(axis=1, dtype=np.float64).T
    tree, position = linear_sum_assignment(alike, maximize=True)
    spread = np.sqrt((centred[tree] ** 2).sum(axis=1))
    order = np.argsort(-alike[tree, position] / np.where(spread > 0, spread, 1.0), kind="stable")
    sizes = sorted({math.ceil(share * len(tree)) for share in _MATCHED_SHARES})
    found = []
    for size in sizes:
        best = order[:size]
        single = _log10_sum(centred[tree[best]], coins[position[best]])
        found.append(single + _log10_matchings(trees, positions, size))
    return min(0.0, min(found) + math.log10(len(sizes)))


def _log10_matchings(trees: int, positions: int, size: int) -> float:
    """Return log10 of the number of ways to match `size` trees with as many positions."""

    def log_falling(count: int) -> float:
        return math.lgamma(count + 1) - math.lgamma(count - size + 1)

    return (log_falling(trees) + log_falling(positions) - math.lgamma(size + 1)) / math.log(10)
