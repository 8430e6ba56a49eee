"""Parse and validate campaign files; every fault is reported at once, with its line.

- `model`: rows, forest, embedding; `attacks`: the attacks; `campaign`: the whole file; `profiles`: its named
  changes; `draft`: the search for all faults; `reading`: from text to model.
"""

from orchestrator.spec.attacks import AttackSpec
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.spec.model import DatasetSpec
from orchestrator.spec.reading import parse_spec, read_spec

__all__ = ["AttackSpec", "CampaignSpec", "DatasetSpec", "parse_spec", "read_spec"]
