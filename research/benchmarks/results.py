"""How long each `wm results` takes in a store with 10^6 forgery answers, on SQLite and PostgreSQL.

    python -m research.benchmarks.results [--answers N] [--store sqlite|postgresql|both] [--repeats N] [-o FILE]

Fills a store (see filled.py), then times every query of `orchestrator.results` that the command line has, and
the whole command in a process of its own, start of the interpreter and writing of a csv file included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator import results
from orchestrator.cli.results import results as command_group
from orchestrator.store.database import Store
from research.benchmarks.filled import fill
from tests import servers

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 2.0


@dataclass(frozen=True)
class Row:
    """One query on one store.

    Attributes
    ----------
    rows
        Rows of the result.
    first_s, median_s, slowest_s
        Seconds: of the first call, and of all.
    command_s
        Of the whole command; None for what has none.
    """

    store: str
    query: str
    rows: int
    first_s: float
    median_s: float
    slowest_s: float
    command_s: float | None


@contextmanager
def opened(kind: str) -> Iterator[Store]:
    """Make an empty store of a kind with the newest schema, and remove it afterwards."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as directory:
            store = Store(f"sqlite:///{directory}/wm.db")
            store.upgrade()
            yield store
            store.close()
        return
    server = servers.Postgres()
    try:
        store = Store(server.url())
        store.upgrade()
        yield store
        store.close()
    finally:
        server.close()


def measure(store: Store, kind: str, campaign_id: int, repeats: int) -> Iterator[Row]:
    """Time every query."""
    names = [name.replace("-", "_") for name in command_group.commands]
    # Others, such as forged-sets, compute anew from models and witnesses.
    queries = [name for name in names if hasattr(results, name)]
    for name in (*queries, "fingerprint"):
        seconds, rows = [], 1
        for _ in range(repeats):
            started = time.perf_counter()
            found = getattr(results, name)(store, campaign_id)
            seconds.append(time.perf_counter() - started)
            rows = 1 if isinstance(found, str) else len(found)
        command_s = None if name == "fingerprint" else time_command(store, name, campaign_id)
        yield Row(kind, name, rows, seconds[0], statistics.median(seconds), max(seconds), command_s)


def time_command(store: Store, name: str, campaign_id: int) -> float:
    """Return how long the whole command takes."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "WM_STORE_URL": store._url.render_as_string(hide_password=False),
    }
    with tempfile.TemporaryDirectory() as directory:
        words = ["results", name.replace("_", "-"), str(campaign_id), "-o", f"{directory}/out.csv"]
        started = time.perf_counter()
        subprocess.run(  # noqa: S603 - this project's own command
            [sys.executable, "-m", "orchestrator.cli", *words], env=environment, check=True
        )
        return time.perf_counter() - started


def main() -> int:
    """Measure and print a table; return 1 if a query took too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    found: list[Row] = []
    for kind in ("sqlite", "postgresql") if arguments.store == "both" else (arguments.store,):
        with opened(kind) as store:
            filled = fill(store, arguments.answers)
            print(
                f"{kind}: {filled.jobs:,} jobs planned and stored in {filled.plan_s:.1f} s, "
                f"{filled.answers:,} answers in {filled.fill_s:.1f} s",
                flush=True,
            )
            print("query            rows   first s  median s  slowest s  command s")
            for row in measure(store, kind, filled.campaign_id, arguments.repeats):
                found.append(row)
                command = "-" if row.command_s is None else f"{row.command_s:.2f}"
                print(
                    f"{row.query:<13} {row.rows:>8,}  {row.first_s:>7.2f}  {row.median_s:>8.2f}"
                    f"  {row.slowest_s:>9.2f}  {command:>9}",
                    flush=True,
                )
    if arguments.output is not None:
        arguments.output.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n")
    late = [row for row in found if row.query != "fingerprint" and row.slowest_s > LIMIT_S]
    for row in late:
        print(f"{row.store} {row.query}: {row.slowest_s:.2f} s is above {LIMIT_S:g} s")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
