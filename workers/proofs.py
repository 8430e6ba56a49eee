"""Proofs in the whole domain that the slots of one process share."""

from __future__ import annotations

import threading
from collections import OrderedDict

from wm.engines.protocol import Pair
from workers.jobs import EmbedResult, ForgeryParameters, JobKind, LeasedJob

MOST = 10_000
"""Subjects that are kept, those used last."""

Subject = tuple[object, ...]


class SharedProofs:
    """What was found about forests, by engine and attacker's signature; may be used by several threads.

    Only like engines share: what one proves must not make another look fast.
    """

    def __init__(self) -> None:
        self._pairs: OrderedDict[Subject, frozenset[Pair]] = OrderedDict()
        self._lock = threading.Lock()

    def about(self, job: LeasedJob) -> frozenset[Pair]:
        """Return what was found about the signature of a forgery job; nothing for other kinds."""
        subject = _subject(job)
        with self._lock:
            if subject not in self._pairs:
                return frozenset()
            self._pairs.move_to_end(subject)
            return self._pairs[subject]

    def add(self, job: LeasedJob, pair: Pair) -> None:
        """Keep what was found by a forgery job."""
        subject = _subject(job)
        with self._lock:
            self._pairs[subject] = self._pairs.get(subject, frozenset()) | {pair}
            self._pairs.move_to_end(subject)
            if len(self._pairs) > MOST:
                self._pairs.popitem(last=False)


def _subject(job: LeasedJob) -> Subject:
    """Return what forgery jobs have in common that ask one engine about one forest and signature."""
    if job.kind is not JobKind.FORGERY:
        return ()
    (embed,) = job.inputs[JobKind.EMBED]
    asked = ForgeryParameters.model_validate(job.parameters)
    return (
        EmbedResult.model_validate(embed).forest,
        asked.engine,
        asked.seed,
        asked.repeat,
        asked.signature,
        asked.ones_share,
    )
