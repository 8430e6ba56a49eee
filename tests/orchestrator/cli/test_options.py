"""Options that are derived from a model's fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from orchestrator.cli.common import model_options
from orchestrator.cli.groups import in_flags
from orchestrator.cli.retro import retro
from orchestrator.cli.trace import trace


class Toy(BaseModel):
    share: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.02, description="Share of rows.")
    step: Annotated[float, Field(gt=0, le=9)] | None = Field(default=None, description="Of each round.")
    max_rounds: int = Field(default=500, ge=1, le=1000, description="Rounds.")
    training: Literal["paper", "per-tree"] = Field(default="per-tree", description="How trees fit.")
    tall: bool = Field(default=False, description="Tall trees.")
    sizes: tuple[int, ...] = Field(default=(1, 2), description="Sizes.")
    name: str = Field(description="Yours.")


@click.command()
@model_options(Toy)
def command(**options: object) -> None:
    """Print the model of what was given."""
    click.echo(Toy.model_validate(options).model_dump_json())


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_defaults_are_those_of_the_model() -> None:
    assert _run("--name", "a") == (0, Toy(name="a").model_dump_json() + "\n")


def test_every_field_can_be_given() -> None:
    given = ("--share", "0.5", "--step", "9", "--max-rounds", "1", "--training", "paper", "--tall")
    given += ("--sizes", "4", "--sizes", "5", "--name", "b")
    expected = Toy(share=0.5, step=9, max_rounds=1, training="paper", tall=True, sizes=(4, 5), name="b")
    assert _run(*given) == (0, expected.model_dump_json() + "\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--name'"),
        (("--share", "0"), "is not in the range 0<x<1"),
        (("--step", "9.5"), "is not in the range 0<x<=9"),
        (("--max-rounds", "1001"), "1001 is not in the range 1<=x<=1000"),
        (("--training", "other"), "'other' is not one of 'paper', 'per-tree'"),
    ],
)
def test_values_that_the_model_refuses_are_refused(arguments: tuple[str, ...], message: str) -> None:
    code, output = _run(*arguments)
    assert code == 2
    assert message in output


def test_help_is_the_description() -> None:
    _, output = _run("--help")
    for field in Toy.model_fields.values():
        assert str(field.description) in output


@pytest.mark.parametrize("found", [retro, trace], ids=["retro", "trace"])
def test_help_does_not_name_the_only_scheme_that_a_command_is_for(found: click.Command) -> None:
    texts = {each.name: each.help or "" for each in found.params if isinstance(each, click.Option)}
    assert [name for name, text in texts.items() if text.startswith("For ")] == []
    assert texts["mixups"] == "Mixtures of two training rows to ask."
    assert (
        texts.get("min_samples_leaf", "Least number of rows in a leaf.") == "Least number of rows in a leaf."
    )


@pytest.mark.parametrize("command", ["embed", "claim new"])
def test_a_number_and_a_share_of_trigger_rows_exclude_each_other(wm, model, command: str) -> None:
    files = (
        ("--key", model.key, "--commitment", "b.json", "-o", "c.json") if command != "embed" else ("-o", "m")
    )
    given = ("--dataset", "breast-cancer", "--trigger-rows", 4, "--trigger-share", 0.05)
    ran = wm(*command.split(), *given, *files)
    assert ran.code == 2
    assert "--trigger-share is a share of the rows: leave it out with --trigger-rows" in ran.err


def test_a_file_and_json_exclude_each_other(wm) -> None:
    Path("file.npz").touch()
    for command in (("results", "jobs", "name"), ("predict", "file.npz", "file.npz")):
        ran = wm(*command, "-o", "out.csv", "--json")
        assert ran.code == 2
        assert "--json and -o exclude each other: the file's ending says how it is written" in ran.err


@pytest.mark.parametrize("command", ["embed", "claim new", "verify", "retro"])
def test_no_threads_at_all_are_refused(wm, command: str) -> None:
    ran = wm(*command.split(), "--jobs", 0)
    assert ran.code == 2
    assert "Invalid value for '--jobs': 0 threads are none: give 1 or more, or -1 for all cores" in ran.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('raise max_rounds, or use training = "paper"', "raise --max-rounds, or use --training paper"),
        ("max_rounds: too small.", "--max-rounds: too small."),
        ("training of a name is a word", "training of a name is a word"),
        (
            "embedding.max_rounds and max_rounds_2 in a file",
            "embedding.max_rounds and max_rounds_2 in a file",
        ),
        ("step = 3.5", "--step 3.5"),
    ],
)
def test_errors_of_the_library_name_options_as_the_command_line_does(text: str, told: str) -> None:
    assert in_flags(text, command) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--weight-step", 1), "impossible options: --weight-step has no meaning for --training per-tree"),
        (
            ("--trees", 4, "--trigger-share", 0.9, "--seed", 1),
            "allow deeper trees (--max-depth), or take fewer trigger rows",
        ),
    ],
)
def test_a_refused_embedding_names_flags(wm, arguments: tuple[object, ...], told: str) -> None:
    ran = wm("embed", "--dataset", "breast-cancer", "-o", "m", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
