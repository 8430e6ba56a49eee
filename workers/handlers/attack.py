"""Every attack that is one job: its `run` on the results of the campaign's other jobs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from wm.attacks import registry
from wm.attacks.base import AttackOptions, Streams
from wm.claims.claim import Claim, parse_claim
from wm.datasets import Split
from wm.embedding import SCHEMES
from wm.embedding.proof import Proof
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.formats import xgboost_file
from wm.formats.sklearn_metadata import TreeMetadata, parse_arrays
from wm.models import TreeModel
from workers.handlers.steps import adjusted, caps_of, read_split
from workers.jobs.base import AttackParameters, JobResult, Parameters
from workers.jobs.kinds import KINDS, JobKind
from workers.jobs.owner import BaselineResult, EmbedResult
from workers.runtime.context import Context


class JobScene:
    """The scene of a job: every part is read on first use; see `wm.attacks.base.Scene`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @cached_property
    def _baseline(self) -> BaselineResult:
        return self._context.input(JobKind.BASELINE, BaselineResult)

    @cached_property
    def _embedded(self) -> EmbedResult:
        return self._context.input(JobKind.EMBED, EmbedResult)

    @cached_property
    def split(self) -> Split:
        """Training and test rows."""
        return read_split(self._context)

    @cached_property
    def forest(self) -> Forest:
        """The suspect."""
        return Forest.from_bytes(self._context.artifact(self._embedded.forest))

    @cached_property
    def claim(self) -> Claim:
        """The owner's claim; only for scoring an attacker's findings."""
        return parse_claim(self._context.artifact(self._embedded.claim))

    @cached_property
    def standard(self) -> Forest:
        """The honest standard forest."""
        return Forest.from_bytes(self._context.artifact(self._baseline.standard))

    @property
    def n_trees(self) -> int:
        """Number of trees of every forest."""
        return self._baseline.n_estimators

    @property
    def caps(self) -> Caps:
        """Limits on every tree of the suspect; in an attack on the campaign, on trees with a signature."""
        is_of_campaign = not self._context.needs(JobKind.EMBED)
        return adjusted(self._baseline) if is_of_campaign else caps_of(self.claim.scheme, self._baseline)

    @cached_property
    def proof(self) -> Proof | None:
        """The owner's proof, for schemes that have one; only for scoring, as the claim."""
        kind, sha256 = SCHEMES[self.claim.scheme].proof, self._embedded.proof
        return None if kind is None or sha256 is None else kind.read(self._context.artifact(sha256))

    @cached_property
    def files(self) -> Mapping[str, TreeMetadata]:
        """Contents of the model files, by form."""
        artifacts = {
            "as trained": self._embedded.record,
            "released": self._embedded.forest,
            "standard": self._baseline.standard_record,
        }
        return {
            form: parse_arrays(self._context.artifact(sha256), what=form)
            for form, sha256 in artifacts.items()
            if sha256 is not None
        }

    @cached_property
    def models(self) -> Mapping[str, TreeModel]:
        """The boosted model as released, and the honest one; none of schemes whose trees vote."""
        artifacts = {"released": self._embedded.model, "standard": self._embedded.plain}
        return {
            form: xgboost_file.read(self._context.artifact(sha256))
            for form, sha256 in artifacts.items()
            if sha256 is not None
        }


def run(parameters: Parameters, context: Context) -> JobResult:
    """Run the attack that the job is named after."""
    assert isinstance(parameters, AttackOptions)  # noqa: S101 - as `workers.jobs.kinds` makes them
    attack = registry.attack(context.kind)
    streams = (
        Streams(parameters.seed, parameters.repeat)
        if isinstance(parameters, AttackParameters)
        else Streams(0)
    )
    found = attack.run(JobScene(context), parameters, streams)
    return KINDS[attack.kind].result.model_validate({"rows": tuple(found.rows), **found.extra})
