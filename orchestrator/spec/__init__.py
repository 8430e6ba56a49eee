"""The campaign file: validated models, and every fault with its line.

Unknown keys, wrong types and impossible values are refused before anything runs, all of them at once.

- `model`: rows, forest, embedding; `attacks`: the attacks; `campaign`: the whole; `profiles`: its named
  changes; `reading`: from text.
"""

from orchestrator.spec.attacks import AttackSpec, OnlySpec
from orchestrator.spec.campaign import CampaignSpec, LimitsSpec
from orchestrator.spec.model import DatasetSpec, EmbeddingSpec, ForestSpec, GridSpec, TuneSpec
from orchestrator.spec.reading import parse_spec, read_spec

__all__ = [
    "AttackSpec",
    "CampaignSpec",
    "DatasetSpec",
    "EmbeddingSpec",
    "ForestSpec",
    "GridSpec",
    "LimitsSpec",
    "OnlySpec",
    "TuneSpec",
    "parse_spec",
    "read_spec",
]
