"""`wm claim` and the way from it to a verdict: commit, have the draw witnessed, train, judge."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

from tests import witness
from wm.claims.keys import new_key, to_pem
from wm.claims.reading import read_whole_claim
from wm.embedding.claimed import own_receipt


@pytest.fixture
def drawn(model) -> tuple[object, ...]:
    """Options of an embedding for the claim."""
    return ("--claim", model.undrawn, "--receipt", model.receipt)


def _mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def _write_rows(path: Path, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(50, 20, size=(400, 3)), 3)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(0, 5, 400) > 100, "yes", "no")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["height", "weight", "age", "risk"])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))


def test_from_a_commitment_to_a_verdict(wm, quick_fit) -> None:
    _write_rows(Path("rows.csv"))
    Path("owner.key").write_bytes(to_pem(new_key()))
    Path("trust.json").write_text(witness.TRUST.to_json())
    source = ("--path", "rows.csv", "--label", "risk", "--trees", 24, "--model-id", "credit")
    files = ("--key", "owner.key", "-o", "claim.json", "--commitment", "commitment.json")
    ran = wm("claim", "new", *source, *files, "--json")
    assert (ran.code, ran.err) == (0, "")
    facts, claim = ran.json(), read_whole_claim("claim.json")
    assert (facts["commitment"], facts["pool"], facts["trigger_size"]) == (claim.commitment, 280, 5)
    public = json.loads(Path("commitment.json").read_text())
    assert (public["commitment"], public["owner"]) == (claim.commitment, claim.header.owner)
    assert claim.secret not in Path("commitment.json").read_text()
    assert (_mode(Path("claim.json")), claim.receipts) == (0o600, ())

    Path("receipt.json").write_text(witness.witness(claim).to_json())
    words = ("--claim", "claim.json", "--receipt", "receipt.json", *quick_fit)
    made = wm("embed", *words, "-o", "model", "--json")
    assert made.code == 0, made.err
    assert "rehearsal" not in made.err
    assert "indication" not in made.err
    facts = made.json()
    assert (facts["commitment"], facts["trigger_size"]) == (claim.commitment, 5)
    assert sorted(file.name for file in Path("model").iterdir()) == ["claim.json", "forest.npz"]
    complete = read_whole_claim("model/claim.json")
    assert complete.model_copy(update={"receipts": ()}) == claim

    suspect = ("verify", "model/claim.json", "--model", "model/forest.npz", "--trust", "trust.json")
    assert wm(*suspect, "--suspect-since", "2025-06-30").code == 0
    assert wm(*suspect, "--suspect-since", "2024-06-30").code == 5
    assert wm(*suspect).code == 5
    assert "its trigger rows are not drawn yet" in wm("verify", "claim.json", *suspect[2:]).refusal()


def test_a_codebook_from_a_commitment_to_a_verdict_and_an_opening(wm) -> None:
    _write_rows(Path("rows.csv"))
    Path("owner.key").write_bytes(to_pem(new_key()))
    Path("trust.json").write_text(witness.TRUST.to_json())
    source = ("--path", "rows.csv", "--label", "risk", "--trees", 24, "--scheme", "codebook")
    files = ("--key", "owner.key", "-o", "claim.json", "--commitment", "commitment.json")
    assert wm("claim", "new", *source, "--trigger-rows", 8, *files).code == 0
    shown = wm("claim", "show", "claim.json", "--json").json()
    assert (shown["scheme"], shown["trees"], shown["ones"]) == ("codebook", 24, 6)

    Path("receipt.json").write_text(witness.witness(read_whole_claim("claim.json")).to_json())
    drawn = ("--claim", "claim.json", "--receipt", "receipt.json")
    assert "training" in wm("embed", *drawn, "--training", "paper", "-o", "model").refusal()
    made = wm("embed", *drawn, "-o", "model", "--json")
    assert made.code == 0, made.err
    assert made.json()["matched_bits"] == made.json()["total_bits"] == 8 * 24

    judge = ("--trust", "trust.json", "--suspect-since", "2025-06-30")
    suspect = ("--model", "model/forest.npz", *judge, "--json")
    found = wm("verify", "model/claim.json", *suspect)
    assert found.code == 0, found.out
    assert [each["name"] for each in found.json()["tests"]] == ["bits", "bits, aligned", "rows by votes"]
    drawing = ("--challenge", "court of X", "--draw", 3)
    opened = wm("open", "model/claim.json", "--key", "owner.key", *drawing, "-o", "opening.json")
    assert opened.code == 0, opened.err
    part = wm("verify", "opening.json", "--challenge", "court of X", "--open", 3, *suspect)
    assert part.code == 0, part.out
    assert found.json()["log10_p"] < part.json()["log10_p"] < -6


def test_a_rehearsal_is_the_same_each_time(wm, quick_claim, model) -> None:
    for name in ("one", "two"):
        words = ("--key", model.key, "-o", f"{name}.json", "--commitment", f"{name}-public.json")
        assert wm(*quick_claim, "--seed", 3, *words).code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes() == model.undrawn.read_bytes()


def test_a_claim_is_shown_without_its_secrets(wm, model) -> None:
    for file, receipts in ((model.claim, "notary"), (model.undrawn, "not drawn yet")):
        ran = wm("claim", "show", file)
        assert (ran.code, ran.err) == (0, "")
        assert receipts in ran.out
        facts = wm("claim", "show", file, "--json").json()
        assert facts["commitment"] == model.content["commitment"]
        assert (facts["trees"], facts["ones"], facts["class_names"]) == (24, 12, ["malignant", "benign"])
        for secret in ("secret", "salt", "rows"):
            assert model.content[secret] not in ran.out + json.dumps(facts)


@pytest.mark.parametrize("name", ["claim.json", "commitment.json"])
def test_a_claim_replaces_nothing_and_leaves_no_half(wm, quick_claim, model, name: str) -> None:
    Path(name).write_text("the only proof of a released model")
    words = ("--key", model.key, "-o", "claim.json", "--commitment", "commitment.json")
    assert f"{name}: exists already" in wm(*quick_claim, *words).refusal()
    assert [file.name for file in Path().iterdir()] == [name]
    assert Path(name).read_text() == "the only proof of a released model"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--dataset", "breast-cancer"),
        ("--label", "risk"),
        ("--positive", "1"),
        ("--test-share", "0.3"),
        ("--scaling", "train"),
        ("--trees", "24"),
        ("--trigger-rows", "7"),
        ("--trigger-share", "0.02"),
        ("--ones-share", "0.5"),
        ("--scheme", "codebook"),
        ("--pool", "398"),
        ("--level", "1e-6"),
        ("--model-id", "model"),
        ("--seed", "3"),
        ("--key", "owner.key"),
    ],
)
def test_what_a_claim_has_fixed_cannot_be_given_again(wm, model, drawn, option: str, value: str) -> None:
    Path("owner.key").write_bytes(model.key.read_bytes())
    ran = wm("embed", *drawn, option, value, "-o", "model")
    assert (ran.code, ran.out) == (2, "")
    assert f"{option} is fixed by the claim" in ran.err
    assert not Path("model").exists()


def test_a_claim_and_its_receipt_go_together(wm, model, quick_fit) -> None:
    for words, reason in (
        (("--claim", model.undrawn), "--claim needs --receipt"),
        (("--dataset", "breast-cancer", "--receipt", model.receipt), "--receipt is for --claim"),
        (
            ("--claim", model.undrawn, "--receipt", model.receipt, "--notary", "http://127.0.0.1:1/"),
            "--notary",
        ),
        (("--dataset", "breast-cancer", "--seed", 1, "--notary", "http://127.0.0.1:1/"), "--seed"),
    ):
        ran = wm("embed", *words, *quick_fit, "-o", "model")
        assert (ran.code, ran.out) == (2, "")
        assert reason in ran.err
    for other in (model.claim, model.key, model.trust, model.commitment):
        words = ("--claim", model.undrawn, "--receipt", other)
        assert f"{other}: not a beacon's receipt" in wm("embed", *words, *quick_fit, "-o", "model").refusal()
    found = model.read.model_copy(update={"commitment": "ab" * 32})
    Path("receipt.json").write_text(witness.witness(found).to_json())
    words = ("--claim", model.undrawn, "--receipt", "receipt.json", *quick_fit, "-o", "model")
    assert "another commitment" in wm("embed", *words).refusal()
    assert not (Path("model") / "claim.json").exists()


def test_two_receipts_draw_together(wm, model, quick_fit, drawn) -> None:
    Path("own.json").write_text(own_receipt(1).to_json())
    assert wm("embed", *drawn, "--receipt", "own.json", *quick_fit, "-o", "model").code == 0
    ran = wm("verify", "model/claim.json", "--model", "model/forest.npz", *model.judge, "--json")
    assert (ran.code, ran.json()["verdict"]) == (5, "indication"), "the owner gave the last value"
    assert "a beacon that you do not trust took part" in ran.json()["open_questions"][0]
    refusal = wm("embed", *drawn, *drawn[2:], *quick_fit, "-o", "twice").refusal()
    assert "each once" in refusal


def test_other_rows_than_the_claims_are_refused(wm, quick_fit, model) -> None:
    _write_rows(Path("rows.csv"))
    _write_rows(Path("other.csv"), seed=1)
    words = ("--path", "rows.csv", "--label", "risk", "--trees", 24, "--key", model.key)
    assert wm("claim", "new", *words, "-o", "claim.json", "--commitment", "commitment.json").code == 0
    Path("receipt.json").write_text(witness.witness(read_whole_claim("claim.json")).to_json())
    embed = ("embed", "--claim", "claim.json", "--receipt", "receipt.json", *quick_fit, "-o", "model")
    refusal = wm(*embed, "--path", "other.csv").refusal()
    assert "the claim's pool is not among these training rows" in refusal
    Path("rows.csv").rename("moved.csv")
    assert "rows.csv: no such file" in (moved := wm(*embed).refusal())
    assert moved.strip().endswith("give the file of the claim's rows as --path")
    text = Path("moved.csv").read_text()
    Path("relabelled.csv").write_text(text.replace("yes", "x").replace("no", "yes").replace("x", "no"))
    assert "pool is not among" in wm(*embed, "--path", "relabelled.csv").refusal()
    assert wm(*embed, "--path", "moved.csv").code == 0


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        ({"split_seed": "x"}, "split_seed"),
        ({"split_seed": 2**70}, "split_seed"),
        ({"scaling": "other"}, "scaling"),
        ({"test_share": None}, "test_share"),
        ({"test_share": 7.5}, "test"),
        ({"path": 5}, "path"),
        ({"dataset": None}, "give it as --path"),
        ({"dataset": "no-such-data"}, "no-such-data"),
        ({"another": 1}, "another"),
        (None, "how its rows were read"),
    ],
)
def test_an_edited_source_is_refused(wm, model, quick_fit, edit: dict[str, object] | None, word: str) -> None:
    content = json.loads(model.undrawn.read_text())
    content["source"] = None if edit is None else content["source"] | edit
    Path("edited.json").write_text(json.dumps(content))
    words = ("--claim", "edited.json", "--receipt", model.receipt, *quick_fit, "-o", "model")
    assert word in wm("embed", *words).refusal()


def test_a_file_whose_name_is_no_text_makes_a_readable_claim(wm, model, quick_fit) -> None:
    name = "rows-\udcff.csv"
    _write_rows(Path(name))
    words = ("--path", name, "--label", "risk", "--trees", 24, "--key", model.key)
    assert wm("claim", "new", *words, "-o", "claim.json", "--commitment", "commitment.json").code == 0
    Path("receipt.json").write_text(witness.witness(read_whole_claim("claim.json")).to_json())
    embed = ("embed", "--claim", "claim.json", "--receipt", "receipt.json", *quick_fit, "-o", "model")
    assert "give it as --path" in wm(*embed).refusal()
    assert wm(*embed, "--path", name).code == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--trigger-rows", 2), "would do"),
        (("--pool", 399), "a pool of 399 rows"),
        (("--level", "1e-30"), "can never be verified"),
        (("--level", "nan"), "--level"),
        (("--ones-share", 0.001), "leaves all bits equal"),
        (("--model-id", "two\nlines"), "not printable"),
    ],
)
def test_an_impossible_claim_is_refused(
    wm, quick_claim, model, options: tuple[object, ...], word: str
) -> None:
    words = ("--key", model.key, "-o", "claim.json", "--commitment", "commitment.json")
    ran = wm(*quick_claim, *words, *options)
    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err
    assert list(Path().iterdir()) == []
