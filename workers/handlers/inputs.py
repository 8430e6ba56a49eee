"""Inputs that several handlers read."""

from __future__ import annotations

from wm.claims.claim import Claim, parse_claim
from wm.datasets import Split
from wm.forest import Forest
from workers.jobs import EmbedResult, JobKind, SplitResult
from workers.runtime.context import Context


def read_split(context: Context) -> Split:
    """Return the campaign's training and test rows."""
    # Tens of megabytes, and the same for most jobs of a campaign.
    return context.parsed(context.input(JobKind.SPLIT, SplitResult).split, Split.from_bytes)


def read_forest(context: Context) -> Forest:
    """Return the watermarked forest."""
    return Forest.from_bytes(context.artifact(context.input(JobKind.EMBED, EmbedResult).forest))


def read_claim(context: Context) -> Claim:
    """Return the owner's claim; only for scoring an attacker's findings."""
    return parse_claim(context.artifact(context.input(JobKind.EMBED, EmbedResult).claim))
