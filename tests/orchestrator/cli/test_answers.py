"""`wm verify` with files of a suspect's answers: judged by their kind, or refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import witness
from wm.claims.pooled import new_claim
from wm.forest import Forest

ANSWERED = ("answers.csv", "--order", "order.json")


def _rows(file: Path) -> np.ndarray:
    if file.suffix == ".csv":
        return np.loadtxt(file, delimiter=",", dtype=np.float32, ndmin=2, skiprows=1)
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["X"]


def _values(model, suspect: Path, X: np.ndarray, kind: str) -> np.ndarray:
    forest = Forest.load(suspect)
    shares = forest.vote_shares(X)[:, 1]
    match kind:
        case "votes":
            return forest.votes(X)
        case "probabilities":
            return shares[:, None]
        case _:
            # With as many ones as zeros the trees are tied on trigger rows: this suspect then answers 1.
            return np.array(model.content["header"]["class_names"])[(shares >= 0.5).astype(int)][:, None]


def _answer(wm, model, suspect: Path, kind: str, *options: object, name: str = "answers.csv") -> None:
    """Ask the rows of wm queries, and write a suspect's answers to a file."""
    for file in (Path("rows.npz"), Path("order.json")):
        file.unlink(missing_ok=True)
    assert wm("queries", model.claim, "-o", "rows.npz", "--order", "order.json", *options).code == 0
    _write_csv(Path(name), _values(model, suspect, _rows(Path("rows.npz")), kind))


def _write_csv(path: Path, values: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(values.tolist())


def _write_csv_with_header(path: Path, values: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[f"tree_{index}" for index in range(values.shape[1])], *values.tolist()])


def _write_npz(path: Path, values: np.ndarray) -> None:
    np.savez(path, votes=values)


def test_too_few_rows_cannot_be_judged(wm, model) -> None:
    _answer(wm, model, model.foreign_forest, "labels", "--controls", 7)
    ran = wm("verify", model.claim, "--labels", *ANSWERED, *model.judge, "--json")
    assert (ran.code, ran.json()["verdict"]) == (5, "cannot be judged")
    assert "7 trigger rows among 14 cannot give p below" in ran.json()["reason"]
    assert "more controls" in ran.json()["needed"]


@pytest.mark.parametrize("rows", ["rows.csv", "rows.npz"])
@pytest.mark.parametrize(
    ("name", "write"),
    [("votes.csv", _write_csv), ("votes.csv", _write_csv_with_header), ("votes.npz", _write_npz)],
)
@pytest.mark.parametrize("suspect", ["forest", "foreign_forest"])
def test_votes_from_afar_give_the_same_verdict_as_the_model_itself(
    wm, model, rows: str, name: str, write: Callable[[Path, np.ndarray], None], suspect: str
) -> None:
    whole = ("--controls", 391, "--repeats", 0)
    assert wm("queries", model.claim, "-o", rows, "--order", "order.json", *whole).code == 0
    X = _rows(Path(rows))
    assert sorted(map(bytes, X)) == sorted(map(bytes, model.read.X))
    write(Path(name), Forest.load(getattr(model, suspect)).votes(X))
    by_votes = wm("verify", model.claim, "--votes", name, "--order", "order.json", *model.judge, "--json")
    by_model = wm("verify", model.claim, "--model", getattr(model, suspect), *model.judge, "--json")
    assert by_votes.code == by_model.code == (0 if suspect == "forest" else 1)
    by_files, seen = by_votes.json(), by_model.json()
    assert {key for key in seen if by_files[key] != seen[key]} == {"suspect"}


@pytest.mark.parametrize("kind", ["votes", "probabilities", "labels"])
def test_answers_are_judged_by_their_kind(wm, model, kind: str) -> None:
    _answer(wm, model, model.forest, kind)
    ran = wm("verify", model.claim, f"--{kind}", *ANSWERED, *model.judge, "--level", "0.01", "--json")
    assert ran.code == 0, ran.out + ran.err
    names = {
        "votes": ["bits", "rows by votes"],
        "probabilities": ["rows by probabilities", "rows by rank"],
        "labels": ["rows by labels"],
    }
    assert [each["name"] for each in ran.json()["tests"]] == names[kind]
    for each in ran.json()["tests"]:
        assert each["log10_floor"] - 1e-9 <= each["log10_p"] <= each["log10_adjusted"] <= 0
    _answer(wm, model, model.foreign_forest, kind)
    ran = wm("verify", model.claim, f"--{kind}", *ANSWERED, *model.judge, "--level", "1e-4", "--json")
    assert (ran.code, ran.json()["verdict"]) == (1, "not verified")


def test_several_kinds_of_answers_at_once(wm, model) -> None:
    _answer(wm, model, model.forest, "votes", name="votes.csv")
    X = _rows(Path("rows.npz"))
    for kind in ("probabilities", "labels"):
        _write_csv(Path(f"{kind}.csv"), _values(model, model.forest, X, kind))
    files = [word for kind in ("votes", "probabilities", "labels") for word in (f"--{kind}", f"{kind}.csv")]
    ran = wm("verify", model.claim, *files, "--order", "order.json", *model.judge, "--json")
    assert ran.code == 0
    assert len(ran.json()["tests"]) == 5
    assert not any("contradict" in each for each in ran.json()["notes"])
    # A suspect that answers otherwise when it knows that its votes are not seen.
    _write_csv(Path("labels.csv"), _values(model, model.foreign_forest, X, "labels")[::-1])
    ran = wm("verify", model.claim, *files, "--order", "order.json", *model.judge, "--json")
    assert ran.code == 0, "the votes convict"
    assert any("votes and labels contradict each other" in each for each in ran.json()["notes"])


def test_a_row_less_is_refused(wm, model) -> None:
    _answer(wm, model, model.forest, "votes")
    lines = Path("answers.csv").read_text().splitlines(keepends=True)
    Path("answers.csv").write_text("".join(lines[:-1]))
    refusal = wm("verify", model.claim, "--votes", *ANSWERED).refusal()
    assert f"{len(lines)} rows were asked, but {len(lines) - 1} are answered" in refusal


def test_an_order_goes_with_its_claim_and_with_answers_only(wm, model) -> None:
    _answer(wm, model, model.forest, "votes")
    assert "another claim's rows" in wm("verify", model.foreign_claim, "--votes", *ANSWERED).refusal()
    for words, reason in (
        (("--model", model.forest, "--order", "order.json"), "--order is for the answers"),
        (("--votes", "answers.csv"), "need the --order"),
        (("--model", model.forest, "--votes", *ANSWERED), "give a suspect"),
        ((), "give a suspect"),
    ):
        ran = wm("verify", model.claim, *words)
        assert (ran.code, ran.out) == (2, "")
        assert reason in ran.err


@pytest.mark.parametrize(
    "spoil", [lambda order: order["asked"].append(398), lambda order: order["asked"].append(2**70)]
)
def test_an_order_of_other_rows_is_refused(wm, model, spoil: Callable[[dict[str, Any]], None]) -> None:
    _answer(wm, model, model.forest, "votes")
    order = json.loads(Path("order.json").read_text())
    spoil(order)
    Path("order.json").write_text(json.dumps(order))
    with Path("answers.csv").open("a") as file:
        file.write("0," * 23 + "0\n")
    wm("verify", model.claim, "--votes", *ANSWERED).refusal()


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("benign", "malignant"), ["cat", "dog"]),
        (("benign", "malignant"), ["malignant", "dog"]),
        (("not malignant", "malignant"), ["cat", "dog"]),
        (("not malignant", "malignant"), ["2", "1"]),
    ],
)
def test_labels_outside_the_claims_classes_are_refused(
    wm, model, names: tuple[str, str], labels: list[str], rename
) -> None:
    claim = rename(names)
    assert wm("queries", claim, "-o", "rows.csv", "--order", "order.json").code == 0
    count = len(json.loads(Path("order.json").read_text())["asked"])
    Path("labels.csv").write_text("\n".join((labels * count)[:count]))
    refusal = wm("verify", claim, "--labels", "labels.csv", "--order", "order.json").refusal()
    assert "labels must be 0 and 1, or " + " and ".join(map(repr, names)) in refusal


def test_other_names_are_the_other_class_of_one_against_all(wm, model, rename) -> None:
    claim = rename(("not malignant", "malignant"))
    assert wm("queries", claim, "-o", "rows.npz", "--order", "order.json").code == 0
    shares = Forest.load(model.foreign_forest).vote_shares(_rows(Path("rows.npz")))[:, 1]
    _write_csv(Path("labels.csv"), np.array(["cat", "malignant"])[(shares > 0.5).astype(int)][:, None])
    ran = wm("verify", claim, "--labels", "labels.csv", "--order", "order.json", "--json")
    assert ran.code in (1, 5)
    assert ran.json()["verdict"] == "not verified"


@pytest.fixture
def rename(model) -> Callable[[tuple[str, str]], Path]:
    """Makes a claim with other class names, and so another commitment and draw."""

    def make(names: tuple[str, str]) -> Path:
        found = model.read
        header = found.header.model_copy(update={"class_names": names})
        made = new_claim(header, found.X, found.y)
        drawn = made.model_copy(update={"receipts": (witness.witness(made),)})
        Path("renamed.json").write_text(drawn.to_json())
        return Path("renamed.json")

    return make


def test_inconsistent_answers_cannot_be_judged(wm, model) -> None:
    _answer(wm, model, model.foreign_forest, "votes", "--repeats", 40)
    order = json.loads(Path("order.json").read_text())["asked"]
    lines = Path("answers.csv").read_text().splitlines()
    again = [place for place, row in enumerate(order) if row in order[:place]]
    assert len(again) == 40
    for place in again[:10]:
        lines[place] = lines[place].translate({ord("0"): "1", ord("1"): "0"})
    Path("answers.csv").write_text("\n".join(lines))
    ran = wm("verify", model.claim, "--votes", *ANSWERED, *model.judge, "--json")
    assert (ran.code, ran.json()["verdict"]) == (5, "cannot be judged")
    assert "10 of 40 repeated questions had another answer" in ran.json()["reason"]


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((6, 24)),
        np.zeros((24, 7)),
        np.zeros((0, 24)),
        np.full((7, 24), 2),
        np.full((7, 24), 0.5),
        np.full((7, 24), np.nan),
        np.zeros(168),
        np.zeros((7, 24, 1)),
        np.full((7, 24), "1"),
        np.zeros((7, 24), dtype=complex),
    ],
    ids=lambda bad: f"{bad.dtype}{bad.shape}",
)
def test_votes_of_another_shape_or_kind_are_refused(wm, model, bad: np.ndarray) -> None:
    """By claims of version 2, whose 7 trigger rows are all that is asked, and of version 3 alike."""
    _answer(wm, model, model.forest, "votes")
    _write_npz(Path("votes.npz"), bad)
    if bad.ndim == 2:
        _write_csv(Path("votes.csv"), bad)
    for votes in ("votes.npz", "votes.csv") if bad.ndim == 2 and bad.dtype.kind == "f" else ("votes.npz",):
        wm("verify", model.old_claim, "--votes", votes).refusal()
        wm("verify", model.claim, "--votes", votes, "--order", "order.json").refusal()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "0,1\n",
        "a,b\n",
        "0;1;0\n",
        '"',
        "0,1\n0\n",
        "\x00",
        "0," * 24 + "\n",
        "1e400,0\n",
        "-,0\n0,1\n",
    ],
    ids=repr,
)
def test_a_csv_that_holds_no_such_votes_is_refused(wm, model, text: str) -> None:
    Path("votes.csv").write_text(text)
    wm("verify", model.old_claim, "--votes", "votes.csv").refusal()
    _answer(wm, model, model.forest, "votes")
    wm("verify", model.claim, "--votes", "votes.csv", "--order", "order.json").refusal()


@pytest.mark.parametrize("rows", ["rows.csv", "rows.npz"])
def test_numbered_rows_are_answered_in_any_order_and_a_missing_one_is_named(wm, model, rows: str) -> None:
    assert wm("queries", model.claim, "--ids", "-o", rows, "--order", "order.json").code == 0
    if rows.endswith(".csv"):
        table = np.loadtxt(rows, delimiter=",", skiprows=1)
        ids, X = table[:, 0].astype(int), table[:, 1:].astype(np.float32)
        header = Path(rows).read_text().splitlines()[0].split(",")
        assert header == ["id", *model.content["header"]["feature_names"]]
    else:
        with np.load(rows) as arrays:
            ids, X = arrays["id"], arrays["X"]
    assert ids.tolist() == list(range(1, len(X) + 1))
    lines = [
        ",".join(map(str, [number, *votes]))
        for number, votes in zip(ids, Forest.load(model.forest).votes(X), strict=True)
    ]
    header = "id," + ",".join(f"tree_{tree}" for tree in range(24))
    Path("votes.csv").write_text("\n".join([header, *lines[::-1]]))
    words = ("verify", model.claim, "--votes", "votes.csv", "--order", "order.json", *model.judge)
    assert wm(*words).code == 0
    Path("votes.csv").write_text("\n".join([header, *lines[:16], *lines[17:]]))
    assert "these ids are not answered by votes: 17" in wm(*words).refusal()
    # Without numbers nobody can tell which one it is.
    Path("votes.csv").write_text("\n".join(line.partition(",")[2] for line in lines[:-1]))
    assert "a column id, as wm queries --ids writes it, would tell which" in wm(*words).refusal()


def test_answers_may_stand_beside_the_rows(wm, model) -> None:
    assert wm("queries", model.claim, "--ids", "-o", "rows.csv", "--order", "order.json").code == 0
    header, *rows = Path("rows.csv").read_text().splitlines()
    X = np.loadtxt("rows.csv", delimiter=",", skiprows=1)[:, 1:].astype(np.float32)
    shares = Forest.load(model.forest).vote_shares(X)[:, 1]
    lines = [f"{row},{share:.3f}" for row, share in zip(rows, shares, strict=True)]
    Path("answers.csv").write_text("\n".join([f"{header},score", *lines]))
    words = ("--probabilities", "answers.csv", "--order", "order.json", "--level", "0.01")
    assert wm("verify", model.claim, *words, *model.judge).code == 0
