"""The owner's procedure for a line-up: commit to keys, have the draw made, train what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from wm.claims.beacons.base import Receipt
from wm.claims.commitment import merkle_root, whole
from wm.claims.document import first_error
from wm.claims.draw import random_bytes
from wm.claims.lineup import LineupClaim, LineupHeader, drawn_value, new_lineup, with_receipts
from wm.claims.lineup_keys import place, position_secret, tree_seed
from wm.claims.lineup_settings import Settings, TreeSettings
from wm.embedding.lineup.boosting import owner_rounds, released_content
from wm.embedding.lineup.context import TrainingRows, canonical_rows, context_hash, environment, owner_seeds
from wm.embedding.lineup.entropy import check_entropy
from wm.embedding.lineup.trees import forest_of_seeds
from wm.errors import ClaimError, EmbeddingError
from wm.forest import NODE_ARRAYS, Forest
from wm.formats.scrubbing import scrubbed
from wm.interface import Interface, Owned, Released
from wm.owner_rows import OwnerRows


@dataclass(frozen=True, eq=False, repr=False)
class CommittedLineup(Owned):
    """A claim whose draw is open, and the candidates that it commits to.

    Attributes
    ----------
    claim
        Secret.
    candidates
        m N trees, position after position, of mode `committed`: secret until a judge needs them; else None.
    """

    claim: LineupClaim
    candidates: Forest | None


@dataclass(frozen=True, eq=False, repr=False)
class OwnedLineup(Released):
    """An honest forest of keyed seeds and what its owner keeps.

    Attributes
    ----------
    forest
        To be released: scrubbed of everything that its votes do not need, see `wm.formats.scrubbing`.
    claim
        With the beacons' receipts: secret.
    interface
        As in `wm.embedding.claimed.OwnedForest`.
    """

    forest: Forest
    claim: LineupClaim
    interface: Interface | None = None


def commit_lineup(
    given: OwnerRows,
    *,
    trees: int,
    training: Settings,
    owner: str,
    model_id: str,
    committed: int | None = None,
    seed: int | None = None,
    source: dict[str, Any] | None = None,
    must_differ: bool = True,
    n_jobs: int = 1,
) -> CommittedLineup:
    """Commit to the keys of an honest forest that is still to be trained.

    Parameters
    ----------
    given
        The training rows, of two classes.
    trees
        m.
    committed
        N, to train and commit to N candidates for each position (mode `committed`); None leaves candidates to
        a judge who has the training rows (mode `retrained`).
    owner
        The owner's public key, hex.
    seed
        None draws the secrets from the system. A seed makes a rehearsal: whoever guesses it knows them.
    source
        How the rows were read; kept in the claim, no verdict reads it.
    must_differ
        Whether rows and settings are refused on which all seeds give the same trees, see `check_entropy`.

    Raises
    ------
    EmbeddingError
        Rows, settings or names that no line-up can have.
    """
    rows = canonical_rows(given.X, given.y)
    if must_differ:
        check_entropy(training, rows, trees)
    versions = environment()
    context = context_hash(rows, training, trees=trees, model_id=model_id, environment=versions)
    secret, salt = (random_bytes(seed, name) for name in ("secret", "salt"))
    candidates = None
    if committed is not None:
        if not isinstance(training, TreeSettings):
            raise EmbeddingError(
                "the candidates of a boosted model depend on the draw: none can be committed before it"
            )
        own = [position_secret(secret, position) for position in range(trees)]
        seeds = [
            tree_seed(key, context, position, number)
            for position, key in enumerate(own)
            for number in range(committed)
        ]
        candidates = trained_forest(rows, training, seeds, n_jobs=n_jobs)
    try:
        header = LineupHeader(
            mode="retrained" if candidates is None else "committed",
            trees=trees,
            candidates=committed,
            candidates_root=None if candidates is None else candidates_root(candidates),
            owner=owner,
            model_id=model_id,
            class_names=given.class_names,
            feature_names=given.feature_names,
            domain=given.domain,
            preparation=given.claimed,
            training=training,
            environment=versions,
            context=context.hex(),
        )
        claim = new_lineup(header, salt=salt, secret=secret, source=source)
    except ValidationError as reason:
        raise EmbeddingError(f"no claim can be made of this: {first_error(reason)}") from reason
    return CommittedLineup(claim, candidates)


def embed_lineup(
    claim: LineupClaim,
    receipts: Sequence[Receipt],
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    candidates: Forest | None = None,
    customer: str = "",
    n_jobs: int = 1,
) -> OwnedLineup:
    """Return the forest that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows.
    candidates
        The committed ones; mode `retrained` has none.
    customer
        Name of the customer whom this copy is for; with committed candidates each has another.

    Raises
    ------
    ClaimError
        Receipts of another claim, other training rows, library versions or candidates than the claim's.
    """
    complete = with_receipts(claim, receipts)
    forest = owner_forest(complete, canonical_rows(X, y), candidates, customer=customer, n_jobs=n_jobs)
    return OwnedLineup(forest, complete.model_copy(update={"released": forest.content_hash}))


def owner_forest(
    claim: LineupClaim,
    rows: TrainingRows,
    candidates: Forest | None = None,
    *,
    customer: str = "",
    n_jobs: int = 1,
) -> Forest:
    """Return the forest that a claim's draw demands, as `embed_lineup`."""
    header = claim.header
    if not isinstance(header.training, TreeSettings):
        raise ClaimError("the claim is of a boosted model, not of a forest")
    if header.mode == "committed":
        if candidates is None or header.candidates is None:
            raise ClaimError("the claim commits to candidates: give their file that was made with it")
        check_candidates(header, candidates)
        count, context = header.candidates, bytes.fromhex(header.context)
        keys = claim.keys(drawn_value(claim)[0])
        return candidates.select(
            [position * count + place(key, context, count, customer) for position, key in keys.items()]
        )
    if candidates is not None or customer:
        raise ClaimError("the claim commits to no candidates: leave their file and customers out")
    return trained_forest(rows, header.training, list(owner_seeds(claim, rows).values()), n_jobs=n_jobs)


def is_reproduced(claim: LineupClaim, rows: TrainingRows, *, n_jobs: int = 1) -> bool:
    """Return whether a claim's model, trained again here, is the one that its owner says was released.

    Equal library versions promise it on the owner's platform only. If not, decoys may differ from the owner's
    trees by more than their seeds, and a "not verified" says little.
    """
    if claim.header.is_boosted:
        content = released_content(claim, owner_rounds(claim, rows), rows)
        return hashlib.sha256(content).hexdigest() == claim.released
    return owner_forest(claim, rows, n_jobs=n_jobs).content_hash == claim.released


def trained_forest(
    rows: TrainingRows, training: TreeSettings, seeds: Sequence[int], *, n_jobs: int = 1
) -> Forest:
    """Return the forest of some seeds, scrubbed of all that its votes do not need."""
    return scrubbed(forest_of_seeds(rows, training, seeds, n_jobs=n_jobs))


def candidates_root(candidates: Forest) -> str:
    """Return the Merkle root over candidates, hex.

    A leaf is SHA-256 of 0x00 || "treeproof/candidate/v1" || 0x00 || the tree's number as u64 || its arrays
    left, right, feature, threshold and value, little-endian.
    """
    arrays = [
        np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for array in (getattr(candidates, name) for name in NODE_ARRAYS)
    ]
    leaves = []
    for tree in range(candidates.n_trees):
        nodes = slice(candidates.offset[tree], candidates.offset[tree + 1])
        digest = hashlib.sha256(b"\x00treeproof/candidate/v1\x00" + whole(tree))
        for array in arrays:
            digest.update(array[nodes].tobytes())
        leaves.append(digest.digest())
    return merkle_root(leaves).hex()


def check_candidates(header: LineupHeader, candidates: Forest) -> None:
    """Raise `ClaimError` unless these are the candidates that a claim commits to."""
    wanted = header.trees * (header.candidates or 0)
    if candidates.n_trees != wanted or candidates_root(candidates) != header.candidates_root:
        raise ClaimError(f"these {candidates.n_trees} trees are not the {wanted} candidates of the claim")
    if candidates.n_features != len(header.feature_names) or candidates.classes.tolist() != [0, 1]:
        raise ClaimError("the candidates have other features or classes than the claim")
