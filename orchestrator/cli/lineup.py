"""What `wm claim new`, `wm embed`, `wm queries` and `wm verify` do for claims of scheme `lineup`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.boosted import embed_boosted_lineup_claim
from orchestrator.cli.common import INPUT, model_options, option_group, say
from orchestrator.cli.embedded_model import EmbeddedModel, figures
from orchestrator.cli.endpoints import PROBES, TEXT_TO_URL, ask_endpoint
from orchestrator.cli.owner_data import OwnerData, data_of_claim
from orchestrator.cli.suspects import NO_ORDER, answers_in_files, check_sources, read_suspect
from orchestrator.files import SECRET, write_new
from wm.embedding.options import LineupOptions
from wm.verification.lineup.order import Counts, LineupOrder

if TYPE_CHECKING:
    from wm.claims.beacons.base import Trust
    from wm.claims.lineup import LineupClaim
    from wm.claims.lineup_opened import OpenedLineup
    from wm.embedding.lineup.context import TrainingRows
    from wm.forest import Forest
    from wm.verification.judgement import Judgement, Requirements, Response
    from wm.verification.lineup.candidates import Lineup
    from wm.verification.lineup.queries import Queries
    from wm.verification.lineup.rounds import RoundLineup
    from wm.verification.questions import Questions

COMMITTED_HELP = "For lineup: commit to candidates, and write them to this file (npz): keep it secret."

OF_JUDGE = (*Counts.model_fields, "rows", "own_rows", "candidates", "committed", "judge_seed", "jobs")
"""Options of a judge that only scheme `lineup` has."""

judge_options = option_group(
    click.option(
        "--rows",
        type=INPUT,
        help="For a line-up: file of the owner's data.  [default: the one that the claim names]",
    ),
    click.option(
        "--own-rows",
        is_flag=True,
        help="For a line-up: the file's test rows, and all rows beside committed candidates, are your own or "
        "were fixed before the suspect was known. Otherwise no test rows are asked, and committed "
        "candidates give an indication at best.",
    ),
    model_options(Counts),
)
"""Options of a line-up's queries."""


def new_lineup_claim(
    data: OwnerData, options: dict[str, Any], owner: str, committed: Path | None = None
) -> LineupClaim:
    """Return the claim that the options ask for, and write the candidates that it commits to, if any."""
    from wm.embedding.lineup.claimed import commit_lineup

    chosen = LineupOptions.of(**{name: options[name] for name in LineupOptions.model_fields})
    if committed is not None:
        say(f"training {chosen.candidates} candidates for each of {options['trees']} trees")
    made = commit_lineup(
        data.rows,
        trees=options["trees"],
        training=chosen.training(options["max_depth"]),
        owner=owner,
        model_id=options["model_id"],
        committed=None if committed is None else chosen.candidates,
        seed=options["seed"],
        source=data.source,
        n_jobs=options["jobs"],
    )
    if committed is not None and made.candidates is not None:
        write_new(committed, made.candidates.to_bytes(), mode=SECRET)
    return made.claim


def embed_lineup_claim(
    claim: LineupClaim, receipts: list[Any], data: OwnerData, options: dict[str, Any]
) -> EmbeddedModel:
    """Train, or take from the committed candidates, the forest that a claim's draw demands."""
    from wm.embedding.lineup.claimed import embed_lineup
    from wm.embedding.quality import quality
    from wm.interface import model_bytes

    rows, file = data.split, options["committed"]
    if claim.header.is_boosted:
        if file is not None or options["customer"] is not None:
            raise click.UsageError("--committed and --customer are for forests: leave them out")
        return embed_boosted_lineup_claim(claim, receipts, data)
    made = embed_lineup(
        claim,
        receipts,
        rows.X_train,
        rows.y_train,
        candidates=None if file is None else read_candidates(file),
        customer=options["customer"] or "",
        n_jobs=options["jobs"],
    )
    found = quality(made.forest, rows.X_test, rows.y_test)
    accuracy = made.forest.accuracy(rows.X_test, rows.y_test)
    facts = {"trees": claim.header.trees, "mode": claim.header.mode, **figures(accuracy, found)}
    return EmbeddedModel(model_bytes(made.forest, data.interface), made.claim, facts)


@dataclass(frozen=True, eq=False)
class Session:
    """A judge's session: the claim, the rows that it is about, and the queries."""

    claim: LineupClaim | OpenedLineup
    order: LineupOrder
    rows: TrainingRows
    queries: Queries


def _session(claim: LineupClaim | OpenedLineup, options: dict[str, Any], order: LineupOrder) -> Session:
    from wm.embedding.lineup.context import canonical_rows, check_context
    from wm.verification.lineup.judge import Judge
    from wm.verification.lineup.queries import build_queries

    split = data_of_claim(claim, options["rows"], given_as="rows").split
    rows = canonical_rows(split.X_train, split.y_train)
    if claim.header.mode == "retrained":  # before minutes are spent on training
        check_context(claim.header, rows)
    held_out = split.X_test, split.y_test
    queries = build_queries(order.counts, rows, held_out, claim.header.training, Judge(order.seed))
    return Session(claim, order, rows, queries)


def _new_order(claim: LineupClaim | OpenedLineup, options: dict[str, Any]) -> LineupOrder:
    from wm.verification.lineup.judge import Judge

    seed = Judge.fresh().seed if options.get("judge_seed") is None else options["judge_seed"]
    counts = Counts(**{name: options[name] for name in Counts.model_fields})
    if not options.get("own_rows", True):  # wm trace has no such option: its user is the owner
        given = click.get_current_context().get_parameter_source("natural")
        if given is not click.core.ParameterSource.DEFAULT and counts.natural:
            raise click.UsageError(
                "--natural asks test rows, which a claimant could have chosen to fit the suspect: give "
                "--own-rows if they are yours, or were fixed before"
            )
        counts = counts.model_copy(update={"natural": 0})
    return LineupOrder(commitment=claim.commitment, units=options["units"], seed=seed, counts=counts)


def lineup_questions(claim: LineupClaim | OpenedLineup, options: dict[str, Any]) -> Questions[LineupOrder]:
    """Return the rows to ask a suspect."""
    from wm.verification.lineup.order import ask_queries

    session = _session(claim, options, _new_order(claim, options))
    asked = session.order.asking(len(session.queries.y), options["repeats"])
    return ask_queries(session.queries, asked, claim.header)


def verify_lineup(
    claim: LineupClaim | OpenedLineup,
    options: dict[str, Any],
    requirements: Requirements,
    *,
    trust: Trust | None,
    log: tuple[str, ...],
) -> tuple[Judgement, str]:
    """Judge a suspect by a line-up; return the judgement and a description of the suspect."""
    from wm.verification.lineup.judgement import UNKNOWN_ROWS, judge_lineup

    session, given, description = answers_of_suspect(claim, options)
    lineup = _lined_up(session, options)
    given = given.noted(*_platform_notes(session, options["jobs"]))
    is_open = not options["own_rows"] and (session.order.counts.natural or claim.header.mode == "committed")
    judged = judge_lineup(
        claim,
        lineup,
        session.queries,
        given,
        requirements,
        trust=trust,
        log=log,
        open_questions=(UNKNOWN_ROWS,) if is_open else (),
    )
    return judged, f"{description}; judge's seed {session.order.seed!r}"


def answers_of_suspect(
    claim: LineupClaim | OpenedLineup, options: dict[str, Any]
) -> tuple[Session, Response, str]:
    """Return the queries, the answers of the suspect that the options name, and its description."""
    from wm.verification.lineup.judgement import lineup_answers
    from wm.verification.lineup.order import ask_queries, read_lineup_order, sort_lineup_answers

    check_sources(options)
    order = _new_order(claim, options)
    if options["order"] is not None:
        order = read_lineup_order(options["order"])
        if order.commitment != claim.commitment:
            raise click.UsageError(f"{options['order']}: is the order of another claim's questions")
    session = _session(claim, options, order)
    queries = session.queries
    if options["model"] is not None:
        model, what = read_suspect(options), str(options["model"])
        description = f"model {what}, content hash {model.forest.content_hash}"
        return session, lineup_answers(model, claim.header, queries, what=what), description
    if options["url"] is not None:
        order = order.asking(len(queries.y), options["repeats"])
        asked = ask_queries(queries, order, claim.header)
        if asked.cells is not None:
            raise click.UsageError(TEXT_TO_URL)
        answers, endpoint, wire = ask_endpoint(asked.X, asked.X[:PROBES], claim.header, options)
        given = sort_lineup_answers({answers.kind: answers}, order, len(queries.y))
        given = given.noted(f"asked in format {wire.name}, answered by {answers.kind}")
        return session, given, f"endpoint {endpoint.what}, asked {len(order.asked)} rows"
    if options["order"] is None:
        raise click.UsageError(NO_ORDER)
    found, description = answers_in_files(claim.header, len(order.asked), options)
    return session, sort_lineup_answers(found, order, len(queries.y)), description


def _lined_up(session: Session, options: dict[str, Any]) -> Lineup | RoundLineup:
    from wm.claims.lineup import FORMAT
    from wm.verification.lineup.candidates import committed_lineup, retrained_lineup
    from wm.verification.lineup.judge import Judge
    from wm.verification.lineup.rounds import round_lineup

    claim, X = session.claim, session.queries.X
    if claim.header.mode == "committed":
        if options["committed"] is None:
            raise click.UsageError("the claim commits to candidates: give their file as --committed")
        return committed_lineup(claim, read_candidates(options["committed"]), X)
    if options["committed"] is not None:
        raise click.UsageError("--committed: the claim commits to no candidates")
    count = options["candidates"]
    shown = f"{claim.header.trees}" if claim.format == FORMAT else "the opened"
    parts = "rounds" if claim.header.is_boosted else "trees"
    say(f"training {count} candidates for each of {shown} {parts}")
    make = round_lineup if claim.header.is_boosted else retrained_lineup
    return make(
        claim, session.rows, X, candidates=count, judge=Judge(session.order.seed), n_jobs=options["jobs"]
    )


def _platform_notes(session: Session, jobs: int) -> Iterator[str]:
    from wm.claims.lineup import LineupClaim
    from wm.embedding.lineup.claimed import is_reproduced

    claim = session.claim
    if not isinstance(claim, LineupClaim) or claim.header.mode != "retrained" or claim.released is None:
        return
    if not is_reproduced(claim, session.rows, n_jobs=jobs):
        yield (
            "trained again here, the owner's forest is not the one that the claim calls released: on another "
            "platform equal seeds may give other trees"
        )


def read_candidates(path: Path) -> Forest:
    """Read the committed candidates of a claim."""
    from wm.forest import Forest

    return Forest.load(path)
