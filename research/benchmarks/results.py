"""How long each `wm results` takes in a store with 10^6 forgery answers, on SQLite and PostgreSQL.

    python -m research.benchmarks.results [--answers N] [--store sqlite postgresql] [--repeats N] [-o FILE]

Fills a store (see filled.py), then times every query of `orchestrator.results` that the command line has, and
the whole command in a process of its own, start of the interpreter and writing of a csv file included. Exit
code 1 if a query took too long.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator import results
from orchestrator.store.database import Store
from research.benchmarks import common
from research.benchmarks.filled import fill
from research.benchmarks.stores import opened, url_of

LIMIT_S = 2.0


@dataclass(frozen=True)
class Row:
    """One query on one store: rows of the result, seconds of the calls and of the command, if it is one."""

    store: str
    query: str
    rows: int
    first_s: float
    median_s: float
    slowest_s: float
    command_s: float | None


def measure(store: Store, kind: str, campaign_id: int, repeats: int) -> Iterator[Row]:
    """Time every query."""
    # Other results, as forged-sets, are computed from models and witnesses.
    for name in (*results.COLUMNS, "fingerprint"):
        is_command = name != "fingerprint"
        call: Callable[[], Any] = partial(results.fingerprint, store, campaign_id)
        if is_command:
            call = partial(results.frame, store, campaign_id, name)
        seconds = common.seconds_each(lambda do: do(), [call] * repeats)
        rows, command_s = (len(call()), time_command(store, name, campaign_id)) if is_command else (1, None)
        yield Row(kind, name, rows, seconds[0], statistics.median(seconds), max(seconds), command_s)


def time_command(store: Store, name: str, campaign_id: int) -> float:
    """Return how long the whole command takes."""
    environment = os.environ | {"WM_STORE_URL": url_of(store)}
    with tempfile.TemporaryDirectory() as directory:
        words = ["results", name.replace("_", "-"), str(campaign_id), "-o", f"{directory}/out.csv"]
        command = [sys.executable, "-m", "orchestrator.cli", *words]
        run = partial(subprocess.run, env=environment, cwd=common.ROOT, check=True)
        return common.seconds_each(run, [command])[0]


def main() -> int:
    """Measure and print a table; return 1 if a query took too long."""
    parser = common.parser(__doc__, seed=None)
    common.add_store(parser)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for kind in arguments.store:
        with opened(kind) as store:
            filled = fill(store, arguments.answers)
            print(
                f"{kind}: {filled.jobs:,} jobs planned and stored in {filled.plan_s:.1f} s, "
                f"{filled.answers:,} answers in {filled.fill_s:.1f} s",
                flush=True,
            )
            rows += measure(store, kind, filled.campaign_id, arguments.repeats)
    print(
        common.table(
            "store | query | rows | first s | median s | slowest s | command s",
            rows,
            lambda row: (
                f"{row.store} | {row.query} | {row.rows:,} | {row.first_s:.2f} | {row.median_s:.2f} "
                f"| {row.slowest_s:.2f} | {common.cell(row.command_s)}"
            ),
        )
    )
    common.save_results(arguments, rows)
    late = [row for row in rows if row.query != "fingerprint" and row.slowest_s > LIMIT_S]
    for row in late:
        print(f"{row.store} {row.query}: {row.slowest_s:.2f} s is above {LIMIT_S:g} s")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
