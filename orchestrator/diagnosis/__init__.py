"""Check store, broker and services, with a fix for each fault."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from orchestrator.diagnosis.broker import diagnose_broker
from orchestrator.diagnosis.result import CheckResult
from orchestrator.diagnosis.store import diagnose_store
from wm.datasets.cache import default_data_dir
from workers.runtime.version import protocol_version

__all__ = ["CheckResult", "diagnose"]

_PACKAGES = ("numpy", "scikit-learn", "z3-solver", "python-sat", "celery", "sqlalchemy")


def diagnose(store_url: str, broker_url: str, *, broker_is_named: bool = True) -> list[CheckResult]:
    """Check everything that a campaign on many machines needs; a fault is a finding, not an exception.

    A broker that does not answer is no fault if none was named: one machine needs none.
    """
    packages = [f"{package} {metadata.version(package)}" for package in _PACKAGES]
    return [
        CheckResult("version", protocol_version()),
        CheckResult("packages", ", ".join([f"Python {platform.python_version()}", *packages])),
        _data_directory(),
        *diagnose_store(store_url),
        *diagnose_broker(broker_url, is_named=broker_is_named),
    ]


def _data_directory() -> CheckResult:
    """Check whether data sets can be saved."""
    folder = default_data_dir()
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return CheckResult("data", f"{folder}: writable")
    return CheckResult(
        "data",
        f"{folder}: not writable, so that data sets cannot be fetched",
        f"give this user the right to write {existing}, or set WM_DATA_DIR to another directory",
    )
