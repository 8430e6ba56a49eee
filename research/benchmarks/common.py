"""What benchmarks share: options, what they ran on, results files, tables, plots, races of engines."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wm import engines
from wm.embedding.tuning import Hyperparameters
from wm.engines import ForgeryOutcome, Status

Row = TypeVar("Row")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "research" / "benchmarks" / "results"

SETTINGS = {
    "breast-cancer": (Hyperparameters(70, 8), 2),
    "mnist2-6": (Hyperparameters(90, 24), 42),
    "ijcnn1": (Hyperparameters(80, 18), 7),
}
"""Trees, depth and seed of the paper's experiments."""


def from_template(path: Path, **values: Any) -> str:
    """Return a document from its template; the filter `g` writes a number in short."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(path.parent),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown of our own numbers
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["g"] = "{:g}".format
    return environment.get_template(path.name).render(**values).rstrip() + "\n"


class ContradictionError(Exception):
    """Engines contradict each other or the truth, a witness is none, or a query ended as it must not."""


def exit_code(main: Callable[[], int]) -> int:
    """Run a benchmark and return its exit code: 1, with one line, if it found a contradiction."""
    try:
        return main()
    except ContradictionError as reason:
        print(reason, file=sys.stderr)
        return 1


def end_what_was_started() -> None:
    """Let SIGTERM end the program as Ctrl-C does: servers and workers that it started end with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def parser(description: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark: a seed, unless it is None, and a results file."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if (seed := defaults.pop("seed", 1)) is not None:
        made.add_argument("--seed", type=int, default=seed)
    made.add_argument("-o", "--output", type=Path, help="a .json file for the results")
    made.set_defaults(**defaults)
    return made


def race_parser(
    description: str | None, raced: Sequence[str], *, timeout_s: float
) -> argparse.ArgumentParser:
    """Return a parser with what races of engines have besides."""
    made = parser(description)
    made.add_argument("--engine", nargs="+", action="extend", choices=engines.names(), help=" ".join(raced))
    made.add_argument("--timeout", type=float, default=timeout_s, help="limit for each query in seconds")
    made.add_argument("--plot", type=Path, help="an .svg file")
    return made


def add_store(made: argparse.ArgumentParser) -> None:
    """Add the option that chooses the kinds of store to be measured; its value is a list."""
    both = ["sqlite", "postgresql"]
    made.add_argument("--store", nargs="+", choices=both, default=both)


def processor() -> str:
    """Return the processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def peak_mb(pid: int | None) -> float:
    """Return the highest resident memory of a process in MiB; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def reset_peak() -> None:
    """Let `peak_mb` of this process begin anew, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


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
        "load_at_end": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
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


def document(path: str) -> Any:
    """Return a results file, whose name is an option's value."""
    return json.loads(Path(path).read_text())


def save_plot(arguments: argparse.Namespace, draw: Callable[[], Any], *, title: str, caption: str) -> None:
    """Write a figure as SVG to `--plot`, if given."""
    if (path := arguments.plot) is None:
        return
    # Not above: what draws would count as memory where memory is measured.
    import matplotlib as mpl

    path.parent.mkdir(parents=True, exist_ok=True)
    # The same bytes for the same figure: no date, and element ids that do not differ from run to run.
    with mpl.rc_context({"svg.hashsalt": "treeproof", "svg.fonttype": "path"}):
        about = {"Title": title, "Description": caption, "Date": None}
        draw().savefig(path, format="svg", dpi=200, metadata=about)


def markdown(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; floats with three significant digits, None as a dash."""
    lines = [titles, ["---"] * len(titles), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table(titles: str, rows: Iterable[Row], line: Callable[[Row], str]) -> str:
    """Return a Markdown table; `titles`, and what `line` makes of a row, are cells with " | " between them."""
    return markdown(titles.split(" | "), (line(row).split(" | ") for row in rows))


def cell(value: Any) -> str:
    """Return a value as a line of text: a float with three significant digits, None as a dash."""
    if value is None:
        return "-"
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").split())


def seconds_each(step: Callable[[Any], object], over: Iterable[Any]) -> list[float]:
    """Return the seconds by the clock of a step, done with each of some things."""
    seconds = []
    for one in over:
        started = time.perf_counter()
        step(one)
        seconds.append(time.perf_counter() - started)
    return seconds


def ended(found: Sequence[ForgeryOutcome], asked: int) -> tuple[int, int, int, int, bool]:
    """Return the number of queries, how many were forged, impossible, and cut off, and whether half of `asked` were."""
    statuses = [outcome.status for outcome in found]
    forged, impossible, timeouts = map(statuses.count, (Status.FORGED, Status.IMPOSSIBLE, Status.TIMEOUT))
    return len(found), forged, impossible, timeouts, 2 * timeouts >= asked


def seconds_of(found: Sequence[ForgeryOutcome], timeout_s: float) -> list[float]:
    """Return the seconds of each query; those without an answer count as the limit."""
    answered = (Status.FORGED, Status.IMPOSSIBLE)
    return [outcome.seconds if outcome.status in answered else timeout_s for outcome in found]


def compare(place: str, outcomes: Mapping[str, Sequence[ForgeryOutcome]]) -> None:
    """Raise `ContradictionError` if two engines answered a query differently."""
    for number in range(max(map(len, outcomes.values()))):
        answers = {
            engine: found[number].status
            for engine, found in outcomes.items()
            if number < len(found) and found[number].status in (Status.FORGED, Status.IMPOSSIBLE)
        }
        if len(set(answers.values())) > 1:
            raise ContradictionError(f"{place}, query {number}: {answers}")


ENDED = "forged / impossible / timeout"


def ended_text(row: Any) -> str:
    """Return how the queries of a race's row ended, below the title `ENDED`."""
    return f"{row.forged} / {row.impossible} / {row.timeout}"


def median_text(row: Any) -> str:
    """Return the median seconds of a race's row, with "≥" before one that the limit cut off."""
    return f"{'≥ ' * row.censored}{row.median:.3g}"


def median_table(
    titles: Sequence[str], rows: Sequence[Any], place: Callable[[Any], tuple[Any, ...]], *last: str
) -> str:
    """Return a table of medians: a line for each place, a column for each engine, then `last` attributes."""
    names = list(dict.fromkeys(row.engine for row in rows))
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        lines.setdefault(place(row), {})[row.engine] = row
    cells = [
        [*at, *(median_text(mine[name]) if name in mine else None for name in names)]
        + [getattr(next(iter(mine.values())), name) for name in last]
        for at, mine in lines.items()
    ]
    return markdown([*titles, *names, *(name.removesuffix("_median") for name in last)], cells)


def draw(axes: Any, rows: Sequence[Any], x: str, names: Sequence[str], limit_s: float) -> list[Any]:
    """Draw each engine's medians over the attribute `x` of its rows, hollow where censored; return the lines."""
    from research.benchmarks import style

    handles = []
    for engine, look in style.numbered_looks(names).items():
        mine = [row for row in rows if row.engine == engine]
        xs = [getattr(row, x) for row in mine]
        handles += axes.plot(xs, [row.median for row in mine], label=engine, **look.line())
        if mine and hasattr(mine[0], "lower_quartile"):
            quartiles = np.array([(row.lower_quartile, row.upper_quartile) for row in mine])
            axes.fill_between(xs, *quartiles.T, color=look.colour, alpha=0.15, linewidth=0)
        cut = [row for row in mine if row.censored]
        hollow = look.line(linestyle="none", markerfacecolor="white", markersize=8)
        axes.plot([getattr(row, x) for row in cut], [row.median for row in cut], **hollow)
    axes.axhline(limit_s, color=style.FAINT, linestyle=":", linewidth=1)
    axes.set_yscale("log")
    return handles
