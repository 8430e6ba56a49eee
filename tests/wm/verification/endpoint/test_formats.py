"""Formats of questions and replies, with imitations of the servers that speak them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.imitations import SERVERS, Imitation, RefusedError, Served, crashing, mlflow
from wm.errors import EndpointError, EndpointUnavailableError
from wm.verification.endpoint.client import ask, find_wire
from wm.verification.endpoint.endpoint import Endpoint, Limits
from wm.verification.endpoint.formats import FORMATS, wire_of
from wm.verification.endpoint.json_path import part_at, placed_at, read_path
from wm.verification.endpoint.meaning import read_meaning
from wm.verification.endpoint.reply import read_reply

NAMES = ("width", "age", "height")
X = np.random.default_rng(1).random((23, 3)).astype(np.float32)
PROBE = np.random.default_rng(2).random((3, 3)).astype(np.float32)
CLASSES = ("no", "yes")


def shares(rows):
    """Return probabilities that tell every row from every other, columns in their order."""
    of_one = (rows @ np.array([0.7, 0.2, 0.1])).astype(np.float64)
    return np.stack([1.0 - of_one, of_one], axis=1)


def served(classes=CLASSES):
    return Served(shares, NAMES, classes)


def quick(url):
    return Endpoint(url, limits=Limits(batch_size=10, total_s=60, first_wait_s=0.0, attempts=2))


def found(url, **places):
    return find_wire(quick(url), PROBE, names=NAMES, class_names=CLASSES, **places)


def expected(kind):
    of_one = shares(X)[:, 1]
    return of_one if kind == "probabilities" else (of_one > 0.5).astype(int)


@pytest.mark.parametrize("classes", [CLASSES, (0, 1)])
@pytest.mark.parametrize("name", SERVERS)
def test_the_format_of_each_server_is_found_and_understood(name, classes):
    answer, path, format_name, kind = SERVERS[name]
    with Imitation(served(classes), answer, path) as server:
        wire = found(server.url)
        assert wire.name == format_name
        answers = ask(quick(server.url), X, class_names=CLASSES, wire=wire)
    assert answers.kind == kind
    np.testing.assert_allclose(answers.values, expected(kind))


@pytest.mark.parametrize("name", SERVERS)
def test_only_rows_for_that_are_shown_before_the_format_is_found(name):
    answer, path, _, _ = SERVERS[name]
    model = served()
    with Imitation(model, answer, path) as server:
        found(server.url)
        sent = json.dumps([document for _, _, document in server.requests])
    allowed = {float(value) for value in PROBE.ravel()}
    assert all(float(value) in allowed for rows in model.asked for value in rows.ravel())
    assert not any(repr(float(value)) in sent for value in X.ravel())
    assert "treeproof" not in sent


USUAL = [name for name, (_, path, wire, _) in SERVERS.items() if (FORMATS[wire].usual or "?") in path]


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_address_of_a_server_leads_to_its_format_at_once(name):
    answer, path, _, _ = SERVERS[name]
    with Imitation(served(), answer, path) as server:
        found(server.url)
        posts = [request for request in server.requests if request[0] == "POST"]
    assert len(posts) <= 2


def test_a_format_can_be_named():
    with Imitation(served(), mlflow, "/anywhere") as server:
        wire = wire_of("mlflow", quick(server.url), NAMES)
        assert ask(quick(server.url), X, class_names=CLASSES, wire=wire).kind == "labels"
        with pytest.raises(EndpointError, match=r"answered 400 Bad Request: .*missing inputs"):
            ask(quick(server.url), X, class_names=CLASSES, wire=wire_of("v1", quick(server.url), NAMES))
        with pytest.raises(EndpointError, match="no description of it names a field"):
            wire_of("field", quick(server.url), NAMES)
        with pytest.raises(EndpointError, match="list and records only"):
            wire_of("v1", quick(server.url), NAMES, rows_at=("rows",))


def test_places_of_rows_and_answers_can_be_named():
    with Imitation(served(), crashing, "/model") as server:
        with pytest.raises(EndpointError, match=r"understood no format: v1, .*: answered 500"):
            found(server.url)
        with pytest.raises(EndpointError, match=r"answered with 'result', not with any of .*--json-path"):
            found(server.url, rows_at=("payload", "rows"))
        wire = found(
            server.url, rows_at=read_path("payload.rows"), answers_at=read_path("$.result[*].scores")
        )
        assert wire.name == "list"
        answers = ask(quick(server.url), X, class_names=CLASSES, wire=wire)
        with pytest.raises(EndpointError, match=r"which has no 'result\.7'"):
            found(server.url, rows_at=("payload", "rows"), answers_at=("result", "7", "scores"))
    np.testing.assert_allclose(answers.values, expected("probabilities"))


def test_a_page_for_people_is_no_answer():
    with (
        Imitation(served(), lambda *_: "<html>Log in</html>", "/model") as server,
        pytest.raises(EndpointError, match="neither an object nor a list"),
    ):
        found(server.url)


@pytest.mark.parametrize(("status", "word"), [(401, "token"), (404, "404"), (405, "405")])
def test_a_wrong_address_is_reported_at_once(status, word):
    def refuse(*_):
        raise RefusedError(status, {})

    with Imitation(served(), refuse, "/model") as server:
        with pytest.raises(EndpointError, match=word):
            found(server.url)
        assert len(server.requests) == 1


def test_a_passing_fault_does_not_hide_the_format():
    faults = iter([500, 503, 500])

    def answer(model, method, path, document):
        status = next(faults, None)
        if status is not None:
            raise RefusedError(status, {})
        return mlflow(model, method, path, document)

    with Imitation(served(), answer, "/invocations") as server:
        assert found(server.url).name == "mlflow"


def test_an_address_without_a_server_is_no_question_of_format():
    with Imitation(served(), mlflow, "/model") as gone:
        pass
    with pytest.raises(EndpointUnavailableError, match="cannot be reached"):
        found(gone.url)


def test_the_page_of_servers_has_every_format():
    page = (Path(__file__).parents[4] / "docs" / "servers.md").read_text()
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


# --- what arrays are


def meaning(reply, count=4, class_names=CLASSES, path=None):
    columns = read_reply(json.dumps(reply).encode(), count, class_names=class_names, what="it", path=path)
    answers = read_meaning(columns, class_names=class_names, what="it")
    return answers.kind, answers.values.tolist()


@pytest.mark.parametrize("piece", [[], [0, 1], {}])
def test_a_reply_of_many_small_arrays_is_refused_unread(piece):
    """Read, 64 MiB of them took 1.6 GB."""
    with pytest.raises(EndpointError, match="it: answered with more arrays than 4 instances need"):
        meaning({"votes": [piece] * 5000})


@pytest.mark.parametrize(
    ("reply", "kind", "values"),
    [
        ([0, 1, 1, 0], "labels", [0, 1, 1, 0]),
        ([0.0, 1.0, 1.0, 0.0], "labels", [0, 1, 1, 0]),
        (["yes", "no", "no", "no"], "labels", [1, 0, 0, 0]),
        ([["yes"], ["no"], ["no"], ["no"]], "labels", [1, 0, 0, 0]),
        ([0.25, 1.0, 0.5, 0.0], "probabilities", [0.25, 1.0, 0.5, 0.0]),
        ([[0.25]] * 4, "probabilities", [0.25] * 4),
        ([[0.25, 0.75], [1, 0]] * 2, "probabilities", [0.75, 0.0] * 2),
        ([[0, 1, 1]] * 4, "votes", [[0, 1, 1]] * 4),
        ([["no", "yes", "yes"]] * 4, "votes", [[0, 1, 1]] * 4),
        ([{"no": 0.25, "yes": 0.75}] * 4, "probabilities", [0.75] * 4),
        ([{"yes": 0.75, "no": 0.25}] * 4, "probabilities", [0.75] * 4),
        ([{"1": 0.75, "0": 0.25}] * 4, "probabilities", [0.75] * 4),
        ({"outputs": {"label": ["no"] * 4, "scores": [[0.75, 0.25]] * 4}}, "probabilities", [0.25] * 4),
        ({"predictions": [{"label": "no", "label_id": 0}] * 4}, "labels", [0] * 4),
        # The score is the label's; that of class 1; neither.
        (
            [{"label": "no", "score": 0.9}, {"label": "yes", "score": 0.6}] * 2,
            "probabilities",
            pytest.approx([0.1, 0.6] * 2),
        ),
        (
            [{"label": "no", "score": 0.1}, {"label": "yes", "score": 0.6}] * 2,
            "probabilities",
            [0.1, 0.6] * 2,
        ),
        ([{"label": "no", "score": 0.9}, {"label": "yes", "score": 0.3}] * 2, "labels", [0, 1] * 2),
    ],
)
def test_arrays_are_told_by_their_values(reply, kind, values):
    assert meaning(reply) == (kind, values)


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ([0.5, 1.5, 0, 0], "no votes, probabilities or labels of 'no' and 'yes'"),
        (["cat"] * 4, "no votes"),
        ([[0.25, 0.25, 0.5]] * 4, "no votes"),
        ([[0.5, 0.1]] * 4, "no votes"),
        ([None] * 4, "no votes"),
        ([{"a": 0.5, "b": 0.25}] * 4, "several arrays of probabilities, 'a', 'b': choose one by --json-path"),
        ([{"a": 0.5}] * 3 + [{"b": 0.5}], "different or too many keys"),
        ([{}] * 4, "answers"),
        ({"predictions": {"a": 1}}, "not a list"),
        ({"outputs": [{"name": "a", "shape": [3], "data": [0, 1, 1]}]}, "4 instances with 3"),
        ({"outputs": [{"name": "a", "shape": [4, 2], "data": [0, 1, 1]}]}, "another shape"),
        ({"outputs": [{"name": "a", "shape": ["x"], "data": [0, 1, 1]}]}, "another shape"),
    ],
)
def test_other_arrays_are_one_clear_line(reply, word):
    with pytest.raises(EndpointError, match=word) as refused:
        meaning(reply)
    assert str(refused.value).startswith("it: ")
    assert str(refused.value).isprintable()


def test_whole_scores_of_labels_are_scores():
    """Of the first rows all may be sure."""
    assert meaning([{"label": "no", "score": 1.0}, {"label": "yes", "score": 1.0}] * 2) == (
        "probabilities",
        [0.0, 1.0] * 2,
    )
    assert meaning([{"label": 0, "score": 1.0}, {"label": 1, "score": 1.0}] * 2)[1] == [0.0, 1.0] * 2

    def answer(model, method, path, document):  # numbers without a point, as some languages write them
        return [
            {"label": int(share > 0.5), "score": 1 if row != X[22].tolist() else 0.75}
            for row, (_, share) in zip(document, model.proba(document), strict=True)
        ]

    with Imitation(served(), answer, "/m") as server:
        wire = found(server.url)
        answers = ask(quick(server.url), X, class_names=CLASSES, wire=wire)
    assert (wire.name, answers.kind) == ("list", "probabilities")
    assert abs(answers.values[22] - 0.5) == 0.25
    assert np.isin(answers.values[:22], (0.0, 1.0)).all()


def test_probabilities_are_not_taken_for_names_of_the_other_classes():
    """In one class against all others, any other name would be class 0."""
    assert meaning([0.25, 1.0, 0.5, 1.0], class_names=("not 1", "1")) == (
        "probabilities",
        [0.25, 1.0, 0.5, 1.0],
    )


def test_batches_are_understood_together():
    """A batch that happens to hold whole probabilities only is none of labels."""

    def answer(model, method, path, document):
        rows = document["instances"]
        return {"predictions": [0.5 if row[0] == X[22, 0] else float(row[0] > 0.5) for row in rows]}

    with Imitation(served(), answer, "/m") as server:
        answers = ask(quick(server.url), X, class_names=CLASSES)
    assert answers.kind == "probabilities"
    assert answers.values[22] == 0.5


# --- places in JSON


@pytest.mark.parametrize("text", ["a..b", "a.", "[x]", "a[", "a]b", "a[1", "\n", "..", "a[*]b"])
def test_other_text_is_no_place(text):
    with pytest.raises(EndpointError, match="is no place in JSON"):
        read_path(text)


KEYS = st.text(st.characters(codec="utf-8", exclude_characters="[].*$", categories=["L", "N"]), min_size=1)


@given(st.lists(KEYS, max_size=4), st.integers())
@examples(50)
def test_a_part_is_found_where_it_was_placed(keys, part):
    path = read_path(".".join(keys))
    assert path == tuple(keys)
    assert part_at(placed_at(path, part), path) == part


def test_a_star_stands_for_every_entry():
    document = {"a": [{"b": [1, 2]}, {"b": [3, 4]}]}
    assert part_at(document, read_path("$.a[*].b[1]")) == [2, 4]
    assert part_at(document, read_path("a.*.b")) == [[1, 2], [3, 4]]
    assert part_at(document, read_path("$")) == document
    with pytest.raises(LookupError):
        part_at(document, read_path("a.b"))
