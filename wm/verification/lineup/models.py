"""A whole line-up for a suspect that is at hand as a model, by whoever has the owner's training rows."""

from __future__ import annotations

from wm.claims.beacons.base import Trust
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.embedding.lineup.context import TrainingRows, check_context
from wm.embedding.options import DEFAULT_CANDIDATES
from wm.forest import Forest
from wm.models import TreeModel
from wm.verification.judgement import Judgement, Requirements
from wm.verification.lineup.candidates import Lineup, committed_lineup, retrained_lineup
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.judgement import judge_lineup, lineup_answers
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import build_queries
from wm.verification.lineup.rounds import RoundLineup, round_lineup


def judge_model(
    claim: LineupClaim | OpenedLineup,
    suspect: Forest | TreeModel,
    rows: TrainingRows,
    *,
    counts: Counts | None = None,
    candidates: int | Forest = DEFAULT_CANDIDATES,
    judge: Judge | None = None,
    requirements: Requirements | None = None,
    trust: Trust | None = None,
    log: tuple[str, ...] = (),
    n_jobs: int = 1,
) -> Judgement:
    """Draw queries, line up candidates, ask the suspect and judge its answers.

    Parameters
    ----------
    suspect
        Its two classes are named as the claim's, or 0 and 1.
    rows
        The owner's training rows; with committed candidates the judge's own of the same kind.
    counts
        Number of queries of each kind; None: as `wm verify`.
    candidates
        N, or the candidates that the claim commits to.
    judge
        None: a fresh one.
    requirements, trust, log
        As in `wm.verification.lineup.judgement.judge_lineup`.

    Raises
    ------
    ClaimError
        A claim without draw, or other rows, candidates or library versions than the claim's.
    ModelError
        Margins of other classes than the claim's two.
    """
    header, random = claim.header, judge or Judge.fresh()
    if isinstance(candidates, int):  # before minutes are spent on queries
        check_context(header, rows)
    queries = build_queries(counts or Counts(), rows, (rows.X[:0], rows.y[:0]), header.training, random)
    lineup: Lineup | RoundLineup
    if isinstance(candidates, Forest):
        lineup = committed_lineup(claim, candidates, queries.X)
    elif header.is_boosted:
        lineup = round_lineup(claim, rows, queries.X, candidates=candidates, judge=random, n_jobs=n_jobs)
    else:
        lineup = retrained_lineup(claim, rows, queries.X, candidates=candidates, judge=random, n_jobs=n_jobs)
    given = lineup_answers(suspect, header, queries, what="the suspect")
    return judge_lineup(claim, lineup, queries, given, requirements, trust=trust, log=log)
