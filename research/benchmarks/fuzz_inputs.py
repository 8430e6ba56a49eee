"""Damaged claims, models, votes files and endpoint answers: each is refused clearly, or means the same.

    python -m research.benchmarks.fuzz_inputs [--count N] [--seed S] [--only NAME]

Spoils N inputs of each kind (see tests/damage/), reads them in this process, and prints for each kind how
many were refused with one clear line, how many were accepted (they mean the same as before, or are answers
that convict nobody), and how long one took. Each failure is printed with the seed and number that give it
again; exit code 1 if there is any.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from research.benchmarks import common
from tests.damage.running import run
from tests.damage.targets import targets

_SHOWN = 3
"""Failures of one kind that are printed whole."""


def main() -> int:
    """Print a line for each kind of input; return the exit code."""
    parser = common.parser(__doc__)
    parser.add_argument("--count", type=int, default=2000, help="spoilt inputs of each kind")
    parser.add_argument("--only", help="one kind, by its name")
    options = parser.parse_args()
    failed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in targets(Path(folder)):
            name = Path(target.name).name
            if options.only not in (None, name):
                continue
            start = time.perf_counter()
            tally = run(target, options.count, options.seed)
            each = (time.perf_counter() - start) / max(1, options.count)
            total += options.count
            failed += len(tally.failures)
            print(
                f"{name:<18} {tally.refused:>7} refused {tally.accepted:>6} accepted "
                f"{len(tally.failures):>4} failed {1000 * each:>7.2f} ms each"
            )
            for failure in tally.failures[:_SHOWN]:
                print(f"  seed {failure.seed}, number {failure.number}: {failure.reason}", file=sys.stderr)
    print(f"{total} inputs, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
