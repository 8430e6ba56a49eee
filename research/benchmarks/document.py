"""Write docs/benchmarks.md from the results in research/benchmarks/results: numbers only from there.

    python -m research.benchmarks.document [--results DIRECTORY] [-o docs/benchmarks.md]

One section for each file that is there and has a function in `SECTIONS`, in the order given there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from research.benchmarks import (
    common,
    embedding_section,
    forgery,
    forgery_grid,
    fuzz,
    growth,
    hardness,
    overshoot,
    tuning,
)

Document = dict[str, Any]
"""A results file as `common.save_results` writes it."""

INTRODUCTION = """\
# Benchmarks

Written by `research/benchmarks/document.py` from `research/benchmarks/results/*.json`. Speed depends on the machine and on what
else it does; each section says where it was measured. `load` is the average number of busy processes in the
last minute of the run, the benchmark's own included: beyond the number of cores, others took their share.
Section by section: the command that gives the numbers again, and what they say.
"""


def provenance(document: Document, command: str) -> str:
    """Return what was run, where and when."""
    return (
        f"```\n{command}\n```\n{document['machine']}, {document['cores']} cores, load "
        f"{document['load_at_end']:g}; Python {document['python']}; {document['date']}; "
        f"{_seeds(document)}."
    )


def _seeds(document: Document) -> str:
    seeds = document.get("seeds")
    if seeds is None:
        return f"seed {document['arguments']['seed']}"
    return "seeds " + _counts(seeds)


def _counts(by_name: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in by_name.items())


def forgery_section(document: Document) -> str:
    """Return the section about the race."""
    given = document["arguments"]
    return "\n\n".join(
        [
            "## Engines on the paper's forests",
            provenance(
                document, "python -m research.benchmarks.forgery -o research/benchmarks/results/forgery.json"
            ),
            f"{given['signatures']} attacker's signatures, {given['instances']} instances, limit "
            f"{given['timeout']:g} s; {' and '.join(forgery.SLOW)} get some of the queries, evenly spread "
            f"({_counts(given['slow_queries'])}). `z3` is the reference as shipped, its formulas built once "
            f"for each process (part of `ready`); `{forgery.REBUILT}` builds them for each query, as the "
            "authors do. `free`: queries with an empty box, left out. Times are of the queries alone.",
            forgery.table([forgery.Row(**row) for row in document["rows"]]),
            "\n".join(f"- {line}" for line in document["summary"]),
        ]
    )


def grid_section(document: Document) -> str:
    """Return the section about the paper's whole grids."""
    grids = [forgery_grid.Grid(**row) for row in document["rows"]]
    columns = [
        *("data set", "signatures x instances", "forged at eps .1 / .3 / .5 / .7 / .9", "outcomes", "follow"),
        *("free", "grid s", "least distances s", "whole domain", "s", "peak MB"),
    ]
    lines = [
        [
            grid.dataset,
            f"{grid.signatures} x {grid.instances}",
            " / ".join(map(str, grid.grid_forged)),
            _counts(grid.grid_outcomes),
            grid.grid_follows,
            grid.grid_free,
            f"{grid.grid_seconds:.3g}",
            f"{grid.least_seconds:.3g} ({_counts(grid.least_outcomes)})",
            _counts(grid.domain_outcomes),
            f"{grid.domain_seconds:.3g}",
            f"{grid.peak_mb:.0f}",
        ]
        for grid in grids
    ]
    return "\n\n".join(
        [
            "## The paper's whole grids, on one core",
            provenance(
                document,
                "python -m research.benchmarks.forgery_grid -o research/benchmarks/results/forgery_grid.json",
            ),
            f"Engine `{grids[0].engine}`, limit {document['arguments']['timeout']:g} s. Answers that follow "
            "from another eps are not asked for. Seconds are wall time with the start of the engine. `whole "
            "domain`: pairs of signature and label, by what came of the whole of [0, 1]^d.",
            common.markdown(columns, lines),
        ]
    )


def _counts(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items()))


def hardness_section(document: Document) -> str:
    """Return the section about formulas."""
    rows = [hardness.Row(**row) for row in document["rows"]]
    given = document["arguments"]
    command = "python -m research.benchmarks.hardness -o research/benchmarks/results/hardness.json --plot docs/images/hardness.svg"
    answered = sum(row.forged + row.impossible for row in rows)
    names = list(dict.fromkeys(row.engine for row in rows))
    lines = []
    for source, size in dict.fromkeys((row.source, row.n_variables) for row in rows):
        mine = {row.engine: row for row in rows if (row.source, row.n_variables) == (source, size)}
        cells = [_median(mine[name]) if name in mine else None for name in names]
        lines.append([source, size, *cells, next(iter(mine.values())).plain_median])
    return "\n\n".join(
        [
            "## Hard formulas as forests (Theorem 1)",
            provenance(document, command),
            f"Random 3-SAT, {given['ratio']:g} clauses for each variable, {given['formulas']} formulas of "
            f"each size, limit {given['timeout']:g} s. Median seconds of a query; ≥: at least half of the "
            f"formulas struck the limit, and the engine drops out. Last column: {hardness.PLAIN} on the "
            f"formula itself. All {answered} answers agree with it, and every witness is a model.",
            common.markdown(["formulas", "variables", *names, "plain"], lines),
            "![Median seconds over the number of variables](images/hardness.svg)",
        ]
    )


def growth_section(document: Document) -> str:
    """Return the section about growing forests."""
    rows = [growth.Row(**row) for row in document["rows"]]
    found = [growth.Frontier(**one) for one in document["frontiers"]]
    base, given = document["base"], document["arguments"]
    command = (
        f"python -m research.benchmarks.growth --timeout {given['timeout']:g} -o research/benchmarks/results/growth.json "
        "--plot docs/images/growth.svg"
    )
    names = list(dict.fromkeys(row.engine for row in rows))
    lines = []
    for name, value in dict.fromkeys((row.sweep, row.value) for row in rows):
        mine = {row.engine: row for row in rows if (row.sweep, row.value) == (name, value)}
        leaves = next(iter(mine.values())).total_leaves
        cells = [_median(mine[engine]) if engine in mine else None for engine in names]
        lines.append([growth.LABELS[name], f"{value:g}", leaves, *cells])
    return "\n\n".join(
        [
            "## Growing forests",
            provenance(document, command),
            f"From {base['trees']} trees of {base['leaves']} leaves, {base['features']} features and eps "
            f"{base['eps']:g}, one number at a time; {given['queries']} queries with random signatures at "
            f"each value, limit {given['timeout']:g} s. Median seconds of a query; ≥: at least half struck "
            "the limit, where the engine's sweep ends. Cost has a peak where forging turns from possible to "
            "impossible, so what lies beyond a frontier may be easy again.",
            growth.frontier_table(found),
            common.markdown(["growing", "value", "leaves in all", *names], lines),
            "![Median seconds as forests grow](images/growth.svg)",
        ]
    )


def overshoot_section(document: Document) -> str:
    """Return the section about limits."""
    rows = [overshoot.Row(**row) for row in document["rows"]]
    command = "python -m research.benchmarks.overshoot -o research/benchmarks/results/overshoot.json --plot docs/images/overshoot.svg"
    low, high = overshoot.LIMITS_S
    late, total = sum(row.late for row in rows), sum(row.timeouts for row in rows)
    return "\n\n".join(
        [
            "## Limits",
            provenance(document, command),
            f"Theorem 1's forest of a formula with {rows[0].n_variables} variables at the transition, time "
            f"limits drawn uniformly from {low:g}-{high:g} s. Beyond the limit by more than "
            f"{overshoot.ALLOWED_S:g} s: {late} of {total}. Each forced memory limit ended as `memout`, each "
            "time limit as `timeout`. The next query is one with an empty box, asked at once. Overhead is "
            "what the child process adds to such a query.",
            overshoot.table(rows),
            "![Histogram of wall time beyond the limit](images/overshoot.svg)",
        ]
    )


def fuzz_section(document: Document) -> str:
    """Return the section about agreement."""
    rows = [fuzz.Row(**row) for row in document["rows"]]
    proofs, given = fuzz.Proofs(**document["proofs"]), document["arguments"]
    count, seed = given["count"], given["seed"]
    command = f"python -m research.benchmarks.fuzz --count {count} --seed {seed} -o research/benchmarks/results/fuzz.json"
    traits = [[trait, number] for trait, number in document["traits"].items()]
    wrong = sum(row.disagreements for row in rows)
    return "\n\n".join(
        [
            "## Engines against each other and brute force",
            provenance(document, command),
            f"{count} queries, each put to {len(rows)} engines and to brute force: {wrong} disagreements of "
            "engines. Every witness was replayed on its forest.",
            fuzz.table(rows),
            f"Certificates of impossibility: {proofs.accepted} accepted, {proofs.searched} of them with a "
            f"proof by a solver, {proofs.refused} refused. Spoilt proofs: {proofs.truncated_refused} without "
            f"their end and {proofs.misplaced_refused} put to a query that has a witness were refused, "
            f"{proofs.believed} believed.",
            common.markdown(["trait", "queries"], traits),
        ]
    )


def tuning_section(document: Document) -> str:
    """Return the section about the grid search."""
    rows = TypeAdapter(list[tuning.Row]).validate_python(document["rows"])
    given = document["arguments"]
    options = "".join(
        _option(f"--{name.replace('_', '-')}", given[name])
        for name in ("dataset", "folds", "n_estimators", "max_depth", "seed")
    )
    command = f"python -m research.benchmarks.tuning{options} -o research/benchmarks/results/tuning.json"
    grids = dict.fromkeys(
        f"trees {_list(row.grid.n_estimators)} by depth {_list(row.grid.max_depth)}" for row in rows
    )
    agreeing = sum(row.agrees for row in rows)
    return "\n\n".join(
        [
            "## Tuning",
            provenance(document, command),
            f"Grid of {'; '.join(grids)}. Ours against `GridSearchCV(RandomForestClassifier("
            "bootstrap=False), refit=False)` on the paper's training rows, in one process, one thread, ours "
            "timed before and after it and averaged. Seconds by the clock, in brackets of the processor. One "
            f"answer (every mean and deviation to the last bit, and the choice) on {agreeing} of {len(rows)} "
            "data sets.",
            tuning.table(rows),
        ]
    )


def _option(name: str, values: Any) -> str:
    """Return a command's option with its values; nothing if it was not given."""
    if values is None:
        return ""
    return f" {name} {' '.join(map(str, values if isinstance(values, list) else [values]))}"


def _list(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


def _median(row: hardness.Row | growth.Row) -> str:
    return f"{'≥ ' * row.censored}{row.median:.3g}"


SECTIONS: dict[str, Callable[[Document], str]] = {
    "forgery": forgery_section,
    "forgery_grid": grid_section,
    "hardness": hardness_section,
    "growth": growth_section,
    "overshoot": overshoot_section,
    "fuzz": fuzz_section,
    "tuning": tuning_section,
    "embedding": embedding_section.section,
}
"""What writes the section of each results file, by the file's name."""


def write(results: Path) -> str:
    """Return the document for the results files in a directory."""
    present = [(results / f"{name}.json", section) for name, section in SECTIONS.items()]
    parts = [section(json.loads(path.read_text())) for path, section in present if path.exists()]
    return "\n\n".join([INTRODUCTION.rstrip(), *parts]) + "\n"


def main(words: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=common.ROOT / "docs" / "research.benchmarks.md")
    arguments = parser.parse_args(words)
    arguments.output.write_text(write(arguments.results))


if __name__ == "__main__":
    main()
