"""The scoreboard: made of what attacks recorded, whatever the schemes are."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.report.rendering import render
from orchestrator.report.sections import SECTIONS, sections, shown_of
from orchestrator.report.sections.schemes import heat_map
from orchestrator.report.wording import declared
from orchestrator.results import COLUMNS, schemes
from orchestrator.results.rows import attack_rows
from orchestrator.results.schemes import cheapest
from orchestrator.spec import parse_spec
from tests.orchestrator.report.conftest import ATTACKS, MakeCampaign

CONTRACT = [
    "scheme",
    "dataset",
    "attack",
    "strength",
    "accuracy_change",
    "log10_p",
    "auc",
    "tpr_at_1pct_fpr",
    "repeats",
    "log10_p_min",
    "log10_p_max",
    "accuracy_change_std",
    "bits",
    "null_bits",
]
BOTH = ATTACKS.replace("[embedding]", '[embedding]\nscheme = ["paper", "codebook"]').replace(
    "ones_share = [0.5]\n", ""
)
(SECTION,) = [section for section in SECTIONS if section.name == "schemes"]


@pytest.fixture(scope="module")
def findings(make_campaign: MakeCampaign):
    return make_campaign(text=BOTH, is_small=True).findings


def test_the_columns_are_the_contract_for_scripts(findings):
    assert list(findings.frame("schemes")) == CONTRACT == list(COLUMNS["schemes"])


def test_every_scheme_has_the_same_attacks(findings):
    board = findings.frame("schemes")
    paper, codebook = (
        board.loc[board["scheme"] == scheme, ["attack", "strength"]].values.tolist()
        for scheme in ("paper", "codebook")
    )
    assert sorted(map(str, paper)) == sorted(map(str, codebook))
    assert set(board["scheme"]) == {"paper", "codebook"}
    assert set(board["dataset"]) == {"breast-cancer"}
    assert set(board["repeats"]) == {3}
    assert not board.duplicated(["scheme", "attack", "strength"]).any()


def test_each_figure_is_that_of_the_attacks_rows(findings):
    board = findings.frame("schemes")

    def rows_of(scheme, attack):
        return board[(board["scheme"] == scheme) & (board["attack"] == attack)]

    accuracy = findings.frame("accuracy").groupby("scheme")
    assert rows_of("paper", "none")["log10_p"].item() == accuracy["log10_p"].median()["paper"]
    spotted = findings.frame("suppression")
    mine = spotted[(spotted["scheme"] == "codebook") & (spotted["method"] == "shadow")]
    row = rows_of("codebook", "suppression: shadow").iloc[0]
    assert row["auc"] == pytest.approx(mine["auc"].mean())
    assert row["tpr_at_1pct_fpr"] == pytest.approx(mine["tpr_at_1pct_fpr"].mean())
    assert row["log10_p"] == mine["log10_p_after"].median()
    assert row["bits"] == pytest.approx(mine["bits"].astype(float).mean(), nan_ok=True)
    assert row["null_bits"] == pytest.approx(mine["null_bits"].astype(float).mean(), nan_ok=True)
    assert row["accuracy_change"] == 0
    changed = findings.frame("modification")
    noise = changed[(changed["scheme"] == "paper") & (changed["modification"] == "noise")]
    strength = noise["strength"].iloc[0]
    of_it = noise[noise["strength"] == strength]
    found = rows_of("paper", "modification: noise")
    found = found[found["strength"] == strength].iloc[0]
    held = of_it.filter(regex="^log10_p").astype(float)
    better = held.min(axis=1) + [math.log10(count) for count in held.notna().sum(axis=1)]
    assert found["log10_p"] == pytest.approx(better.clip(upper=0).median())
    assert found["accuracy_change"] == pytest.approx(of_it["accuracy_change"].astype(float).mean())
    assert found["accuracy_change_std"] == pytest.approx(of_it["accuracy_change"].astype(float).std())
    assert (found["log10_p_min"], found["log10_p_max"]) == (
        better.clip(upper=0).min(),
        better.clip(upper=0).max(),
    )
    assert found["log10_p_min"] <= found["log10_p"] <= found["log10_p_max"]


def test_presence_is_the_place_among_honest_forests(findings):
    frame = findings.frame("detection")
    tests = frame[(frame["measure"] == "presence") & (frame["scheme"] == "paper")]
    # p = (1 + those that reach it) / (1 + honest forests)
    below = [1 - (round(p * (n + 1)) - 1) / n for p, n in zip(tests["p_value"], tests["points"], strict=True)]
    board = findings.frame("schemes")
    row = board[(board["attack"] == "detection: presence") & (board["scheme"] == "paper")].iloc[0]
    assert row["auc"] == pytest.approx(sum(below) / len(below))
    assert row["tpr_at_1pct_fpr"] == pytest.approx(sum(each > 0.99 for each in below) / len(below))


def test_false_claims_are_no_evasions(findings, monkeypatch):
    before = schemes.scoreboard(findings.store, findings.record.id)

    def with_false_claims(store, campaign_id, kind):
        rows = attack_rows(store, campaign_id, kind)
        if kind != "claims":
            return rows
        false = rows[rows["suspect"] == "as released"].assign(claim="border rows", log10_p=0.0)
        return pd.concat([rows, false], ignore_index=True)

    monkeypatch.setattr(schemes, "attack_rows", with_false_claims)
    board = schemes.scoreboard(findings.store, findings.record.id)
    pd.testing.assert_frame_equal(board, before)


def test_several_shares_of_a_scheme_are_told_apart(make_campaign: MakeCampaign):
    board = make_campaign(text=BOTH, repeats=1).findings.frame("schemes")
    assert set(board["scheme"]) == {
        f"{scheme}, trigger share {share}, ones share {ones}"
        for scheme, ones in (("paper", 0.5), ("codebook", 0.25))
        for share in (0.01, 0.02)
    }


def test_a_campaign_without_results_has_an_empty_scoreboard(make_campaign: MakeCampaign):
    kinds = frozenset({"split"})
    made = make_campaign(text=BOTH, is_small=True, unfinished=kinds)
    assert list(made.findings.frame("schemes")) == CONTRACT
    assert made.findings.frame("schemes").empty


# --- what a thief gets for what it loses

BOARD = pd.DataFrame(
    [
        ("a", "d", "none", None, 0.0, -100.0),
        ("a", "d", "noise", 0.1, -0.004, -60.0),
        ("a", "d", "noise", 0.3, -0.03, -5.0),
        ("a", "d", "noise", 0.2, 0.001, -70.0),
        ("a", "d", "ranking", None, None, None),
        ("b", "d", "noise", 0.1, -0.2, -1.0),
    ],
    columns=CONTRACT[:6],
)


def test_the_least_evidence_at_no_more_than_a_loss():
    found = cheapest(BOARD, [0.0, 0.01, 1.0])
    assert found.to_dict("records") == [
        {"scheme": scheme, "dataset": "d", "attack": "noise", "loss": loss, "log10_p": log10_p}
        for scheme, loss, log10_p in (
            ("a", 0.0, -70.0),
            ("a", 0.01, -60.0),
            ("a", 1.0, -5.0),
            ("b", 1.0, -1.0),
        )
    ]


def test_the_heat_map_has_a_cell_for_each(findings):
    board = findings.frame("schemes")
    chart = heat_map(board, cheapest(board, [0.0, 0.01, 1.0]))
    assert render(chart, "svg").startswith(b"<svg")
    data = [frame for frame in chart.to_dict()["datasets"].values() if "log10_p" in frame[0]]
    assert sum(map(len, data)) == len(cheapest(board, [0.0, 0.01, 1.0]))


def test_the_forest_as_released_is_no_attack(findings):
    board = findings.frame("schemes")
    assert "claims: as released, by model" in set(board["attack"])
    assert "claims: shuffled, by model" in set(cheapest(board, [1.0])["attack"])
    assert "claims: as released, by model" not in set(cheapest(board, [1.0])["attack"])


# --- the report


def test_evasions_take_a_proof_only_where_the_same_answers_had_one(findings):
    board = findings.frame("schemes")
    evasions = board["attack"].str.startswith("claims: ")
    lost = board.assign(log10_p=board["log10_p"].mask(board["attack"] == "claims: shuffled, by model", -2))
    assert "claims: shuffled" in shown_of(SECTION, findings.with_frames(schemes=lost)).lead
    never = board.assign(log10_p=board["log10_p"].mask(evasions, -2))
    assert "claims: shuffled" not in shown_of(SECTION, findings.with_frames(schemes=never)).lead


def test_the_section_says_which_attacks_leave_no_proof(findings):
    shown = shown_of(SECTION, findings)
    assert "Scheme paper starts at p = " in shown.lead
    assert "Scheme codebook starts at p = " in shown.lead
    (table,) = shown.tables
    assert len(table.rows) == len(findings.frame("schemes"))
    assert "p that is left (median; min to max)" in [column.title for column in table.columns]
    (figure,) = shown.figures
    assert "n = 3 repeats" in figure.caption


def test_a_scheme_without_a_proof_has_none_to_lose(findings):
    board = findings.frame("schemes")
    start = board["attack"].isin(["none", "claims: as released, by model"]) & (board["scheme"] == "paper")
    shown = shown_of(
        SECTION, findings.with_frames(schemes=board.assign(log10_p=board["log10_p"].mask(start, -2)))
    )
    assert "Scheme paper starts at p = 0.010, without a proof that an attack could take." in shown.lead


def test_shares_have_one_decimal(findings):
    board = findings.frame("schemes").assign(bits=0.602797)
    (table,) = shown_of(SECTION, findings.with_frames(schemes=board)).tables
    assert dict(table.same)["Bits read"].text == "60.3%"


def test_changes_of_accuracy_on_other_rows_are_told_apart():
    said = declared()["schemes"]["terms"]["schemes: accuracy change"]
    assert "on the half of them that the thief does not have" in said


def test_one_scheme_is_not_compared(attacked_alone):
    assert "schemes" not in {section.name for section, _ in sections(attacked_alone)}


@pytest.fixture(scope="module")
def attacked_alone(make_campaign: MakeCampaign):
    return make_campaign(text=ATTACKS, is_small=True, repeats=1).findings


# --- campaign files

CAMPAIGN = """
name = "c"
seed = 1
[dataset]
name = "breast-cancer"
[forest]
n_estimators = 20
[embedding]
{embedding}
"""


@pytest.mark.parametrize(
    ("embedding", "points"),
    [
        ('scheme = "codebook"', [("codebook", 0.02, 0.25)]),
        ('scheme = ["paper", "codebook"]', [("paper", 0.02, 0.5), ("codebook", 0.02, 0.25)]),
        ('scheme = ["paper", "codebook"]\nones_share = 0.3', [("paper", 0.02, 0.3), ("codebook", 0.02, 0.3)]),
        ('[[embedding.grid]]\nscheme = "codebook"\ntrigger_share = 0.1', [("codebook", 0.1, 0.25)]),
    ],
)
def test_without_a_share_of_ones_each_scheme_has_its_own(embedding, points):
    spec = parse_spec(CAMPAIGN.format(embedding=embedding))
    assert list(spec.embedding.points()) == points
    # As a store has it.
    again = type(spec).model_validate(spec.model_dump())
    assert again == spec
    assert list(again.embedding.points()) == points


@pytest.mark.parametrize(
    ("embedding", "fault"),
    [
        ('[[embedding.grid]]\nscheme = ["paper", "codebook"]', "give ones_share, or a grid for each scheme"),
        ('scheme = "codebook"\ntraining = "paper"', "scheme codebook has no training 'paper', only per-tree"),
    ],
)
def test_what_a_scheme_does_not_have_is_refused(embedding, fault):
    with pytest.raises(Exception, match=fault):
        parse_spec(CAMPAIGN.format(embedding=embedding))
