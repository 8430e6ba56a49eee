"""Help, versions, variables: what every command has in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import wm as package
from orchestrator.cli import cli
from orchestrator.results import COLUMNS
from tests import ending


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, (*path, name))


def _find(path: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        inner = command.get_command(click.Context(command), name)
        assert inner is not None
        command = inner
    return command


ALL = list(_commands(cli))


def test_every_promised_command_is_there() -> None:
    promised = {
        *(
            "demo",
            "report",
            "embed",
            "audit",
            "claim new",
            "claim show",
            "open",
            "queries",
            "verify",
            "db upgrade",
            "db check",
        ),
        *(f"campaign {name}" for name in ("validate", "run", "resume", "status", "list")),
        *(f"results {name}" for name in COLUMNS),
    }
    assert promised <= {" ".join(path) for path in ALL}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_option_and_argument(wm, path: tuple[str, ...], flag: str) -> None:
    ran = wm(*path, flag)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(" ".join(["Usage: wm", *path]))
    for parameter in _find(path).params:
        if isinstance(parameter, click.Option):
            assert all(option in ran.out for option in parameter.opts)
            assert parameter.help or parameter.show_default, parameter.name
        else:
            assert str(parameter.make_metavar(click.Context(_find(path)))) in ran.out


@pytest.mark.parametrize("path", [path for path in ALL if path[:1] not in [(), ("results",), ("report",)]])
def test_the_first_line_of_help_fits_next_to_the_command(path: tuple[str, ...]) -> None:
    """So that a group's help at 80 columns shows all of it."""
    first = (_find(path).help or "").splitlines()[0]
    assert _find(path).get_short_help_str(limit=80 - 15) == first.removesuffix(".") + "."
    assert len(first) <= 80 - 15


@pytest.mark.parametrize("path", [path for path in ALL if isinstance(_find(path), click.Group)], ids=" ".join)
def test_a_group_alone_shows_its_help_as_a_mistake(wm, path: tuple[str, ...]) -> None:
    ran = wm(*path)
    assert (ran.code, ran.out) == (2, "")
    assert "Commands:" in ran.err


WITHOUT_JSON = {
    *("campaign run", "campaign resume", "demo", "orchestrate", "worker"),  # they tell how the work goes on
    *("campaign schema", "completion", "notary trust"),  # what they print or write has one form
}


@pytest.mark.parametrize(
    "path", [path for path in ALL if not isinstance(_find(path), click.Group)], ids=" ".join
)
def test_whatever_is_read_can_be_had_as_json(path: tuple[str, ...]) -> None:
    options = {option for parameter in _find(path).params for option in parameter.opts}
    assert ("--json" in options) == (" ".join(path) not in WITHOUT_JSON)


def test_version(wm) -> None:
    ran = wm("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"wm, version {package.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [["nope"], ["campaign", "nope"], ["results", "nope"], ["--nope"], ["verify", "--nope"], ["verify"], [""]],
    ids=str,
)
def test_an_unknown_word_is_named_and_help_offered(wm, arguments: list[str]) -> None:
    ran = wm(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "--help" in ran.err
    assert "Error: " in ran.err


def test_store_variable_stands_for_the_option(wm, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_STORE_URL", tiny.url)
    by_variable = wm("campaign", "list", "--json")
    assert [row["name"] for row in by_variable.json()] == ["tiny"]
    assert by_variable == wm("campaign", "list", "--json", "--store", tiny.url)
    monkeypatch.setenv("WM_STORE_URL", "sqlite:///nowhere.db")
    assert wm("campaign", "list").code == 2
    assert wm("campaign", "list", "--store", tiny.url).code == 0, "an option wins over its variable"


@pytest.mark.parametrize(
    ("variable", "arguments"),
    [
        ("WM_EMBED_TREES", ["embed", "--dataset", "breast-cancer", "-o", "model"]),
        ("WM_EMBED_SEED", ["embed", "--dataset", "breast-cancer", "-o", "model"]),
        ("WM_EMBED_DATASET", ["embed", "-o", "model"]),
        ("WM_VERIFY_LEVEL", ["verify", "{claim}", "--model", "{forest}"]),
        ("WM_VERIFY_MODEL", ["verify", "{claim}"]),
        ("WM_VERIFY_VOTES", ["verify", "{claim}"]),
        ("WM_CAMPAIGN_RUN_WORKERS", ["campaign", "run", "{file}"]),
        ("WM_RESULTS_JOBS_JSON", ["results", "jobs", "tiny", "--store", "{url}"]),
        ("WM_DEMO_WORKERS", ["demo"]),
    ],
)
def test_every_option_has_a_variable_of_its_name(
    wm, tiny, model, variable: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"claim": model.claim, "forest": model.forest, "file": tiny.file, "url": tiny.url}
    monkeypatch.setenv(variable, "no-such-value")
    ran = wm(*(argument.format(**places) for argument in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert "no-such-value" in ran.err


@pytest.mark.parametrize("path", [path for path in ALL if path], ids=" ".join)
def test_every_option_has_the_variable_that_the_help_promises(path: tuple[str, ...]) -> None:
    for option in _find(path).params:
        if isinstance(option, click.Option) and "--version" not in option.opts:
            name = max(option.opts, key=len).lstrip("-").replace("-", "_")
            variable = "_".join(["WM", *path, name]).upper().replace("-", "_")
            special = ("WM_STORE_URL", "WM_BROKER_URL", "WM_WORKER_PASSWORD_FILE")
            assert option.envvar in (variable, *special) or name == option.name


def test_a_flag_by_variable(wm, tiny, model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_RESULTS_ACCURACY_JSON", "1")
    monkeypatch.setenv("WM_VERIFY_MODEL", str(model.forest))
    monkeypatch.setenv("WM_VERIFY_TRUST", str(model.trust))
    monkeypatch.setenv("WM_VERIFY_SUSPECT_SINCE", "2025-06-30")
    assert len(wm("results", "accuracy", "tiny", "--store", tiny.url).json()) == 2
    assert wm("verify", model.claim).code == 0


def test_a_variable_meant_for_something_else_does_no_harm(wm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_VERSION", "1.2.3")
    assert wm("campaign", "--help").code == 0
    assert wm("campaign", "list").err.startswith("wm: there is no store")


def test_the_summaries_of_commands_are_their_first_sentences_whole() -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        assert cli.summary(context, name) == _find((name,)).get_short_help_str(limit=1000)
        assert not cli.summary(context, name).endswith("...")


@pytest.mark.parametrize("path", [path for path in ALL if isinstance(_find(path), click.Group)], ids=" ".join)
def test_help_cuts_no_summary_on_a_narrow_terminal(
    wm, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    shown = " ".join(wm(*path, "--help").out.partition("Commands:")[2].split())
    group = _find(path)
    assert isinstance(group, click.Group)
    for name in group.list_commands(click.Context(group)):
        assert f"{name} {_find((*path, name)).get_short_help_str(limit=1000)}" in shown


@pytest.mark.parametrize(
    "arguments",
    [{}, {"_WM_COMPLETE": "bash_complete", "COMP_WORDS": "wm ca", "COMP_CWORD": "1"}],
    ids=["help", "completion"],
)
def test_help_and_completion_import_no_command(arguments: dict[str, str]) -> None:
    """They answer at once, however much the commands need."""
    code = (
        "import sys, orchestrator.cli as c\n"
        "try: c.main()\n"
        "finally: print(sorted(n for n in sys.modules if n.startswith('orchestrator.cli.')), file=sys.stderr)"
    )
    ran = ending.run(
        [sys.executable, "-c", code, "--help"],
        cwd=Path(__file__).resolve().parents[3],
        env=os.environ | arguments,
    )
    assert "campaign" in ran.stdout
    assert (
        ran.stderr.strip()
        == "['orchestrator.cli.groups', 'orchestrator.cli.memory', 'orchestrator.cli.streams']"
    )


HEAVY = ("sklearn", "scipy", "numba", "pandas", "altair", "z3", "alembic", "celery")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("orchestrator.cli", (*HEAVY, "sqlalchemy", "numpy", "pydantic")),
        ("orchestrator.cli.campaign", HEAVY),
        ("orchestrator.cli.verify", HEAVY),
    ],
)
def test_commands_start_without_the_libraries_of_their_work(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    root = Path(__file__).resolve().parents[3]
    ran = ending.run([sys.executable, "-c", code], cwd=root)
    assert ran.stdout.strip() == "[]"
