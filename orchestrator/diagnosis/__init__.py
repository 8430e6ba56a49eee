"""Check store, broker and services, with a fix for each fault."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

import wm
from orchestrator.diagnosis.broker import diagnose_broker
from orchestrator.diagnosis.result import CheckResult
from orchestrator.diagnosis.store import diagnose_store
from orchestrator.executors import default_workers
from orchestrator.provenance import provenance
from wm.datasets.cache import DATA_DIR_VARIABLE, default_data_dir
from wm.errors import DataError
from wm.user_cache import can_make, lasting_cache, nearest
from workers.runtime.version import protocol_version

__all__ = ["CheckResult", "Environment", "diagnose", "environment"]

_PACKAGES = ("numpy", "scikit-learn", "z3-solver", "python-sat", "celery", "sqlalchemy")


@dataclass(frozen=True)
class Environment:
    """What a report of a fault should say of the machine."""

    treeproof: str
    executable: str
    """The Python that runs this program."""
    processors: int
    """That this process may use."""
    versions: Mapping[str, str]
    """Of libraries, Python and the system; see `orchestrator.provenance`."""
    variables: tuple[str, ...]
    """Names of the variables that change what `wm` does; values may be secret."""


def environment() -> Environment:
    """Describe this machine and what is installed."""
    heeded = ("WM_", "OMP_NUM_THREADS", "NUMBA_", "PG", "PYTHONPATH")
    return Environment(
        treeproof=wm.__version__,
        executable=sys.executable,
        processors=default_workers(),
        versions=provenance() | {package: metadata.version(package) for package in _PACKAGES},
        variables=tuple(sorted(name for name in os.environ if name.startswith(heeded))),
    )


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
    try:
        folder = default_data_dir()
    except DataError as reason:
        return CheckResult("data", str(reason), "set WM_DATA_DIR to a directory that this user can write")
    if DATA_DIR_VARIABLE not in os.environ and lasting_cache() is None:
        return CheckResult(
            "data",
            f"{folder}: temporary, as this user has no home directory to write into",
            "to keep data sets and compiled code, set WM_DATA_DIR and NUMBA_CACHE_DIR to directories",
        )
    existing = nearest(folder)
    if can_make(folder):
        return CheckResult("data", f"{folder}: writable")
    return CheckResult(
        "data",
        f"{folder}: not writable, so that data sets cannot be fetched",
        f"give this user the right to write {existing}, or set WM_DATA_DIR to another directory",
    )
