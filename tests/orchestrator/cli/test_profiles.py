"""Profiles and several files on the command line; the campaign files of the project."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from orchestrator.spec import parse_spec

CAMPAIGNS = sorted((Path(__file__).parents[3] / "campaigns").glob("*.toml"))

PROFILES = """
[profile.quick]
without = ["forgery", "suppression"]
embedding.trigger_share = 0.02

[profile.fast]
embedding.repeats = 1
"""


@pytest.fixture
def file(tiny, tmp_path: Path) -> Path:
    path = tmp_path / "profiled.toml"
    path.write_text(tiny.text + PROFILES)
    return path


def test_a_profile_is_chosen_by_its_name(wm, file: Path):
    plain = wm("campaign", "validate", file, "--json").json()
    quick = wm("campaign", "validate", file, "--profile", "quick", "--json").json()
    assert (plain["name"], quick["name"]) == ("tiny", "tiny-quick")
    assert plain["jobs_by_kind"]["embed"] == 2
    assert quick["jobs_by_kind"] == {"split": 1, "baseline": 1, "embed": 1, "detection": 1}


@pytest.mark.parametrize("command", ["validate", "run", "launch"])
def test_an_unknown_profile_is_refused(wm, file: Path, command: str):
    line = wm("campaign", command, file, "--profile", "slow").refusal()
    assert line == f"wm: {file}: profile: there is no profile 'slow'; there are: quick, fast"


@pytest.mark.system
def test_several_files_run_one_after_the_other(wm, file: Path, tmp_path: Path):
    failing = tmp_path / "failing.toml"
    failing.write_text(
        file.read_text()
        .replace('name = "tiny"', 'name = "failing"')
        .replace("weight_step = 20.0", "weight_step = 0.001\nmax_rounds = 1")  # it does not fit
    )
    ran = wm(
        "campaign", "run", failing, file, "--profile", "quick", "--store", "sqlite:///both.db", "--workers", 1
    )
    assert ran.code == 3, "the worst of them"
    assert "failing-quick: incomplete" in ran.err
    assert ran.err.splitlines()[-1] == "tiny-quick: finished"
    listed = wm("campaign", "list", "--store", "sqlite:///both.db", "--json").json()
    assert [(one["name"], one["state"]) for one in listed] == [
        ("failing-quick", "incomplete"),
        ("tiny-quick", "finished"),
    ]


def test_a_faulty_file_stops_all_before_anything_runs(wm, file: Path, tmp_path: Path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("name = 3\n" + file.read_text().replace('name = "tiny"\n', ""))
    ran = wm("campaign", "run", file, wrong, "--store", "sqlite:///none.db")
    assert (ran.code, Path("none.db").exists()) == (2, False)


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_every_campaign_file_is_right_under_every_profile(path: Path):
    text = path.read_text()
    names = [None, *tomllib.loads(text).get("profile", {})]
    specs = [parse_spec(text, what=path.name, profile=name) for name in names]
    assert [spec.name for spec in specs] == [
        path.stem if name is None else f"{path.stem}-{name}" for name in names
    ]


def test_the_paper_files_share_their_profiles_and_grids():
    paper = [path for path in CAMPAIGNS if path.stem.startswith("paper-")]
    assert len(paper) == 3
    texts = [tomllib.loads(path.read_text()) for path in paper]
    assert {tuple(text["profile"]) for text in texts} == {("quick", "full", "loop", "tune")}
    assert all(text["embedding"]["grid"] == texts[0]["embedding"]["grid"] for text in texts)


def test_forged_sets_are_printed(wm, tiny):
    rows = wm("results", "forged-sets", "tiny", "--store", tiny.url, "--json").json()
    assert {(row["signature"], row["eps"], row["witnesses"]) for row in rows} == {
        (signature, eps, "any") for signature in (0, 1) for eps in (0.1, 0.5)
    }


def test_a_page_is_of_one_campaign(wm, tiny):
    several = wm("report", "tiny", "1", "--store", tiny.url)
    assert several.code == 2
    assert "a page and figures show one campaign" in several.err
