"""Compute the version that a worker and its orchestrator must share."""

from __future__ import annotations

import hashlib
import json

import wm
from workers.jobs.kinds import KINDS


def protocol_version() -> str:
    """Return the package's version and a hash of the versions, parameters and results of all job kinds.

    The hash distinguishes source trees with the same package version.
    """
    kinds = {
        str(name): [kind.version, kind.parameters.model_json_schema(), kind.result.model_json_schema()]
        for name, kind in KINDS.items()
    }
    digest = hashlib.sha256(json.dumps(kinds, sort_keys=True).encode()).hexdigest()
    return f"{wm.__version__}+{digest[:8]}"
