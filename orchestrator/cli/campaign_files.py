"""Campaign files as the commands read them: what is found in the data goes to stderr."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.common import say
from orchestrator.launch import read_campaign
from orchestrator.plan import DataFacts
from orchestrator.spec import CampaignSpec


def read_and_report(file: Path, profile: str | None) -> tuple[CampaignSpec, DataFacts]:
    """Read a campaign file and its data, as `read_campaign` does, and print how the data were read."""
    spec, facts = read_campaign(file, profile=profile)
    for note in facts.notes:
        say(note)
    return spec, facts
