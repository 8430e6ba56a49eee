"""What benchmarks share: where they ran, how results and plots are kept."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from research.benchmarks.render import render

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "research" / "benchmarks" / "results"


def end_what_was_started() -> None:
    """Let SIGTERM end the program as Ctrl-C does: servers and workers that it started end with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("-o", "--output", type=Path, help="a .json file for the results")
    return made


def processor() -> str:
    """Return the processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def load() -> float:
    """Return the system's average number of busy processes in the last minute; 0 where it does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def save_results(arguments: argparse.Namespace, rows: Sequence[Any], **more: Any) -> None:
    """Write rows (dataclasses) to `--output`, if given, with where, when and how they were measured.

    Parameters
    ----------
    **more
        Further entries of the document.
    """
    if arguments.output is None:
        return
    document = {
        "machine": processor(),
        "cores": os.cpu_count(),
        "load_at_end": round(load(), 2),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "arguments": {name: _plain(value) for name, value in vars(arguments).items() if name != "output"},
        "rows": [asdict(row) for row in rows],
        **more,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(document, indent=1) + "\n")


def _plain(value: Any) -> Any:
    """Return an option's value as JSON has it; of a path its last part, which names no one's folders."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.name if isinstance(value, Path) else value


def save_plot(figure: Figure, path: Path | None, *, title: str, caption: str) -> None:
    """Write a figure as SVG, if a path is given."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render(figure, "svg", title=title, caption=caption))


def markdown(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; floats with three significant digits, None as a dash."""
    lines = [titles, ["---"] * len(titles), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
