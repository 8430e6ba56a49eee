"""Plan the jobs of a forgery attack: batches of queries, ordered so that answers of one help the next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from orchestrator.plan.base import DataFacts, GridPoint, PlannedJob, make_job
from orchestrator.spec import AttackSpec, CampaignSpec
from wm.attacks import forgery
from wm.attacks.forgery.following import query_order
from wm.embedding.common import trigger_size
from workers.jobs import ForgeryParameters, JobKind


def forgery_jobs(
    spec: CampaignSpec,
    facts: DataFacts,
    attack: AttackSpec,
    cell: GridPoint,
    needs: tuple[PlannedJob, ...],
    limits: dict[str, Any],
) -> Iterator[PlannedJob]:
    """Yield the batches; those of one range of instances at different distances help each other.

    They come in the order of a binary search over the distances: answers of a batch may follow from the
    nearest distances before it. Batches of different signatures alternate, so that slots that work at the
    same time find different proofs, each of which helps all later batches.
    """
    options = attack.options
    assert isinstance(options, forgery.Options)  # noqa: S101 - the one attack that is queried
    size = trigger_size(facts.rows_train, float(cell.trigger_share or 0))
    instances = min(options.instances or size, facts.rows_test)
    distances = options.distances
    for engine, first, signature in itertools.product(
        options.engine, range(0, instances, options.batch), range(options.signatures)
    ):
        count = min(options.batch, instances - first)
        batch: dict[int, PlannedJob] = {}
        for turn in query_order(len(distances)):
            eps = distances[turn.place]
            parameters = ForgeryParameters(
                engine=engine,
                signature=signature,
                ones_share=options.ones_share,
                eps=eps,
                cap=options.largest_distance,
                certify=options.certify,
                first=first,
                count=count,
                repeat=cell.repeat or 0,
                seed=spec.seed,
                timeout_s=options.timeout_s,
                query_memory_mb=options.memory_mb,
                engine_options=options.engine_options.get(engine, {}),
                **limits,
            )
            place = replace(cell, engine=engine, signature=signature, eps=None if eps == "minimal" else eps)
            batch[turn.place] = make_job(JobKind.FORGERY, parameters, place, *needs, weight=count)
        keys = [batch[number].key for number in range(len(distances))]
        for number, planned in batch.items():
            yield replace(planned, helped_by=(tuple(keys[:number][::-1]), tuple(keys[number + 1 :])))
