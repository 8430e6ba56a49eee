"""Write docs/benchmarks.md from the results in research/benchmarks/results: numbers only from there.

    python -m research.benchmarks.document [--results DIRECTORY] [-o docs/benchmarks.md]

The text is in benchmarks.md.j2, one section for each results file; those of files that are missing are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter

from research.benchmarks import (
    common,
    embedding,
    embedding_tables,
    forgery,
    forgery_grid,
    fuzz,
    growth,
    hardness,
    large,
    lineup,
    lineup_presence,
    lineup_queries,
    lineup_rounds,
)

from research.benchmarks import overshoot, pages, peak, run, tuning  # isort: skip

_EACH = (forgery, forgery_grid, hardness, growth, peak, overshoot, fuzz, tuning, embedding, lineup)
MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (*_EACH, large, lineup_presence, lineup_queries, lineup_rounds, pages)
}
TYPED: dict[str, dict[str, Any]] = {name: {"rows": module.Row} for name, module in MODULES.items()}
TYPED |= dict.fromkeys(
    ("lineup_large", "lineup_thousand", "lineup_calibration", "lineup_others"), TYPED["lineup"]
)
TYPED["lineup_rounds_others"] = TYPED["lineup_rounds"]
TYPED["lineup_queries"] |= {"seen": lineup_queries.Seen, "passive": lineup_queries.Passive}
TYPED["embedding"] |= {"differences": embedding.Difference, "memory": embedding.Peak}
"""Of each results file, what the entries of its lists are."""

MODULES["embedding_tables"] = embedding_tables
MODULES["run"] = run


def listed(by_name: Mapping[str, int]) -> str:
    """Return names and their counts."""
    return ", ".join(f"{name} {count}" for name, count in by_name.items())


def read(path: Path, row: type[Any] | None = None) -> dict[str, Any]:
    """Return a results file with its rows as what the benchmark wrote; empty if it is not there.

    Parameters
    ----------
    row
        What the rows are; None: as `TYPED` says of the file's name.
    """
    if not path.exists():
        return {}
    document: dict[str, Any] = json.loads(path.read_text())
    for name, kind in (TYPED[path.stem] if row is None else {"rows": row}).items():
        document[name] = [TypeAdapter(kind).validate_python(entry) for entry in document[name]]
    return document


def write(results: Path) -> str:
    """Return the document for the results files in a directory."""
    found = {name: read(results / f"{name}.json") for name in TYPED}

    def provenance(name: str, options: str = "", plot: str = "", module: str | None = None) -> str:
        """Return what was run, where and when; the module is called as the results file, or otherwise."""
        given = found[name]
        seeds = (
            f"; seeds {listed(given['seeds'])}"
            if "seeds" in given
            else f"; seed {given['arguments']['seed']}"
            if "seed" in given["arguments"]
            else ""
        )
        return (
            f"```\npython -m research.benchmarks.{module or name}{options} -o research/benchmarks/results/{name}.json{plot}\n```\n"
            f"{given['machine']}, {given['cores']} cores, load {given['load_at_end']:g}; "
            f"Python {given['python']}; {given['date']}{seeds}."
        )

    history = [read(path, run.Row) for path in sorted((results / "history").glob("*.json"))]
    values = {
        "history": history,
        "provenance": provenance,
        "listed": listed,
        "modules": SimpleNamespace(**MODULES),
    }
    return common.from_template(Path(__file__).with_name("benchmarks.md.j2"), **values, **found)


def main(words: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = common.parser(__doc__, seed=None, output=common.ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    arguments = parser.parse_args(words)
    arguments.output.write_text(write(arguments.results))


if __name__ == "__main__":
    main()
