"""Options of `wm claim new` and `wm embed` that apply to some schemes only."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource

from orchestrator.cli.common import model_options, option_group
from wm.codebook import BOOSTED
from wm.embedding import SCHEMES
from wm.embedding.options import DEFAULT_DEPTH, FitOptions, GradientOptions, LineupOptions

LINEUP = "lineup"

_OF_POOL = ("trigger_rows", "trigger_share", "ones_share", "pool_size", "pool_rows", "level")
"""Options of schemes with trigger rows."""

_OF_LINEUP = (*LineupOptions.model_fields, "committed", "customer")

_OF_FITTING = (*FitOptions.model_fields, "adjust")

_OF_BOOSTED = tuple(GradientOptions.model_fields)

_OF_BOTH = set(_OF_LINEUP) & set(_OF_BOOSTED)

_FOREIGN = {
    LINEUP: {*_OF_POOL, *_OF_BOOSTED, *_OF_FITTING} - _OF_BOTH,
    BOOSTED: {*_OF_LINEUP, *_OF_FITTING} - _OF_BOTH,
}
"""Options that do not apply to a scheme; to other schemes `_OF_FORESTS` do not."""

_OF_FORESTS = {*_OF_LINEUP, *_OF_BOOSTED}

_ONES = ", ".join(
    f"{scheme.ones_share:g} in scheme {name}" for name, scheme in SCHEMES.items() if scheme.marks_rows
)

scheme_options = option_group(
    click.option(
        "--scheme",
        type=click.Choice(list(SCHEMES)),
        default="paper",
        help="Marked trigger rows in a forest (paper, codebook) or a boosted model (boosted), or an unmarked "
        "model with committed seeds (lineup): docs/schemes.md.",
    ),
    click.option(
        "--ones-share",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help=f"Share of the trees that must err on trigger rows.  [default: {_ONES}]",
    ),
    click.option(
        "--max-depth",
        type=click.IntRange(1, 1000),
        help=f"Depth of trees.  [default: no limit; of boosted models {DEFAULT_DEPTH}]",
    ),
    model_options(LineupOptions),
)
"""The scheme, and what an owner fixes before the draw for `lineup`."""


def refuse_of_others(context: click.Context, scheme: str, *, fixed: Iterable[str] = ()) -> None:
    """Refuse options of the command that do not apply to a scheme, or that exclude each other.

    Parameters
    ----------
    fixed
        Further options that have no meaning, since something else has fixed them.

    Raises
    ------
    click.UsageError
        One of the options was given.
    """
    names = {*_FOREIGN.get(scheme, _OF_FORESTS), *fixed}
    refuse_foreign(context, names, f"has no meaning for scheme {scheme}")
    if context.params["trigger_rows"] is not None:
        refuse_foreign(
            context, ("trigger_share",), "is a share of the rows", "leave it out with --trigger-rows"
        )


def refuse_foreign(
    context: click.Context, names: Iterable[str], reason: str, advice: str = "leave it out"
) -> None:
    """Refuse options that were given to the command, for a reason as in "has no meaning for scheme paper".

    Raises
    ------
    click.UsageError
        One of the options was given.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{parameter.opts[0]} {reason}: {advice}")
