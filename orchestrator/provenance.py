"""Describe the environment of a campaign: versions, machine, source revision."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "z3-solver", "python-sat", "sqlalchemy")


def provenance() -> dict[str, str]:
    """Return names and values as text; "unknown" if a value cannot be found."""
    facts = {name: _version(name) for name in _LIBRARIES}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "revision": _revision(),
        **facts,
    }


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def _revision() -> str:
    """Return the git revision of this source tree, with "+" when it was changed since."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return "unknown"  # installed: git would describe another repository around it
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],  # noqa: S607 - git is where PATH says
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return described.stdout.strip() or "unknown"
