"""What must be the same in a worker and the orchestrator that sends it jobs."""

from __future__ import annotations

import hashlib
import json

import wm
from workers.jobs import KINDS


def protocol_version() -> str:
    """Return the package's version and a hash of the job kinds: their versions, parameters and results.

    The hash tells two source trees apart that both call themselves the same version.
    """
    kinds = {
        str(name): [kind.version, kind.parameters.model_json_schema(), kind.result.model_json_schema()]
        for name, kind in KINDS.items()
    }
    digest = hashlib.sha256(json.dumps(kinds, sort_keys=True).encode()).hexdigest()
    return f"{wm.__version__}+{digest[:8]}"
