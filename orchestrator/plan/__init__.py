"""Plan the jobs of a campaign; pure, so that planning again gives the same jobs.

Each job is identified by its content key, the SHA-256 of kind, version, parameters and the keys of the jobs
that it needs: the same work is never done twice, across campaigns too.

- `base`: jobs, cells, keys; `campaign`: the owner's jobs; `attacks`: those of each attack.
"""

from orchestrator.plan.base import DataFacts, GridPoint, PlannedJob
from orchestrator.plan.campaign import faults_against_data, plan, split_seed

__all__ = ["DataFacts", "GridPoint", "PlannedJob", "faults_against_data", "plan", "split_seed"]
