"""`wm retro`: a suspect against the seed of an honest forest to which nobody committed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.common import INPUT, jobs_option, json_option, model_options, print_json, say
from orchestrator.cli.model_files import data_options, level_option, load_rows, trust_options
from orchestrator.cli.suspects import read_suspect_model
from wm.embedding.options import DEFAULT_CANDIDATES, MAX_CANDIDATES, LineupOptions
from wm.verification.lineup.order import Counts
from wm.verification.transcript import transcript

if TYPE_CHECKING:
    from wm.datasets.preparation import MinMax, Preparation


@dataclass(frozen=True)
class _Header:
    """What is known of the rows: they are model input as they are."""

    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    preparation: MinMax | Preparation | None = None


@click.command()
@click.option("--path", type=INPUT, required=True, help="The rows that the forest was trained on, in order.")
@data_options
@click.option(
    "--model",
    type=INPUT,
    required=True,
    help="Suspect model whose trees vote (docs/formats.md): npz, skops, joblib, onnx.",
)
@trust_options
@click.option("--random-state", type=int, required=True, help="Seed of your RandomForestClassifier.")
@click.option("--trees", type=click.IntRange(2, 10_000), required=True, help="Its number of trees.")
@click.option("--max-depth", type=click.IntRange(1, 1000), help="Its depth.  [default: no limit]")
@model_options(LineupOptions, only=("min_samples_leaf", "max_features"), without="For lineup: ")
@click.option(
    "--bootstrap/--no-bootstrap", default=True, help="Whether its trees were trained on bootstrap samples."
)
@click.option(
    "--settings-tried",
    type=click.IntRange(1, 10**9),
    required=True,
    help="Number of settings and versions of the rows that you could have tried; p is multiplied by it.",
)
@click.option("--tried", type=click.IntRange(1, 10**9), default=1, help="Suspects tried, this one included.")
@click.option(
    "--candidates",
    type=click.IntRange(2, MAX_CANDIDATES),
    default=DEFAULT_CANDIDATES,
    help="Trees to compare each tree with, yours among them.",
)
@model_options(Counts, only=("mixups", "boundary"), without="For a line-up: ")
@click.option("--judge-seed", metavar="TEXT", help="Repeats a judge's choices.  [default: a new one]")
@jobs_option("Threads for training")
@level_option("Maximum p-value that counts as an indication.")
@json_option
def retro(path: Path, json: bool, **options: Any) -> None:
    """Judge a suspect by the seed of a forest without a claim.

    For honest forests of scikit-learn whose rows, settings and seed were kept, but to which nobody committed:
    an indication at best, as p is multiplied by all seeds there are. The exit code is 5 for an indication
    or rows that allow none, 1 otherwise.
    """
    import numpy as np

    from wm.datasets.model import with_medians
    from wm.embedding.lineup.context import TrainingRows, canonical_rows
    from wm.verification.judgement import VerdictKind
    from wm.verification.lineup.judge import Judge
    from wm.verification.lineup.judgement import model_lineup_answers
    from wm.verification.lineup.queries import build_queries
    from wm.verification.lineup.retroactive import check_seed, judge_retroactive, retroactive_lineup

    check_seed(options["random_state"])
    table = with_medians(load_rows(options, path=path))
    names = ("min_samples_leaf", "max_features", "bootstrap")
    settings = LineupOptions.of(**{name: options[name] for name in names}).of_trees(options["max_depth"])
    rows = TrainingRows(np.ascontiguousarray(table.X, dtype=np.float32), table.y)
    judge = Judge.fresh() if options["judge_seed"] is None else Judge(options["judge_seed"])
    counts = Counts(natural=0, mixups=options["mixups"], boundary=options["boundary"], leaning=0)
    mixed = canonical_rows(rows.X, rows.y)  # refuses what no tree can use
    queries = build_queries(counts, mixed, (rows.X[:0], rows.y[:0]), settings, judge)
    forest = read_suspect_model(options)
    domain = tuple(zip(rows.X.min(axis=0).tolist(), rows.X.max(axis=0).tolist(), strict=True))
    given = model_lineup_answers(forest, _Header(table.class_names, table.feature_names, domain), queries)
    for note in queries.notes:
        say(note)
    say(f"training {options['candidates']} candidates for each of {options['trees']} trees")
    lineup = retroactive_lineup(
        rows,
        settings,
        options["random_state"],
        options["trees"],
        queries.X,
        candidates=options["candidates"],
        judge=judge,
        n_jobs=options["jobs"],
    )
    judgement = judge_retroactive(
        lineup,
        given,
        settings_tried=options["settings_tried"],
        tried=options["tried"],
        level=options["level"],
    )
    about = {
        "seed": options["random_state"],
        "suspect": f"model {options['model']}, content hash {forest.content_hash}",
        "judge's seed": judge.seed,
    }
    if json:
        print_json(asdict(judgement) | about)
    else:
        click.echo(transcript(judgement, about=about), nl=False)
    is_open = judgement.verdict is not VerdictKind.NOT_VERIFIED
    click.get_current_context().exit(Exit.OPEN if is_open else Exit.NEGATIVE)
