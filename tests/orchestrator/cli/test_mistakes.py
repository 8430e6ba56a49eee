"""Wrong input of all kinds: the right exit code, a short reason on stderr, no traceback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples

GARBAGE = bytes(range(256)) * 8


@pytest.fixture(scope="module")
def wrong(wm, model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every wrong kind, and an order of questions; to be copied."""
    folder = tmp_path_factory.mktemp("wrong")
    asked = ("-o", folder / "asked.csv", "--order", folder / "order.json")
    assert wm("queries", model.claim, *asked).code == 0
    (folder / "directory").mkdir()
    for ending in ("toml", "json", "npz", "csv", "bin"):
        (folder / f"garbage.{ending}").write_bytes(GARBAGE)
        (folder / f"empty.{ending}").touch()
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.toml").write_text("a = " + "[" * 100_000)
    (folder / "number.json").write_text("1" * 10_000)
    (folder / "bomb.csv").write_bytes(b'"' + b"0," * 200_000)
    return folder


@pytest.fixture
def places(tiny, model, wrong: Path, tmp_path: Path) -> dict[str, str]:
    """Those files here, and some right ones, by the names that the tables below use."""
    shutil.copytree(wrong, tmp_path, dirs_exist_ok=True)
    return {
        "file": str(tiny.file),
        "url": tiny.url,
        "claim": str(model.claim),
        "forest": str(model.forest),
        "key": str(model.key),
        "order": str(tmp_path / "order.json"),
    }


TABLE = [
    # Files that are missing, directories, or something else.
    *(
        f"{command} {file}"
        for command in ("campaign validate", "campaign run")
        for file in (
            "missing.toml",
            "directory",
            "garbage.toml",
            "empty.toml",
            "deep.toml",
            "{claim}",
            "{forest}",
        )
    ),
    *(
        f"{command} {file} {rest}"
        for command, rest in (
            ("verify", "--model {forest}"),
            ("queries", "-o rows.csv --order new.json"),
            ("claim show", ""),
            ("open", "--key {key} --draw 3 --challenge a -o opening.json"),
        )
        for file in (
            *("missing.json", "directory", "garbage.json", "empty.json", "deep.json", "number.json"),
            *("{forest}", "{file}", "/dev/null"),
        )
    ),
    *(
        f"verify {{claim}} --model {file}"
        for file in ("missing.npz", "directory", "garbage.npz", "empty.npz", "{claim}", "{file}", "/dev/null")
    ),
    *(
        f"audit {file}"
        for file in ("missing.npz", "directory", "garbage.npz", "empty.npz", "{claim}", "{file}", "/dev/null")
    ),
    *(
        f"verify {{claim}} {option} {file}"
        for option in (
            *("--model {forest} --trust", "--model {forest} --log", "--votes garbage.csv --order"),
        )
        for file in ("missing.json", "directory", "garbage.json", "deep.json", "{forest}")
    ),
    *(
        f"verify {{claim}} --order {{order}} --votes {file}"
        for file in (
            *("missing.csv", "directory", "garbage.csv", "empty.csv", "bomb.csv", "garbage.npz", "empty.npz"),
            *("{forest}", "{claim}", "/dev/null", "garbage.bin"),
        )
    ),
    *(
        f"{command} {file}"
        for command in (
            "claim new --dataset breast-cancer -o claim.json --commitment commitment.json --key",
            "embed --dataset breast-cancer -o model --key",
            "embed -o model --claim {claim} --receipt",
        )
        for file in ("missing", "directory", "garbage.json", "empty.json", "deep.json", "{claim}", "{forest}")
    ),
    *(
        f"embed --path {file} --label 0 -o model"
        for file in (
            *("missing.csv", "directory", "garbage.csv", "empty.csv", "bomb.csv", "garbage.npz", "empty.npz"),
            *("{forest}", "{claim}", "{file}", "garbage.bin"),
        )
    ),
    # Values of the wrong type, too many or too few words.
    "campaign run {file} --workers 0",
    "campaign run {file} --workers many",
    "campaign run {file} --workers 1.5",
    "campaign validate {file} {file}",
    "campaign run",
    "campaign status",
    "campaign status tiny tiny --store {url}",
    "campaign status other --store {url}",
    "campaign resume other --store {url}",
    "campaign list tiny --store {url}",
    "campaign list --store",
    "results accuracy --store {url}",
    "results accuracy other --store {url}",
    "results forgery 99999999999999999999 --store {url}",
    "results jobs tiny --store {url} -o directory",
    "results jobs tiny --store {url} --json=yes",
    "report other --store {url}",
    "report tiny --store {url} -o directory",
    "report tiny --store {url} -o missing/report.html",
    "report tiny --store {url} --figures garbage.bin",
    "demo -o garbage.bin",
    "demo -o garbage.bin/demo",
    "demo -o /proc/demo",
    "demo --workers 0",
    "embed",
    "embed -o model",
    "embed --dataset breast-cancer",
    "embed --dataset breast-cancer --scheme other -o model",
    "embed --dataset breast-cancer --scaling other -o model",
    "embed --dataset breast-cancer --adjust other -o model",
    "embed --dataset breast-cancer --trees many -o model",
    "embed --dataset breast-cancer --seed 0.5 -o model",
    "claim new",
    "claim new --dataset breast-cancer",
    "claim show",
    "claim show {claim} {claim}",
    "embed --dataset openml:x -o model",
    "verify {claim} --level high --model {forest}",
    "verify {claim} --level nan --model {forest}",
    "verify {claim} --suspect-since soon --model {forest}",
    "verify {claim} --tried 0 --model {forest}",
    "queries {claim}",
    "queries {claim} -o rows.csv",
    "queries {claim} -o rows.csv --order new.json --level nan",
    "queries {claim} -o rows.csv --order new.json --controls 0",
    "queries {claim} -o rows.csv --order new.json --units metres",
    "open {claim} --key {key} --draw 0 --challenge a -o opening.json",
    "db upgrade now",
    "db upgrade --store nonsense",
]


@pytest.mark.parametrize("line", TABLE)
def test_a_mistake_is_reported_in_a_few_lines(wm, places: dict[str, str], line: str) -> None:
    ran = wm(*(word.format(**places) for word in line.split()))
    assert ran.code == 2, ran.err
    assert ran.out == ""
    reason = ran.err.splitlines()
    assert 1 <= len(reason) <= 5
    assert reason[-1].startswith(("wm: ", "Error: "))
    assert all(len(text) < 600 for text in reason)
    assert all(text.isprintable() for text in reason)
    assert "Traceback" not in ran.err


def _spoilt(data: bytes, at: int, patch: bytes, cut: int | None) -> bytes:
    at %= len(data)
    return (data[:at] + patch + data[at + len(patch) :])[: None if cut is None else cut % len(data)]


SPOILING = {
    "at": st.integers(0, 2**20),
    "patch": st.binary(max_size=6),
    "cut": st.none() | st.integers(0, 2**20),
}


@examples(40)
@given(**SPOILING)
def test_a_damaged_claim_is_refused_or_has_the_same_content(wm, model, spoilt_file, at, patch, cut) -> None:
    spoilt_file.write_bytes(_spoilt(model.claim.read_bytes(), at, patch, cut))
    ran = wm("verify", spoilt_file, "--model", model.forest)
    assert "Traceback" not in ran.err
    if ran.code != 2:
        assert ran.code == 5
        original, read = (json.loads(file.read_bytes()) for file in (model.claim, spoilt_file))
        for key in ("header", "rows", "labels", "salt", "secret", "commitment"):
            assert read[key] == original[key]


@examples(40)
@given(**SPOILING)
def test_a_damaged_forest_is_refused_or_is_the_same(wm, model, spoilt_file, at, patch, cut) -> None:
    spoilt_file.write_bytes(_spoilt(model.forest.read_bytes(), at, patch, cut))
    ran = wm("verify", model.claim, "--model", spoilt_file)
    assert "Traceback" not in ran.err
    assert ran.code in (2, 5), "a content hash covers every value"


@examples(40)
@given(data=st.binary(max_size=300) | st.text(alphabet='01,; \n"\t.-eNa\x00', max_size=300).map(str.encode))
def test_any_votes_file_is_judged_or_refused(wm, model, spoilt_votes, order_of_claim, data: bytes) -> None:
    spoilt_votes.write_bytes(data)
    for claim, order in ((model.claim, ("--order", order_of_claim)), (model.old_claim, ())):
        ran = wm("verify", claim, "--votes", spoilt_votes, *order)
        assert "Traceback" not in ran.err
        assert ran.code == 2, "no random text is 7 rows of 24 votes"


@examples(60)
@given(
    data=st.binary(max_size=200) | st.text(alphabet='[]{}="#.,\n\t aetrue019-_', max_size=200).map(str.encode)
)
def test_any_campaign_file_is_refused(wm, spoilt_campaign, data: bytes) -> None:
    spoilt_campaign.write_bytes(data)
    ran = wm("campaign", "validate", spoilt_campaign)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert all(line.startswith(f"wm: {spoilt_campaign}:") for line in ran.err.splitlines())


@pytest.fixture(scope="module")
def spoilt_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoilt") / "file"


@pytest.fixture(scope="module")
def spoilt_votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoilt") / "votes.csv"


@pytest.fixture(scope="module")
def order_of_claim(wm, model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("order")
    assert wm("queries", model.claim, "-o", folder / "rows.csv", "--order", folder / "order.json").code == 0
    return folder / "order.json"


@pytest.fixture(scope="module")
def spoilt_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoilt") / "campaign.toml"


def test_a_fault_of_the_program_is_not_reported_as_a_verdict(
    wm, model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("made by a test")

    monkeypatch.setattr("wm.forest.Forest.apply", broken)
    ran = wm("verify", model.claim, "--model", model.forest)
    assert (ran.code, ran.out) == (4, "")
    assert "ZeroDivisionError: made by a test" in ran.err
    assert "report" in ran.err.splitlines()[-1]


def test_names_that_are_no_text_stop_nothing(wm, model, tmp_path: Path) -> None:
    name = "rows-\udcff.csv"
    order = "order-\udcff.json"
    ran = wm("queries", model.claim, "-o", name, "--order", order)
    assert ran.code == 0
    assert (tmp_path / name).is_file()
    assert wm("verify", model.claim, "--votes", name, "--order", order).code == 2
    suspect = tmp_path / "suspect-\udcff.npz"
    suspect.write_bytes(model.forest.read_bytes())
    assert wm("verify", model.claim, "--model", suspect, "--transcript", "t-\udcff.txt").code == 5


@pytest.mark.parametrize(
    ("arguments", "option", "variable", "value"),
    [
        (["orchestrate"], "--metrics-port", "WM_ORCHESTRATE_METRICS_PORT", "tcp://10.0.0.1:9464"),
        (["worker"], "--concurrency", "WM_WORKER_CONCURRENCY", "all"),
        (["campaign", "run", "c.toml"], "--executor", "WM_CAMPAIGN_RUN_EXECUTOR", "slurm"),
        (["embed"], "--trees", "WM_EMBED_TREES", "1"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_a_bad_variable_is_named(
    wm, monkeypatch: pytest.MonkeyPatch, arguments: list[str], option: str, variable: str, value: str
) -> None:
    Path("c.toml").touch()
    monkeypatch.setenv(variable, value)
    ran = wm(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"Error: Invalid value for '{option}', from the variable {variable}: " in ran.err
    ran = wm(*arguments, option, value)
    assert f"Error: Invalid value for '{option}': " in ran.err
