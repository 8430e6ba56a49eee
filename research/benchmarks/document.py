"""Write docs/benchmarks.md from the results in research/benchmarks/results: numbers only from there.

    python -m research.benchmarks.document [--results DIRECTORY] [-o docs/benchmarks.md]

One section for each file that is there and has a function in `SECTIONS`, in the order given there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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


def section(title: str, document: Document, name: str, options: str, *parts: str, plot: str = "") -> str:
    """Return a section: what was run, where and when, and its parts; `plot` is the caption of its picture."""
    seeds = document.get("seeds")
    seed = f"seed {document['arguments']['seed']}" if seeds is None else f"seeds {listed(seeds)}"
    picture = f" --plot docs/images/{name}.svg" if plot else ""
    provenance = (
        f"```\npython -m research.benchmarks.{name}{options} -o research/benchmarks/results/{name}.json{picture}\n```\n"
        f"{document['machine']}, {document['cores']} cores, load {document['load_at_end']:g}; "
        f"Python {document['python']}; {document['date']}; {seed}."
    )
    parts = (*parts, f"![{plot}](images/{name}.svg)") if plot else parts
    return "\n\n".join([f"## {title}", provenance, *parts])


def listed(by_name: Mapping[str, int]) -> str:
    """Return names and their counts."""
    return ", ".join(f"{name} {count}" for name, count in by_name.items())


def forgery_section(document: Document) -> str:
    """Return the section about the race."""
    given = document["arguments"]
    return section(
        "Engines on the paper's forests",
        document,
        "forgery",
        "",
        f"{given['signatures']} attacker's signatures, {given['instances']} instances, limit "
        f"{given['timeout']:g} s; {' and '.join(forgery.SLOW)} get some of the queries, evenly spread "
        f"({listed(given['slow_queries'])}). `z3` is the reference as shipped, its formulas built once "
        f"for each process (part of `ready`); `{forgery.REBUILT}` builds them for each query, as the "
        "authors do. `free`: queries with an empty box, left out. Times are of the queries alone.",
        forgery.table([forgery.Row(**row) for row in document["rows"]]),
        "\n".join(f"- {line}" for line in document["summary"]),
    )


def grid_section(document: Document) -> str:
    """Return the section about the paper's whole grids."""
    grids = [forgery_grid.Grid(**row) for row in document["rows"]]
    return section(
        "The paper's whole grids, on one core",
        document,
        "forgery_grid",
        "",
        f"Engine `{grids[0].engine}`, limit {document['arguments']['timeout']:g} s. Answers that follow "
        "from another eps are not asked for. Seconds are wall time with the start of the engine. `whole "
        "domain`: pairs of signature and label, by what came of the whole of [0, 1]^d.",
        forgery_grid.table(grids),
    )


def hardness_section(document: Document) -> str:
    """Return the section about formulas."""
    rows = [hardness.Row(**row) for row in document["rows"]]
    given = document["arguments"]
    answered = sum(row.forged + row.impossible for row in rows)
    return section(
        "Hard formulas as forests (Theorem 1)",
        document,
        "hardness",
        "",
        f"Random 3-SAT, {given['ratio']:g} clauses for each variable, {given['formulas']} formulas of "
        f"each size, limit {given['timeout']:g} s. Median seconds of a query; ≥: at least half of the "
        f"formulas struck the limit, and the engine drops out. Last column: {hardness.PLAIN} on the "
        f"formula itself. All {answered} answers agree with it, and every witness is a model.",
        common.median_table(
            ["formulas", "variables"], rows, lambda row: (row.source, row.n_variables), "plain_median"
        ),
        plot="Median seconds over the number of variables",
    )


def growth_section(document: Document) -> str:
    """Return the section about growing forests."""
    rows = [growth.Row(**row) for row in document["rows"]]
    base, given = document["base"], document["arguments"]
    return section(
        "Growing forests",
        document,
        "growth",
        f" --timeout {given['timeout']:g}",
        f"From {base['trees']} trees of {base['leaves']} leaves, {base['features']} features and eps "
        f"{base['eps']:g}, one number at a time; {given['queries']} queries with random signatures at "
        f"each value, limit {given['timeout']:g} s. Median seconds of a query; ≥: at least half struck "
        "the limit, where the engine's sweep ends. Cost has a peak where forging turns from possible to "
        "impossible, so what lies beyond a frontier may be easy again.",
        growth.frontier_table([growth.Frontier(**one) for one in document["frontiers"]]),
        common.median_table(
            ["growing", "value", "leaves in all"],
            rows,
            lambda row: (growth.LABELS[row.sweep], f"{row.value:g}", row.total_leaves),
        ),
        plot="Median seconds as forests grow",
    )


def overshoot_section(document: Document) -> str:
    """Return the section about limits."""
    rows = [overshoot.Row(**row) for row in document["rows"]]
    low, high = overshoot.LIMITS_S
    late, total = sum(row.late for row in rows), sum(row.timeouts for row in rows)
    return section(
        "Limits",
        document,
        "overshoot",
        "",
        f"Theorem 1's forest of a formula with {rows[0].n_variables} variables at the transition, time "
        f"limits drawn uniformly from {low:g}-{high:g} s. Beyond the limit by more than "
        f"{overshoot.ALLOWED_S:g} s: {late} of {total}. Each forced memory limit ended as `memout`, each "
        "time limit as `timeout`. The next query is one with an empty box, asked at once. Overhead is "
        "what the child process adds to such a query.",
        overshoot.table(rows),
        plot="Histogram of wall time beyond the limit",
    )


def fuzz_section(document: Document) -> str:
    """Return the section about agreement."""
    rows = [fuzz.Row(**row) for row in document["rows"]]
    proofs, count = fuzz.Proofs(**document["proofs"]), document["arguments"]["count"]
    return section(
        "Engines against each other and brute force",
        document,
        "fuzz",
        f" --count {count} --seed {document['arguments']['seed']}",
        f"{count} queries, each put to {len(rows)} engines and to brute force: "
        f"{sum(row.disagreements for row in rows)} disagreements of engines. Every witness was replayed on its "
        "forest.",
        fuzz.table(rows),
        f"Certificates of impossibility: {proofs.accepted} accepted, {proofs.searched} of them with a "
        f"proof by a solver, {proofs.refused} refused. Spoilt proofs: {proofs.truncated_refused} without "
        f"their end and {proofs.misplaced_refused} put to a query that has a witness were refused, "
        f"{proofs.believed} believed.",
        common.markdown(["trait", "queries"], list(document["traits"].items())),
    )


def tuning_section(document: Document) -> str:
    """Return the section about the grid search."""
    rows = TypeAdapter(list[tuning.Row]).validate_python(document["rows"])
    given = document["arguments"]
    options = ""
    for name in ("dataset", "folds", "n_estimators", "max_depth", "seed"):
        if given[name] is not None:
            values = given[name] if isinstance(given[name], list) else [given[name]]
            options += f" --{name.replace('_', '-')} {' '.join(map(str, values))}"
    grids = dict.fromkeys(
        f"trees {', '.join(map(str, row.grid.n_estimators))} by depth {', '.join(map(str, row.grid.max_depth))}"
        for row in rows
    )
    return section(
        "Tuning",
        document,
        "tuning",
        options,
        f"Grid of {'; '.join(grids)}. Ours against `GridSearchCV(RandomForestClassifier("
        "bootstrap=False), refit=False)` on the paper's training rows, in one process, one thread, ours "
        "timed before and after it and averaged. Seconds by the clock, in brackets of the processor. One "
        "answer (every mean and deviation to the last bit, and the choice) on "
        f"{sum(row.agrees for row in rows)} of {len(rows)} data sets.",
        tuning.table(rows),
    )


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
    parser = common.parser(__doc__, seed=None, output=common.ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    arguments = parser.parse_args(words)
    arguments.output.write_text(write(arguments.results))


if __name__ == "__main__":
    main()
