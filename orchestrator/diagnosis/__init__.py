"""What works and what does not: store, broker, services; with a fix for each fault."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from orchestrator.diagnosis.broker import diagnose_broker
from orchestrator.diagnosis.finding import Finding
from orchestrator.diagnosis.store import diagnose_store
from wm.datasets.cache import default_data_dir
from workers.runtime.version import protocol_version

__all__ = ["Finding", "diagnose"]

_PACKAGES = ("numpy", "scikit-learn", "z3-solver", "python-sat", "celery", "sqlalchemy")


def diagnose(store_url: str, broker_url: str, *, broker_is_named: bool = True) -> list[Finding]:
    """Look at everything that a campaign on many machines needs; raises nothing foreseen.

    Where nobody named a broker, one that does not answer is no fault: one machine needs none.
    """
    return [
        Finding("version", protocol_version()),
        Finding("packages", ", ".join([f"Python {platform.python_version()}", *map(_installed, _PACKAGES)])),
        _data_directory(),
        *diagnose_store(store_url),
        *diagnose_broker(broker_url, is_named=broker_is_named),
    ]


def _installed(package: str) -> str:
    return f"{package} {metadata.version(package)}"


def _data_directory() -> Finding:
    """Look whether data sets can be kept; not whether one is there, which a campaign file needs to say."""
    folder = default_data_dir()
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Finding("data", f"{folder}: may be written")
    return Finding(
        "data",
        f"{folder}: may not be written, so that data sets cannot be fetched",
        f"give this user the right to write {there}, or name another directory by WM_DATA_DIR",
    )
