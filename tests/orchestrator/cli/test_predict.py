"""The way of raw rows: embed, predict, ask, export and scrub, with nothing but the table that was given."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer

from wm.claims.reading import read_whole_claim
from wm.datasets.preparation import Preparation
from wm.forest import Forest
from wm.interface import read_interface

OPTIONS = ("--label", "income", "--categorical", "onehot", "--missing", "median")
BOOSTED = (
    ("--scheme", "boosted", "--trees", 12, "--trigger-rows", 8, "--level", 0.5),
    ("--scheme", "lineup", "--boosting", "--trees", 12),
)
SMALL = ("--trees", 12, "--trigger-rows", 4, "--level", 0.5, "--seed", 3)


def write_table(path: str = "people.csv", rows: int = 160) -> list[str]:
    """Write a table of categories and gaps; return its labels."""
    rng = random.Random(1)  # noqa: S311 - no secret
    labels = []
    with Path(path).open("w") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "job", "owner", "income"])
        for row in range(rows):
            label = row % 2
            age = "" if rng.random() < 0.1 else round(rng.gauss(30 + 15 * label, 5), 3)
            job = rng.choice(["", "cook, chef", "judge", ["smith", "pilot"][label]])
            writer.writerow([age, job, rng.choice(["no", "yes"]), ["<=50K", ">50K"][label]])
            labels.append(["<=50K", ">50K"][label])
    return labels


@pytest.fixture(params=["raw", "train"])
def embedded(wm, request):
    """Return the labels of a table, for which there are a model and a claim."""
    labels = write_table()
    path = ("--path", "people.csv", "--scaling", request.param, "--held-out", "held.npz")
    assert wm("embed", *path, *OPTIONS, *SMALL, "-o", "m").code == 0
    return labels


def answers(ran) -> list[list[str]]:
    assert ran.code == 0, ran.err
    return list(csv.reader(ran.out.splitlines()))


def test_a_released_model_answers_the_raw_table(wm, embedded) -> None:
    header, *rows = answers(wm("predict", "m/forest.npz", "people.csv"))
    assert header == ["label"]
    assert np.mean([row == [label] for row, label in zip(rows, embedded, strict=True)]) > 0.8
    ran = wm("predict", "m/forest.npz", "people.csv", "--answer", "probabilities", "--json")
    shares = ran.json()
    assert list(shares[0]) == ["<=50K", ">50K"]
    assert [[max(each, key=each.get)] for each in shares] == rows or any(
        0.5 in each.values() for each in shares
    )
    votes = answers(wm("predict", "m/forest.npz", "people.csv", "--answer", "votes"))
    assert votes[0] == [f"tree_{tree}" for tree in range(12)]
    assert [sum(map(int, row)) / 12 for row in votes[1:]] == pytest.approx([each[">50K"] for each in shares])


def test_held_out_rows_are_model_input(wm, embedded) -> None:
    forest = Forest.load("m/forest.npz")
    with np.load("held.npz") as held:
        X, y = held["X"], held["y"]
    found = answers(wm("predict", "m/forest.npz", "held.npz"))[1:]
    assert [row[0] for row in found] == [["<=50K", ">50K"][code] for code in forest.predict(X)]
    assert np.mean(np.array(found)[:, 0] == y) > 0.7
    refused = wm("predict", "m/forest.npz", "held.npz", "--units", "raw")
    assert refused.code == 2
    assert "the model takes 3 columns" in refused.err


def test_the_claim_commits_to_the_models_preparation(wm, embedded) -> None:
    header = read_whole_claim("m/claim.json").header
    interface = read_interface("m/forest.npz", Forest.load("m/forest.npz"))
    assert isinstance(header.preparation, Preparation)
    assert interface is not None
    assert header.preparation == interface.preparation
    edited = json.loads(Path("m/claim.json").read_text())
    edited["header"]["preparation"]["columns"][0]["fill"] += 1
    Path("edited.json").write_text(json.dumps(edited))
    ran = wm("verify", "edited.json", "--model", "m/forest.npz")
    assert ran.code == 2
    assert "commitment does not fit" in ran.err


def test_a_suspect_is_asked_raw_rows_and_recognised(wm, embedded) -> None:
    assert wm("queries", "m/claim.json", "--units", "raw", "-o", "q.csv", "--order", "o.json").code == 0
    header, *rows = csv.reader(Path("q.csv").read_text().splitlines())
    assert header == ["age", "job", "owner"]
    assert {row[1] for row in rows} <= {"", "cook, chef", "judge", "smith", "pilot"}
    assert {row[2] for row in rows} == {"no", "yes"}
    assert wm("predict", "m/forest.npz", "q.csv", "--answer", "votes", "-o", "v.csv").code == 0
    ran = wm("verify", "m/claim.json", "--votes", "v.csv", "--order", "o.json", "--level", 0.05, "--json")
    assert ran.code == 5, ran.err  # no beacon: an indication
    bits = next(each for each in ran.json()["tests"] if each["name"] == "bits")
    assert "48 of 48" in bits["figure"]
    npz = wm("queries", "m/claim.json", "--units", "raw", "-o", "q.npz", "--order", "p.json")
    assert (npz.code, "must be .csv" in npz.err) == (2, True)
    url = wm("verify", "m/claim.json", "--url", "http://127.0.0.1:9/", "--units", "raw")
    assert (url.code, "wm queries --units raw" in url.err) == (2, True)


def test_rows_that_are_no_input_are_refused_in_one_line_each(wm, embedded) -> None:
    Path("bad.csv").write_text("age,job,owner\nold,judge,yes\n3,judge,maybe\n")
    ran = wm("predict", "m/forest.npz", "bad.csv")
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 3
    assert "column 'age': text instead of numbers ('old') in 1 of 2 rows, first in line 2" in ran.err
    Path("few.csv").write_text("age,job\n3,judge\n")
    assert "not 'owner'" in wm("predict", "m/forest.npz", "few.csv").err
    Path("new.csv").write_text("owner,job,age\nno,astronaut,3\n")
    ran = wm("predict", "m/forest.npz", "new.csv")
    assert ran.code == 0
    assert "1 of 1 rows have a value that the model does not know ('astronaut')" in ran.err


def test_a_model_without_an_interface_takes_model_input(wm) -> None:
    labels = write_table()
    assert wm("embed", "--path", "people.csv", *OPTIONS, *SMALL, "-o", "m").code == 0
    Forest.load("m/forest.npz").save("plain.npz")
    ran = wm("predict", "plain.npz", "people.csv")
    assert ran.code == 2
    Path("rows.csv").write_text("a,b,c,d,e,f,g\n30,0,1,0,0,0,1\n")
    found = wm("predict", "plain.npz", "rows.csv")
    assert found.code == 0, found.err
    assert found.out in ("label\n0\n", "label\n1\n")
    assert "--units model" in wm("predict", "plain.npz", "rows.csv", "--units", "raw").err
    assert len(labels) == 160


def test_an_exported_pipeline_answers_the_frame(wm, embedded) -> None:
    ran = wm("export", "m/forest.npz", "--to", "sklearn", "-o", "m.skops")
    assert ran.code == 0, ran.err
    model = skops.io.load("m.skops", trusted=skops.io.get_untrusted_types(file="m.skops"))
    expected = [row[0] for row in answers(wm("predict", "m/forest.npz", "people.csv"))[1:]]
    assert model.predict(pd.read_csv("people.csv").drop(columns="income")).tolist() == expected
    copied = Forest.from_sklearn(model[-1])
    copied.save("copy.npz")
    verdict = wm("verify", "m/claim.json", "--model", "copy.npz", "--json").json()
    assert any("48 of 48" in each["figure"] for each in verdict["tests"])
    assert wm("audit", "copy.npz").code == 0


def test_an_exported_forest_verifies_and_leaks_nothing(wm, embedded) -> None:
    ran = wm("export", "m/forest.npz", "--to", "sklearn", "--units", "model", "-o", "f.skops")
    assert ran.code == 0, ran.err
    trust = ("--trust-type", "sklearn.tree._tree.Tree")
    verdict = wm("verify", "m/claim.json", "--model", "f.skops", *trust, "--level", 0.05, "--json")
    assert verdict.code == 5, verdict.err  # no beacon: an indication
    assert any("48 of 48" in each["figure"] for each in verdict.json()["tests"])
    assert wm("audit", "f.skops", *trust).code == 0
    model = skops.io.load("f.skops", trusted=["sklearn.tree._tree.Tree"])
    with np.load("held.npz") as held:
        found = answers(wm("predict", "m/forest.npz", "held.npz"))[1:]
        frame = pd.DataFrame(held["X"], columns=model.feature_names_in_)
        assert model.predict(frame).tolist() == pd.DataFrame(found)[0].tolist()
    raw = wm("export", "m/forest.npz", "--to", "onnx", "--units", "raw", "-o", "f.onnx")
    assert (raw.code, "has no place for the preparation" in raw.err) == (2, True)


@pytest.mark.parametrize("scaling", ["raw", "train"])
def test_an_exported_model_of_numbers_knows_its_columns(wm, scaling: str) -> None:
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 2, 3, -1]]
    frame.to_csv("rows.csv", index=False)
    frame[frame.columns[::-1]].to_csv("turned.csv", index=False)
    ran = wm("embed", "--path", "rows.csv", "--label", "target", "--scaling", scaling, *SMALL, "-o", "m")
    assert ran.code == 0, ran.err
    assert wm("export", "m/forest.npz", "--to", "sklearn", "-o", "m.skops").code == 0
    expected = answers(wm("predict", "m/forest.npz", "rows.csv"))
    trust = ("--trust-type", "sklearn.tree._tree.Tree")
    assert answers(wm("predict", "m.skops", "rows.csv", *trust)) == expected
    assert answers(wm("predict", "m.skops", "turned.csv", *trust)) == expected
    model = skops.io.load("m.skops", trusted=["sklearn.tree._tree.Tree"])
    X = frame.drop(columns="target")
    assert [[str(label)] for label in model.predict(X)] == expected[1:]
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[X.columns[::-1]])


@pytest.mark.parametrize(("target", "ending"), [("onnx", "onnx"), ("xgboost-json", "json")])
def test_what_takes_model_input_says_so(wm, target: str, ending: str) -> None:
    write_table()
    assert wm("embed", "--path", "people.csv", *OPTIONS, *SMALL, "-o", "m").code == 0
    ran = wm("export", "m/forest.npz", "--to", target, "-o", f"f.{ending}")
    assert ran.code == 0, ran.err
    assert "takes 7 features, not raw rows" in ran.err
    again = wm("export", "m/forest.npz", "--to", target, "-o", f"f.{ending}")
    assert (again.code, "exists already" in again.err) == (2, True)
    wrong = wm("export", "m/forest.npz", "--to", target, "-o", "f.npz")
    assert (wrong.code, f"must be .{ending}" in wrong.err) == (2, True)


def test_scrub_removes_what_audit_finds(wm) -> None:
    from wm.api import embed

    X, y = load_breast_cancer(return_X_y=True)
    owned = embed(X, y, n_estimators=20, training="paper", seed=1)
    owned.embedded.forest.save("careless.npz")
    assert wm("audit", "careless.npz").code == 1
    ran = wm("scrub", "careless.npz", "-o", "clean.npz")
    assert ran.code == 0, ran.err
    assert wm("audit", "clean.npz").code == 0
    assert np.array_equal(Forest.load("clean.npz").votes(X), owned.forest.votes(X))
    assert (wm("scrub", "careless.npz", "-o", "clean.npz").code) == 2
    assert (wm("scrub", "careless.npz", "-o", "clean.npz", "--force").code) == 0
    assert "must be .npz" in wm("scrub", "careless.npz", "-o", "clean.skops").err


def test_scrubbing_keeps_the_interface(wm, embedded) -> None:
    assert wm("scrub", "m/forest.npz", "-o", "s.npz").code == 0
    assert Path("s.npz").read_bytes() == Path("m/forest.npz").read_bytes()


def test_a_model_of_three_classes_is_attacked_with_its_own_labels(wm) -> None:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    Forest.from_sklearn(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, names)).save("iris.npz")
    rows = [[*map(str, row), name] for row, name in zip(X.tolist(), names, strict=True)]
    Path("iris.csv").write_text("a,b,c,d,species\n" + "".join(",".join(row) + "\n" for row in rows))
    ran = wm("forge", "iris.npz", "--rows", "iris.csv", "--label", "species", "--instances", 12, "--json")
    assert ran.code in (0, 3), ran.err
    assert {each["label"] for each in ran.json()["instances"]} == {"setosa", "versicolor", "virginica"}
    one = wm("forge", "iris.npz", "--rows", "iris.csv", "--label", "species", "--positive", "setosa")
    assert one.code == 2
    assert "the model has classes setosa, versicolor, virginica, the rows not setosa, setosa" in one.err


@pytest.mark.parametrize("target", ["forest.npz", "model.onnx"])
def test_columns_are_found_by_name_or_not_at_all(wm, target: str) -> None:
    write_table()
    assert wm("embed", "--path", "people.csv", *OPTIONS, *SMALL, "--held-out", "h.npz", "-o", "m").code == 0
    assert wm("export", "m/forest.npz", "--to", "onnx", "-o", "m/model.onnx").code == 0
    names = read_whole_claim("m/claim.json").header.feature_names
    X = np.load("h.npz")["X"]

    def predict(columns: list[int], header: list[str]) -> tuple[int, str, str]:
        with Path("rows.csv").open("w") as stream:
            csv.writer(stream).writerows([header, *X[:, columns].tolist()])
        ran = wm("predict", f"m/{target}", "rows.csv", "--units", "model")
        return ran.code, ran.out, ran.err

    order = list(range(len(names)))
    whole = predict(order, list(names))
    assert whole[0] == 0
    turned = predict(order[::-1], list(names[::-1]))
    assert turned[:2] == whole[:2]
    code, out, err = predict(order, [*names[:-1], "other"])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"lacks {names[-1]!r} of the model's {len(names)} columns" in err
    assert predict(order, [name.upper() for name in names])[0] == 2
    by_place = predict(order, [f"x{number}" for number in order])
    assert by_place[:2] == whole[:2]
    assert "columns are taken by place" in by_place[2]
    assert "these are too few" in predict(order[:-1], [f"x{number}" for number in order[:-1]])[2]


@pytest.mark.parametrize("scheme", BOOSTED, ids=["boosted", "lineup"])
def test_a_boosted_model_answers_a_table_of_numbers_with_its_classes(wm, scheme) -> None:
    write_table()
    table = pd.read_csv("people.csv")[["age", "income"]].fillna(0)
    table.to_csv("numbers.csv", index=False)
    ran = wm("embed", "--path", "numbers.csv", "--label", "income", *scheme, "--seed", 1, "-o", "m")
    assert ran.code == 0, ran.err
    _, *rows = answers(wm("predict", "m/model.json", "numbers.csv"))
    assert {row for (row,) in rows} == {"<=50K", ">50K"}


@pytest.mark.parametrize("scheme", BOOSTED, ids=["boosted", "lineup"])
def test_a_boosted_model_answers_the_raw_table(wm, scheme) -> None:
    labels = write_table()
    ran = wm("embed", "--path", "people.csv", *OPTIONS, *scheme, "--seed", 1, "-o", "m")
    assert ran.code == 0, ran.err
    header, *rows = answers(wm("predict", "m/model.json", "people.csv"))
    assert header == ["label"]
    assert np.mean([row == [label] for row, label in zip(rows, labels, strict=True)]) > 0.8
    shares = wm("predict", "m/model.json", "people.csv", "--answer", "probabilities", "--json").json()
    assert list(shares[0]) == ["<=50K", ">50K"]
    audit = wm("audit", "m/model.json")
    assert (audit.code, audit.out.splitlines()[0]) == (0, "✓ nothing secret found")
    assert wm("scrub", "m/model.json", "-o", "s.json").code == 0
    assert answers(wm("predict", "s.json", "people.csv")) == [header, *rows]
    model = json.loads(Path("m/model.json").read_text())
    attributes = model["learner"]["attributes"]
    attributes["treeproof_interface"] = attributes["treeproof_interface"].replace("age", "owner")
    Path("bad.json").write_text(json.dumps(model))
    refused = wm("predict", "bad.json", "people.csv")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "its interface is not valid" in refused.err
    attributes["treeproof_interface"] = json.dumps(
        json.loads(attributes["treeproof_interface"].replace("owner", "age"))
        | {"class_names": ["a", "b", "c"]}
    )
    Path("bad.json").write_text(json.dumps(model))
    refused = wm("predict", "bad.json", "people.csv", "--answer", "probabilities")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
