"""The campaign file: defaults, and every fault at once, each with its line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import SpecError
from orchestrator.spec import CampaignSpec, parse_spec, read_spec
from wm.attacks import registry
from wm.embedding import SCHEMES

BASE = """\
name = "c"
seed = 0
dataset.name = "breast-cancer"
forest.n_estimators = 10
"""


def faults_of(text):
    with pytest.raises(SpecError) as caught:
        parse_spec(text, what="c.toml")
    problems = caught.value.problems
    assert str(caught.value).splitlines() == list(problems), "one line for each fault"
    return problems


def places_of(text):
    """Return line and key of each fault."""
    found = [re.match(r"c\.toml(?::(\d+))?: ([^:]+): .", problem) for problem in faults_of(text)]
    return [(int(match[1] or 0), match[2]) for match in found]


def test_defaults():
    spec = parse_spec(BASE + '[[attack]]\nkind = "forgery"\neps = 0.5')
    assert spec.embedding.model_dump() == {
        "scheme": ("paper",),
        "trigger_share": (0.02,),
        "ones_share": (0.5,),
        "grid": (),
        "repeats": 1,
        "adjust": "paper",
        "training": "per-tree",
        "weight_step": None,
        "max_rounds": 500,
        "candidates": None,
    }
    assert (spec.dataset.test_share, spec.dataset.scaling, spec.dataset.split_seed) == (0.3, "train", None)
    assert (spec.limits.job_s, spec.limits.memory_mb) == (3600.0, None)
    (attack,) = spec.attack
    assert attack.kind == "forgery"
    assert (attack.engine, attack.signatures, attack.eps, attack.timeout_s) == (
        ("portfolio",),
        10,
        (0.5,),
        60.0,
    )
    assert (attack.memory_mb, attack.instances, attack.ones_share) == (None, None, 0.5)


@pytest.mark.parametrize(
    ("scalar", "listed"),
    [
        ("[embedding]\ntrigger_share = 0.1", "[embedding]\ntrigger_share = [0.1]"),
        ('[embedding]\nscheme = "paper"', '[embedding]\nscheme = ["paper"]'),
        ('[[attack]]\nkind = "forgery"\neps = 1', '[[attack]]\nkind = "forgery"\neps = [1.0]'),
        (
            '[[attack]]\nkind = "detection"\nonly = { trigger_share = 0.02 }',
            '[[attack]]\nkind = "detection"\n[attack.only]\ntrigger_share = [0.02]',
        ),
    ],
)
def test_one_value_is_a_list_of_one(scalar, listed):
    assert parse_spec(BASE + scalar) == parse_spec(BASE + listed)


def test_all_faults_are_reported_at_once_with_their_lines():
    text = """\
name = "bad name"
seed = -1
colour = "red"                # unknown

[dataset]
name = "breast-cancer"
test_share = "much"           # a text
split_seed = true             # not a number

[forest]
n_estimators = 10.5
depth = 3                     # unknown

# [embedding]
# trigger_share = 3
[embedding]
trigger_share = [
    0.1,
    1.5,                      # no share
]
ones_share = [0.5, 0.25, 0.5]
scheme = ["paper", "magic"]
repeats = "3"
max_rounds = 0
weight_step = nan

[[attack]]
kind = "detection"
strength = 2

[[attack]]
kind = "forgery"
engine = "cvc"
eps = [0.1, inf]
"only" = { repeats = 0, scheme = 1 }

[[attack]]
kind = "magic"

[limits]
job_s = 0
memory_mb = 1.5
"""
    assert places_of(text) == [
        (1, "name"),
        (2, "seed"),
        (3, "colour"),
        (7, "dataset.test_share"),
        (8, "dataset.split_seed"),
        (11, "forest.n_estimators"),
        (12, "forest.depth"),
        (17, "embedding.trigger_share.1"),
        (21, "embedding.ones_share"),
        (22, "embedding.scheme.1"),
        (23, "embedding.repeats"),
        (24, "embedding.max_rounds"),
        (25, "embedding.weight_step"),
        (29, "attack.0.strength"),
        (33, "attack.1.engine.0"),
        (34, "attack.1.eps.1"),
        (35, "attack.1.only.repeats"),
        (35, "attack.1.only.scheme.0"),
        (38, "attack.2.kind"),
        (41, "limits.job_s"),
        (42, "limits.memory_mb"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (BASE + "sed = 1", (5, "sed"), "unknown key: did you mean `seed`?"),
        (BASE.replace("seed = 0\n", ""), (0, "seed"), "is missing: add it"),
        (BASE + "[[attack]]\neps = 1", (5, "attack.0"), "kind is missing: add it"),
        (
            BASE + '[[attack]]\nkind = "magic"',
            (6, "attack.0.kind"),
            "unknown kind 'magic'; known are: 'leakage', 'detection'",
        ),
        (BASE + '[[attack]]\nkind = "forgery"', (5, "attack.0.eps"), "is missing: add it"),
        (BASE + '[[attack]]\nkind = "forgery"\neps = []', (7, "attack.0.eps"), "at least 1 item"),
        (
            BASE + "embedding.trigger_share = [0.1, 0.10]",
            (5, "embedding.trigger_share"),
            "lists 0.1 twice",
        ),
        (
            BASE + '[[attack]]\nkind = "forgery"\neps = [0, 0.0]',
            (7, "attack.0.eps"),
            "lists 0.0 twice",
        ),
        (
            BASE + '[[attack]]\nkind = "forgery"\neps = 1\nengine = ["sat", "sat"]',
            (8, "attack.0.engine"),
            "lists 'sat' twice",
        ),
        (BASE.replace("breast-cancer", "irises"), (3, "dataset"), "unknown data set 'irises': known are"),
        (
            BASE.replace("forest.n_estimators = 10", "forest.tune = { max_depth = 3 }"),
            (4, "forest.tune.n_estimators"),
            "is missing",
        ),
        (BASE + "rubbish = 1", (5, "rubbish"), "unknown key: remove it or fix its spelling"),
        (
            BASE + "forest.tune = { n_estimators = 3, max_depth = 3 }",
            (4, "forest"),
            "either n_estimators (and max_depth, if limited) or tune",
        ),
        (
            BASE.replace("n_estimators = 10", "tune = { n_estimators = 3, max_depth = 3 }")
            + "forest.max_depth = 2",
            (4, "forest"),
            "leave one of them out",
        ),
        (BASE + "embedding.ones_share = 1.0", (5, "embedding.ones_share.0"), "less than 1"),
        (BASE + 'attack = "detection"', (5, "attack"), "valid"),
        (BASE + "embedding = 3", (5, "embedding"), "object"),
        (BASE.replace("seed = 0", "seed = 1.0"), (2, "seed"), "valid integer"),
        (BASE.replace("seed = 0", f"seed = {2**63}"), (2, "seed"), "less than"),
        (BASE + "dataset.split_seed = 4294967296", (5, "dataset.split_seed"), "less than"),
    ],
)
def test_a_fault_has_its_place_and_its_fix(text, place, words):
    (problem,) = faults_of(text)
    line, name = place
    where = f"c.toml:{line}" if line else "c.toml"
    assert problem.startswith(f"{where}: {name}: ")
    assert words in problem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name = ", "end of document"),
        ("[a\n", "line 1"),
        ("a = 1\na = 2", "overwrite"),
        ("a = 1" + "0" * 5000, "digits"),
        ("a = 0x1" + "0" * 5000, "digits"),
        ("a = " + "[" * 5000, ""),
        ("a = {b = 1\n}", "line 1"),
        ("\x00", "line 1"),
    ],
)
def test_invalid_toml_is_reported_in_one_line(text, line):
    (problem,) = faults_of(text)
    assert problem.startswith("c.toml: not valid TOML: ")
    assert line in problem


def test_a_file_is_named_in_its_faults(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(BASE + "x = 1\n")
    with pytest.raises(SpecError, match=re.escape(f"{path}:5: x: unknown key")):
        read_spec(path)
    path.write_text(BASE)
    assert read_spec(str(path)) == parse_spec(BASE)


def test_an_unreadable_file_is_reported(tmp_path):
    with pytest.raises(SpecError, match=r"nowhere\.toml: cannot be read") as missing:
        read_spec(tmp_path / "nowhere.toml")
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(SpecError, match=r"latin\.toml: cannot be read"):
        read_spec(tmp_path / "latin.toml")
    assert len(missing.value.problems) == len(str(missing.value).splitlines()) == 1


GRID = BASE + "[embedding]\ntrigger_share = [0.1, 0.2]\nones_share = [0.4, 0.5]\nrepeats = 3\n"


@pytest.mark.parametrize(
    ("only", "admitted"),
    [
        ("{}", 12),
        ("{ trigger_share = 0.1 }", 6),
        ("{ trigger_share = [0.1, 0.2], ones_share = 0.5 }", 6),
        ("{ repeats = 2 }", 8),
        ("{ repeats = 9 }", 12),
        ('{ scheme = "paper", trigger_share = 0.2, ones_share = 0.4, repeats = 1 }', 1),
    ],
)
def test_only_restricts_an_attack(only, admitted):
    spec = parse_spec(GRID + f'[[attack]]\nkind = "detection"\nonly = {only}')
    (attack,) = spec.attack
    points = [
        (scheme, trigger_share, ones_share, repeat)
        for scheme in spec.embedding.scheme
        for trigger_share in spec.embedding.trigger_share
        for ones_share in spec.embedding.ones_share
        for repeat in range(spec.embedding.repeats)
    ]
    assert sum(attack.only.admits(*point) for point in points) == admitted


def test_only_must_name_values_of_the_grid():
    text = GRID + (
        '[[attack]]\nkind = "detection"\n[attack.only]\ntrigger_share = [0.1, 0.3]\nones_share = 0.9\n'
        'scheme = "other"'
    )
    problems = faults_of(text)
    assert [problem.split(": ", 2)[:2] for problem in problems] == [
        ["c.toml:12", "attack.0.only.trigger_share"],
        ["c.toml:13", "attack.0.only.ones_share"],
        ["c.toml:14", "attack.0.only.scheme"],
    ]
    assert "0.3 is not in embedding.trigger_share (0.1, 0.2)" in problems[0]


GRIDS = (
    BASE
    + """\
[embedding]
repeats = 2
[[embedding.grid]]
trigger_share = [0.1, 0.2]
ones_share = 0.5
[[embedding.grid]]
trigger_share = 0.1
ones_share = [0.4, 0.5]
"""
)


def test_several_grids_give_each_point_once_and_the_lists_all_values():
    spec = parse_spec(GRIDS)
    assert list(spec.embedding.points()) == [("paper", 0.1, 0.5), ("paper", 0.2, 0.5), ("paper", 0.1, 0.4)]
    assert (spec.embedding.trigger_share, spec.embedding.ones_share) == ((0.1, 0.2), (0.5, 0.4))
    assert CampaignSpec.model_validate(spec.model_dump(mode="json"), strict=False) == spec


def test_a_list_next_to_grids_is_refused():
    (problem,) = faults_of(GRIDS.replace("repeats = 2", "trigger_share = 0.1"))
    assert problem.startswith("c.toml:5: embedding: trigger_share is given by each grid")


def test_faults_of_a_grid_have_their_lines():
    text = GRIDS.replace("trigger_share = 0.1\n", "trigger_share = 1.5\nrepeats = 2\n")
    assert places_of(text) == [(11, "embedding.grid.1.trigger_share.0"), (12, "embedding.grid.1.repeats")]


def test_an_only_that_leaves_no_point_of_several_grids_is_refused():
    attack = '[[attack]]\nkind = "detection"\nonly = {{ trigger_share = {}, ones_share = 0.4 }}'
    (attacked,) = parse_spec(GRIDS + attack.format(0.1)).attack
    assert list(attacked.only.points(parse_spec(GRIDS).embedding)) == [("paper", 0.1, 0.4)]
    (problem,) = faults_of(GRIDS + attack.format(0.2))
    assert problem.startswith("c.toml:15: attack.0.only: no watermark of the grid has all of these values")


def forgeries(first, second):
    head = '[[attack]]\nkind = "forgery"\n'
    return GRID + f"{head}{first}\n{head}{second}\n"


@pytest.mark.parametrize("name", ["ones_share = 0.4", "timeout_s = 3", "memory_mb = 9", "instances = 5"])
def test_attacks_with_indistinguishable_results_are_refused(name):
    (problem,) = faults_of(forgeries("eps = [0.1, 0.2]", f"eps = [0.2, 0.3]\n{name}"))
    assert problem.startswith("c.toml:12: attack.1: results could not distinguish it from attack.0")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("eps = 0.1", "eps = 0.2\ntimeout_s = 3"),
        ('eps = 0.1\nengine = "z3"', "eps = 0.1\ntimeout_s = 3"),
        ("eps = 0.1\nonly.ones_share = 0.4", "eps = 0.1\ntimeout_s = 3\nonly.ones_share = 0.5"),
        ("eps = [0.1, 0.2]\nsignatures = 3", "eps = [0.2, 0.3]"),
    ],
)
def test_attacks_without_conflicts_may_overlap(first, second):
    assert len(parse_spec(forgeries(first, second)).attack) == 2


REORDERED = """\
# The same in other words.
seed = 0


forest = { n_estimators    = 10 }
name   = 'c'
limits.job_s = 3600.0
[embedding]
trigger_share = [ 0.02, ]   # as by default
[dataset]
test_share = 3e-1
name = "breast-cancer"
"""


def test_a_weight_step_is_refused_for_the_training_that_has_none():
    assert parse_spec(BASE + '[embedding]\ntraining = "per-tree"').embedding.training == "per-tree"
    (problem,) = faults_of(BASE + '[embedding]\ntraining = "per-tree"\nweight_step = 2')
    assert "weight_step has no meaning" in problem


def test_the_hash_depends_on_the_meaning_of_the_file_alone():
    assert parse_spec(BASE).sha256 == parse_spec(REORDERED).sha256


fields = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "b"]),
        "seed": st.integers(0, 3),
        "embedding.trigger_share": st.lists(
            st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=2, unique=True
        ),
        "embedding.repeats": st.integers(1, 3),
        "embedding.training": st.just("paper"),
        "embedding.weight_step": st.sampled_from([1, 1.0, 2.5]),
        "dataset.name": st.just("breast-cancer"),
        "forest.n_estimators": st.integers(2, 4),
    }
)


def toml_of(values, order):
    lines = []
    for key in order:
        value = values[key]
        lines.append(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}")
    return "\n".join(lines)


@given(fields, fields, st.data())
def test_hashes_are_equal_exactly_for_equal_campaigns(one, other, data):
    first = parse_spec(toml_of(one, data.draw(st.permutations(sorted(one)))))
    second = parse_spec(toml_of(other, data.draw(st.permutations(sorted(other)))))
    assert parse_spec(toml_of(one, data.draw(st.permutations(sorted(one))))).sha256 == first.sha256
    assert (first.sha256 == second.sha256) == (one == other)


def test_a_stored_specification_reads_back(spec):
    stored = spec.model_dump(mode="json")
    assert CampaignSpec.model_validate(stored, strict=False) == spec


def test_a_specification_cannot_be_changed(spec):
    with pytest.raises(ValueError, match="frozen"):
        spec.seed = 2


STAGES = """\
name = "c"
sead = 1
[dataset]
path = "rows.csv"
label = "z"
[forest]
n_estimators = 10
max_depth = 3
tune = { n_estimators = "x", max_depth = 3 }
[embedding]
trainig = "paper"
scheme = "papre"
trigger_share = [0.01, 0.1]
weight_step = -1
training = "per-tree"
[[attack]]
kind = "forgery"
eps = "minimal"
certify = true
batch = 0
[[attack]]
kind = "detecton"
[[attack]]
kind = "forgery"
eps = [0.1, 0.2]
signatures = 0
only = { trigger_share = 0.3, repeats = "all" }
[[attack]]
kind = "forgery"
eps = [0.1, 0.2]
cap = 0.5
[[attack]]
knd = "leakage"
[[attack]]
kind = "suppression"
methods = ["repeats", "disagrement"]
[[attack]]
kind = "detection"
honest = 9
[[attack]]
kind = "detection"
honest = 8
[limits]
memroy_mb = 3
"""


def test_no_stage_hides_another():
    """Faults of keys and tables, and conflicts between tables, come at once, without spurious ones."""
    found = [problem.removeprefix("c.toml:") for problem in faults_of(STAGES)]
    kinds = ", ".join(map(repr, registry.kinds()))
    assert found == [
        "2: sead: unknown key: did you mean `seed`?",
        "6: forest: give either n_estimators (and max_depth, if limited) or tune",
        "9: forest.tune.n_estimators.0: input should be a valid integer (got 'x')",
        "11: embedding.trainig: unknown key: did you mean `training`?",
        "12: embedding.scheme.0: unknown scheme 'papre'; "
        f"known are: {', '.join(sorted(SCHEMES))}; did you mean `paper`?",
        "14: embedding.weight_step: input should be greater than 0 (got -1)",
        "16: attack.0: certify proves single answers, not minimal distances: give eps as numbers",
        "20: attack.0.batch: input should be greater than or equal to 1 (got 0)",
        f"22: attack.1.kind: unknown kind 'detecton'; known are: {kinds}; did you mean `detection`?",
        "26: attack.2.signatures: input should be greater than or equal to 1 (got 0)",
        "27: attack.2.only.repeats: input should be a valid integer (got 'all')",
        "27: attack.2.only.trigger_share: 0.3 is not in embedding.trigger_share (0.01, 0.1)",
        '28: attack.3: cap goes with eps = "minimal": leave it out',
        "33: attack.4.knd: unknown key: did you mean `kind`?",
        "36: attack.5.methods.1: input should be 'disagreement', 'repeats', 'leaves' or 'shadow' "
        "(got 'disagrement'); did you mean `disagreement`?",
        "40: attack.7: results could not distinguish it from attack.6 on the same watermark: give it other "
        "values, or an `only`",
        "44: limits.memroy_mb: unknown key: did you mean `memory_mb`?",
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (GRIDS.replace("0.1, 0.2", "0.1, 2"), [(8, "embedding.grid.0.trigger_share.1")]),
        (
            BASE + "embedding.trigger_share = [3]\nembedding.ones_share = 0.4",
            [(5, "embedding.trigger_share.0")],
        ),
        (BASE + "embedding.grid = 3", [(5, "embedding.grid")]),
        (
            BASE + '[embedding]\ntraining = "per-tree"\nweight_step = 2\n'
            "trigger_share = 0.1\nones_share = 0.4",
            [(5, "embedding")],
        ),
    ],
)
def test_faults_of_the_grid_cause_no_faults_of_attacks(text, places):
    attack = '\n[[attack]]\nkind = "detection"\nonly = { trigger_share = 0.1, ones_share = 0.4 }\n'
    assert places_of(text + attack) == places


def test_a_misspelt_key_is_not_reported_as_missing_too():
    text = 'nmae = "c"\ndataset.name = "breast-cancer"\nforest.n_estimators = 10\n'
    assert places_of(text) == [(0, "seed"), (1, "nmae")]


def test_faults_against_the_data_are_reported_with_the_rest():
    drafts = []

    def examine(draft):
        drafts.append(draft)
        yield ("forest", "n_estimators"), "too many for these data"

    text = BASE + "limits.job_s = 0\n[profile.quick]\nforest.n_estimators = 20\n"
    for profile, line in ((None, 4), ("quick", 7)):
        with pytest.raises(SpecError) as caught:
            parse_spec(text, what="c.toml", profile=profile, examine=examine)
        assert any(
            problem.startswith(f"c.toml:{line}: ")
            and problem.endswith("n_estimators: too many for these data")
            for problem in caught.value.problems
        )
        assert "limits.job_s" in str(caught.value)
    assert [draft.forest.n_estimators for draft in drafts] == [10, 20]
    assert not any(hasattr(draft.limits, "job_s") for draft in drafts)


RIGHT = {
    "seed": 1,
    "dataset.test_share": 0.25,
    "embedding.repeats": 2,
    "embedding.weight_step": 2.5,
    "limits.job_s": 5,
    "limits.memory_mb": 9,
    "forest.max_depth": 3,
}


@given(st.sets(st.sampled_from(sorted(RIGHT))), st.sets(st.sampled_from(sorted(RIGHT))))
def test_faults_are_exactly_the_mistakes(wrong, misspelt):
    lines = ['name = "c"', 'dataset.name = "breast-cancer"', "forest.n_estimators = 10"]
    lines.append('embedding.training = "paper"')  # the one that has a weight step
    expected = []
    for key, value in RIGHT.items():
        if key in wrong:
            expected.append((len(lines) + 1, key))
            lines.append(f"{key} = -{value}")
        elif key in misspelt:
            expected.append((len(lines) + 1, f"{key}x"))
            lines.append(f"{key}x = {value}")
        else:
            lines.append(f"{key} = {value}")
    text = "\n".join(lines)
    if expected:
        assert places_of(text) == expected
    else:
        assert parse_spec(text).seed == 1
