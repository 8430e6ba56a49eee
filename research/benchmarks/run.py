"""Compare two commits on the short list (`short_list`), paired in one run.

    python -m research.benchmarks.run --since REV [--only NAME ...] [--repeats N] [-o research/benchmarks/results/history/DATE.json]

REV is checked out beside, and both run with the same interpreter, each entry in a process of its own, in turn:
old, new, new, old, .... Printed and written: the median of the processor's seconds, and the ratio old to new (above
1: faster now) as the geometric mean of the pairs with its 95% interval by bootstrap. An entry that REV cannot run
has no ratio. Results in results/history become the page of history (`document`).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from research.benchmarks import common
from research.benchmarks.short_list import LIST

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Row:
    """One entry of the list: processor seconds of each pair, and their ratio with the ends of its interval."""

    name: str
    old_s: tuple[float, ...]
    new_s: tuple[float, ...]
    ratio: float | None
    low: float | None
    high: float | None


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Check a commit out in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "old"
        _git("worktree", "add", "--detach", str(tree), revision)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> str:
    command = ["git", *words]  # the user's own
    found = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode:
        raise SystemExit(f"git {' '.join(words)}: {found.stderr.strip()}")
    return found.stdout.strip()


def seconds_of(name: str, tree: Path) -> float | None:
    """Return the processor's seconds of an entry with the packages of a tree; None if they cannot run it."""
    program = common.ROOT / "research" / "benchmarks" / "short_list.py"
    # -P: else the folder of the program would come first, and its modules hide others of their names.
    command = [sys.executable, "-P", str(program), name]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        print(f"{name}: {(done.stderr.strip() or 'no message').splitlines()[-1]}", file=sys.stderr)
        return None
    return float(done.stdout)


def measure(name: str, old: Path, new: Path, repeats: int) -> Row:
    """Run an entry on both trees in turn."""
    olds: list[float] = []
    news: list[float] = []
    for number in range(repeats):
        places = [(old, olds), (new, news)]
        for tree, found in places if number % 2 == 0 else places[::-1]:
            spent = seconds_of(name, tree)
            if spent is None and tree == new:
                raise SystemExit(f"{name}: does not run on the newer of the two commits")
            if spent is not None:
                found.append(spent)
    if len(olds) < repeats:
        return Row(name, tuple(olds), tuple(news), None, None, None)
    return Row(name, tuple(olds), tuple(news), *ratio(olds, news))


def ratio(olds: Sequence[float], news: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """Return the geometric mean of the pairs' ratios, and the ends of its 95% interval by bootstrap."""
    logs = np.log(np.array(olds) / np.array(news))
    means = np.random.default_rng(seed).choice(logs, (_RESAMPLES, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(np.exp(logs.mean())), float(low), float(high)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""

    def line(row: Row) -> str:
        old = f"{statistics.median(row.old_s):.3g}" if row.old_s else "-"
        faster = "-" if row.ratio is None else f"{row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})"
        return f"{row.name} | {len(row.new_s)} | {old} | {statistics.median(row.new_s):.3g} | {faster}"

    return common.table("what | pairs | old s | new s | times faster (95%)", rows, line)


def main(words: Sequence[str] | None = None) -> None:
    """Compare, print and write."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument("--since", required=True, metavar="REV", help="the older commit")
    parser.add_argument("--only", nargs="+", choices=list(LIST), help="entries of the list; default: all")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of each entry")
    arguments = parser.parse_args(words)
    if arguments.repeats < 2:
        parser.error("--repeats: an interval needs at least 2 pairs")
    commits = {"old": _git("rev-parse", "--short", f"{arguments.since}^{{commit}}")}
    commits["new"] = _git("describe", "--always", "--dirty")
    rows: list[Row] = []
    with checked_out(commits["old"]) as old:
        for name in arguments.only or LIST:
            rows.append(measure(name, old, common.ROOT, arguments.repeats))
            print(table(rows[-1:]) if len(rows) == 1 else table(rows[-1:]).splitlines()[-1], flush=True)
            common.save_results(arguments, rows, commits=commits)


if __name__ == "__main__":
    main()
