"""Model of a campaign file, and conflicts between its parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import combinations

from pydantic import Field

from orchestrator.spec.attacks import TABLES, AnyAttackSpec, AttackSpec, OnlySpec
from orchestrator.spec.model import DatasetSpec, EmbeddingSpec, ForestSpec, SpecModel
from orchestrator.toml_lines import Path
from wm.codebook import BOOSTED
from wm.embedding import SCHEMES


class LimitsSpec(SpecModel):
    """Hard limits on every job's process."""

    job_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, ge=1)


class CampaignSpec(SpecModel):
    """A whole campaign file."""

    name: str = Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = Field(ge=0, lt=2**63)
    dataset: DatasetSpec
    forest: ForestSpec
    embedding: EmbeddingSpec = EmbeddingSpec()
    attack: tuple[AnyAttackSpec, ...] = ()
    limits: LimitsSpec = LimitsSpec()

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the specification, defaults filled in."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    def conflicts(self) -> Iterator[tuple[Path, str]]:
        """Yield conflicts between parts that are right: path of a key, and message."""
        for number, attack in enumerate(self.attack):
            if attack.restriction is not None:
                yield from _outside_the_grid(("attack", number, "only"), attack.restriction, self.embedding)
            yield from _unfit(("attack", number), attack, self.embedding)
        # A draft may lack a part that is wrong.
        counts: tuple[int, ...] = getattr(getattr(self, "forest", None), "tree_counts", ())
        if BOOSTED in self.embedding.scheme and any(count % 2 for count in counts):
            yield (
                ("forest",),
                f"scheme {BOOSTED} needs an even number of rounds, half of whose bits are ones",
            )
        for (first, one), (second, other) in combinations(enumerate(self.attack), 2):
            if one.conflicts_with(other, self.embedding):
                yield (
                    ("attack", second),
                    f"results could not distinguish it from attack.{first} on the same watermark: "
                    "give it other values, or an `only`",
                )


def _unfit(path: Path, attack: AttackSpec, embedding: EmbeddingSpec) -> Iterator[tuple[Path, str]]:
    """Yield an attack on models that it is not made for, of a scheme that it would be run on."""
    if attack.restriction is None or attack.kind not in TABLES:  # a draft's attack may be without its options
        return
    attacked = dict.fromkeys(scheme for scheme, *_ in attack.restriction.points(embedding)).keys()
    for scheme in sorted(attacked & SCHEMES.keys()):
        refusal = attack.options.refusal(trees_vote=SCHEMES[scheme].trees_vote)
        if refusal:
            yield (
                path,
                f"attack {attack.kind} is not for models of scheme {scheme}: {refusal}; restrict it to other "
                "schemes with only = { scheme = [...] }",
            )


def _outside_the_grid(path: Path, only: OnlySpec, embedding: EmbeddingSpec) -> Iterator[tuple[Path, str]]:
    """Yield values of an `only` that are not in the grid, or an `only` that matches no watermark."""
    some_unknown = False
    for name in ("scheme", "trigger_share", "ones_share"):
        there = getattr(embedding, name)
        for value in getattr(only, name) or ():
            if value not in there:
                some_unknown = True
                known = ", ".join(map(str, there))
                yield (*path, name), f"{value!r} is not in embedding.{name} ({known})"
    if not some_unknown and next(only.points(embedding), None) is None:
        yield path, "no watermark of the grid has all of these values: nothing would be attacked"
