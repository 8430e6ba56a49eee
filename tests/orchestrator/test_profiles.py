"""Profiles: what they change, what they keep, and their faults with their lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import SpecError
from orchestrator.spec import parse_spec

FILE = """\
name = "c"
seed = 3
[dataset]
name = "breast-cancer"
test_share = 0.25
[forest]
n_estimators = 10
max_depth = 4
[embedding]
trigger_share = [0.1, 0.2]
repeats = 4
[[attack]]
kind = "detection"
[[attack]]
kind = "forgery"
eps = [0.1, 0.5]
signatures = 9
[[attack]]
kind = "forgery"
eps = 0.3
"""


def under(changes, profile="quick"):
    return parse_spec(f"{FILE}{changes}\n", what="c.toml", profile=profile)


def faults_of(text, profile=None):
    with pytest.raises(SpecError) as caught:
        parse_spec(text, what="c.toml", profile=profile)
    return caught.value.problems


def test_a_profile_changes_the_keys_that_it_names_and_the_name():
    plain = parse_spec(FILE)
    spec = under(
        "[profile.quick]\nembedding.repeats = 1\nembedding.trigger_share = 0.1\n"
        "[profile.quick.attack.forgery]\nsignatures = 2"
    )
    assert (spec.name, plain.name) == ("c-quick", "c")
    assert (spec.embedding.repeats, spec.embedding.trigger_share) == (1, (0.1,))
    assert [attack.signatures for attack in spec.attack[1:]] == [2, 2]
    assert [attack.eps for attack in spec.attack[1:]] == [(0.1, 0.5), (0.3,)]
    assert (spec.seed, spec.dataset, spec.forest) == (plain.seed, plain.dataset, plain.forest)


def test_a_profile_that_changes_nothing_is_the_file_under_another_name():
    text = f"{FILE}[profile.same]\n"
    plain, same = parse_spec(text), parse_spec(text, profile="same")
    assert plain == parse_spec(FILE)
    assert same == plain.model_copy(update={"name": "c-same"})


def test_forest_is_replaced_as_a_whole():
    spec = under("[profile.quick.forest.tune]\nn_estimators = [5, 6]\nmax_depth = 3")
    assert (spec.forest.n_estimators, spec.forest.max_depth) == (None, None)
    assert spec.forest.tune.n_estimators == (5, 6)


def test_kinds_of_attacks_can_be_left_out():
    assert [attack.kind for attack in under('[profile.quick]\nwithout = ["forgery"]').attack] == ["detection"]


@pytest.mark.parametrize(
    ("file", "changes", "points"),
    [
        ("grid = [{ trigger_share = 0.1 }, {}]", "grid = [{ ones_share = 0.3 }]", [(0.02, 0.3)]),
        ("grid = [{ trigger_share = 0.1 }, {}]", "trigger_share = 0.3", [(0.3, 0.5)]),
        ("grid = [{ trigger_share = 0.1 }, {}]", "repeats = 2", [(0.1, 0.5), (0.02, 0.5)]),
        ("trigger_share = [0.1, 0.2]", "grid = [{ ones_share = 0.3 }]", [(0.02, 0.3)]),
        ("trigger_share = [0.1, 0.2]", "ones_share = 0.3", [(0.1, 0.3), (0.2, 0.3)]),
    ],
)
def test_grids_and_lists_replace_each_other(file, changes, points):
    text = FILE.replace("trigger_share = [0.1, 0.2]", file) + f"[profile.quick.embedding]\n{changes}\n"
    found = parse_spec(text, profile="quick").embedding.points()
    assert [point[1:] for point in found] == points


def test_an_unknown_profile_is_reported_with_the_known_ones():
    text = f"{FILE}[profile.quick]\n[profile.full]\n"
    assert faults_of(text, "fast") == ("c.toml: profile: there is no profile 'fast'; there are: quick, full",)
    assert faults_of(FILE, "") == ("c.toml: profile: there is no profile ''; there are: none at all",)


@pytest.mark.parametrize(
    ("changes", "line", "place", "words"),
    [
        ("profile = 3", 1, "profile", "must be a table of profiles"),
        ("[profile]\nquick = 3", 22, "profile.quick", "must be a table of changes"),
        ('[profile."a b"]', 21, "profile.a b", "is no name for a profile"),
        ('[profile.""]', 21, "profile.", "is no name for a profile"),
        ("[profile.quick]\nseed = 4", 22, "profile.quick.seed", "cannot be changed by a profile"),
        ("[profile.quick]\nname = 'd'", 22, "profile.quick.name", "cannot be changed by a profile"),
        ("[profile.quick]\nrepeats = 4", 22, "profile.quick.repeats", "unknown key"),
        (
            "[profile.quick]\n\nembedding.repeats = 0",
            23,
            "profile.quick.embedding.repeats",
            "greater than or",
        ),
        ("[profile.quick.forest]\nmax_depth = 3", 21, "profile.quick.forest", "either n_estimators"),
        ("[profile.quick.attack]\nforgery = 3", 21, "profile.quick.attack", "must be a table by kind"),
        ("[[profile.quick.attack]]\nkind = 'forgery'", 21, "profile.quick.attack", "must be a table by kind"),
        (
            "[profile.quick.attack.leakage]\nonly = {}",
            21,
            "profile.quick.attack.leakage",
            "no attack of kind 'leakage'; there are: detection, forgery",
        ),
        (
            "[profile.quick.attack.forgery]\nsignatures = 'all'",
            22,
            "profile.quick.attack.forgery.signatures",
            "valid integer",
        ),
        ("[profile.quick]\nwithout = 'forgery'", 22, "profile.quick.without", "must be a list of kinds"),
        ("[profile.quick]\nwithout = ['x']", 22, "profile.quick.without", "no attack of kind 'x'"),
    ],
)
def test_faults_of_a_profile_are_reported_even_if_it_is_not_chosen(changes, line, place, words):
    text = f"{changes}\n{FILE}" if changes == "profile = 3" else f"{FILE}{changes}\n"
    problems = faults_of(text)
    assert problems[0].startswith(f"c.toml:{line}: {place}: ")
    assert words in problems[0]
    assert faults_of(text, "quick") == problems


def test_a_conflict_under_a_profile_is_reported_there():
    text = (
        FILE.replace("eps = 0.3", "eps = 0.3\ntimeout_s = 3") + "[profile.quick.attack.forgery]\neps = 0.3\n"
    )
    (problem,) = faults_of(text)
    assert problem.startswith(
        "c.toml:22: profile.quick.attack.forgery: results could not distinguish it from attack.1"
    )


def test_a_fault_of_the_file_is_reported_once_with_those_of_profiles():
    profiles = "[profile.quick]\n[profile.full]\nembedding.repeats = -1\n"
    text = FILE.replace("repeats = 4", "repeats = 0") + profiles
    first, second = faults_of(text, "quick")
    assert first.startswith("c.toml:11: embedding.repeats: ")
    assert second.startswith("c.toml:23: profile.full.embedding.repeats: ")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "embedding.repeats": st.integers(1, 9),
            "embedding.ones_share": st.sampled_from([0.3, 0.4]),
            "dataset.test_share": st.sampled_from([0.2, 0.3]),
            "limits.job_s": st.sampled_from([5.0, 6.0]),
        },
    )
)
def test_a_profile_is_the_file_with_its_keys_written_in(changes):
    lines = "".join(f"{key} = {value}\n" for key, value in changes.items())
    written = parse_spec(FILE).model_dump(mode="json")
    for key, value in changes.items():
        table, name = key.split(".")
        written[table][name] = [value] if name == "ones_share" else value
    spec = under(f"[profile.quick]\n{lines}")
    assert spec.model_dump(mode="json") == written | {"name": "c-quick"}


DOCUMENT = Path(__file__).parents[2] / "docs" / "campaigns.md"


def documented():
    """Return the document's TOML blocks: a whole file, several grids, profiles, an `only`, all attacks."""
    return re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_examples_of_the_document_are_valid():
    whole, grids, profiles, only, attacks = documented()
    rest = "".join(f"[{part}" for part in whole.split("[")[1:] if not part.startswith("embedding]"))
    head = whole.partition("[")[0]
    without_embedding = head + re.sub(r"(?ms)^\[embedding\].*?(?=^\[)", "", whole[len(head) :])
    assert "[embedding]" in whole
    assert "[limits]" in rest
    assert len(list(parse_spec(without_embedding + grids).embedding.points())) == 9
    leakage = '[[attack]]\nkind = "leakage"\n'
    text = whole + leakage + profiles
    assert [parse_spec(text, profile=name).name for name in ("quick", "tune")] == [
        "breast-cancer-quick",
        "breast-cancer-tune",
    ]
    assert [attack.kind for attack in parse_spec(text, profile="quick").attack] == ["forgery"]
    small = 'name = "c"\nseed = 0\ndataset.name = "breast-cancer"\nforest.n_estimators = 10\n'
    parse_spec(small + only)
    shown = parse_spec(small + attacks).attack
    assert len({attack.kind for attack in shown}) == len(shown) == 2


def test_the_documented_defaults_are_the_defaults():
    small = 'name = "c"\nseed = 0\ndataset.name = "breast-cancer"\nforest.n_estimators = 10\n'
    for attack in parse_spec(small + documented()[-1]).attack:
        required = {"eps": attack.eps} if attack.kind == "forgery" else {}
        bare = type(attack)(kind=attack.kind, **required)
        changed = {"modifications"} if attack.kind == "modification" else set()
        assert attack.model_dump(exclude=changed) == bare.model_dump(exclude=changed)
