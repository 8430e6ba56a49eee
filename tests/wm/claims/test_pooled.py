"""Claims of version 3: every field is bound, edited files are refused, the format is pinned by vectors."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.examples import examples
from tests.pools import header_of, own_receipt, pledge, rows_of, small_claim, witnessed
from tests.second_implementation import commitment_and_draw
from wm.claims.pooled import MAX_ROWS, MinMax, new_claim, parse_pooled
from wm.claims.reading import read_any_claim
from wm.datasets.preparation import CategoryColumn, NumberColumn, Preparation
from wm.errors import ClaimError
from wm.verification.samples import drawn, sample_of

TABLE = Preparation(
    columns=(
        NumberColumn(name="age", fill=0.5),
        CategoryColumn(kind="onehot", name="job", values=("cook", 'é, "judge"')),
    )
)
CLAIM = small_claim(5, trees=4, ones=2, preparation=MinMax(low=(0.0, -1.0, 0.5), span=(1.0, 2.0, 0.0)))
TEXT = CLAIM.to_json()
FREE = {"source"}
"""What no verdict reads."""


def refusal(text):
    with pytest.raises(ClaimError) as refused:
        sample_of(parse_pooled(text, what="the file"))
    line = str(refused.value)
    assert line.isprintable()
    return line


def leaves(value, place=()):
    """Yield the place of every text and number in a document."""
    parts = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if parts is None:
        yield place
        return
    for name, part in parts:
        yield from leaves(part, (*place, name))


def changed(place, value):
    """Return the claim's document with another value at a place."""
    document = json.loads(TEXT)
    part = document
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    return json.dumps(document)


def at(place):
    part = json.loads(TEXT)
    for name in place:
        part = part[name]
    return part


PLACES = [place for place in leaves(json.loads(TEXT)) if place[0] not in FREE]


# --- every field is bound


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@given(data=st.data())
@examples(25)
def test_a_claim_with_any_field_edited_is_refused(place, data):
    old = at(place)
    match old:
        case str():
            spot = data.draw(st.integers(0, len(old) - 1))
            new = old[:spot] + data.draw(st.sampled_from("0aAbQ/=. ")) + old[spot + 1 :]
            new = data.draw(st.sampled_from([new, old + "A", old[:-1], "", old.upper()]))
        case None:
            new = data.draw(st.sampled_from([0, "", {}]))
        case _:
            new = data.draw(
                st.one_of(st.integers(-2, 10), st.floats(-2, 2), st.sampled_from([True, None, "1", [], {}]))
            )
    if new == old and type(new) is not bool:
        return
    refusal(changed(place, new))


@given(spot=st.integers(0, len(TEXT) - 1), byte=st.characters(min_codepoint=32, max_codepoint=126))
@examples(400)
def test_a_claim_file_with_any_byte_edited_is_refused_or_means_the_same(spot, byte):
    try:
        read = parse_pooled(TEXT[:spot] + byte + TEXT[spot + 1 :])
        drawn(read)
    except ClaimError:
        return
    same = read.model_copy(update={"source": CLAIM.source, "receipts": CLAIM.receipts})
    assert same == CLAIM
    assert drawn(read)[0] == drawn(CLAIM)[0]


@pytest.mark.parametrize("name", sorted(json.loads(TEXT)))
def test_a_claim_without_a_field_is_refused_or_means_the_same(name):
    document = json.loads(TEXT)
    del document[name]
    if name in ("format", "version", "source"):
        assert parse_pooled(json.dumps(document)) == CLAIM
    else:
        refusal(json.dumps(document))


@pytest.mark.parametrize("place", [(), ("header",), ("header", "preparation"), ("receipts", 0)])
def test_an_unknown_field_is_refused(place):
    assert "Extra" in refusal(changed((*place, "more"), 1))


def test_rows_and_labels_are_bound_to_their_order():
    document = json.loads(TEXT)
    X = CLAIM.X[[1, 0, *range(2, len(CLAIM.X))]]
    document["rows"] = base64.b64encode(X.tobytes()).decode()
    assert "does not fit" in refusal(json.dumps(document))


def test_base64_text_has_one_form_only():
    # The last digit of a text that ends in padding has bits that stand for nothing.
    assert CLAIM.labels.endswith("=")
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = CLAIM.labels.rstrip("=")[-1]
    twin = CLAIM.labels.replace(f"{last}=", f"{digits[digits.index(last) + 1]}=")
    assert base64.b64decode(twin) == base64.b64decode(CLAIM.labels)
    assert "base64" in refusal(changed(("labels",), twin))


@given(st.permutations(sorted(json.loads(TEXT)["header"])))
def test_the_order_of_the_headers_fields_in_the_file_does_not_matter(names):
    document = json.loads(TEXT)
    document["header"] = {name: document["header"][name] for name in names}
    assert parse_pooled(json.dumps(document, indent=3)) == CLAIM


# --- impossible pools


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ones": 7}, "more ones"),
        ({"trigger_size": 6}, "no rows beside"),
        ({"pool_size": 5}, "no pool of 5"),
        ({"class_names": ("a", "a")}, "given twice"),
        ({"feature_names": ("a", "a", "b")}, "given twice"),
        ({"feature_names": ("a", "b")}, "features are named"),
        ({"domain": ((0.0, 1.0), (0.0, 1.0), (0.0, 0.5))}, "outside the domain"),
        ({"domain": ((0.0, 1.0), (0.0, 1.0), (1.0, 0.0))}, "outside the domain"),
        ({"preparation": MinMax(low=(0.0,), span=(1.0,))}, "features are named"),
        ({"preparation": Preparation(columns=(NumberColumn(name="x0"),))}, "makes other features"),
        (
            {"preparation": TABLE.model_copy(update={"scaling": MinMax(low=(0.0,), span=(1.0,))})},
            "scaling of another number",
        ),
    ],
)
def test_impossible_headers_are_refused(change, message):
    X = rows_of(6)
    with pytest.raises((ClaimError, ValueError), match=message):
        new_claim(header_of(X, **change), X, np.arange(6) % 2)


@pytest.mark.parametrize("label", [-1, 2, 255, 256, 10**9])
def test_labels_other_than_0_and_1_are_refused(label):
    y = np.arange(6) % 2
    y[3] = label
    with pytest.raises(ClaimError, match="labels"):
        pledge(rows_of(6), y)


def test_a_row_that_occurs_twice_is_refused_whatever_the_sign_of_its_zeros():
    X = rows_of(6)
    X[2], X[4] = (0.0, 0.5, 0.5), (-0.0, 0.5, 0.5)
    with pytest.raises(ClaimError, match="twice"):
        pledge(X, np.arange(6) % 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.5])
def test_a_value_that_no_domain_holds_is_refused(value):
    X = rows_of(6)
    header = header_of(X)
    X[3, 1] = value
    with pytest.raises(ClaimError, match="outside the domain"):
        new_claim(header, X, np.arange(6) % 2)


def test_different_numbers_of_rows_and_labels_are_refused():
    X = rows_of(6)
    with pytest.raises(ClaimError, match="labels"):
        new_claim(header_of(X), X, np.arange(5) % 2)


# --- commitments hide and separate


def test_equal_pools_get_different_commitments():
    X, y = rows_of(6), np.arange(6) % 2
    assert len({pledge(X, y).commitment for _ in range(20)}) == 20


def test_a_file_survives_being_written_and_read(tmp_path):
    (tmp_path / "claim.json").write_text(TEXT)
    claim = read_any_claim(tmp_path / "claim.json")
    assert claim == CLAIM
    assert np.array_equal(claim.X, CLAIM.X)


# --- a second implementation

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.floats(-(2.0**100), 2.0**100, width=32)


@st.composite
def claims(draw):
    features, trees = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    rows = draw(st.lists(st.tuples(*[values] * features), min_size=2, max_size=9, unique=True))
    X = np.array(rows, dtype=np.float32)
    size = len(X)
    prepared = draw(st.booleans())
    numbers = st.lists(st.floats(0, 1e300), min_size=features, max_size=features).map(tuple)
    claim = pledge(
        X,
        draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)),
        salt=draw(st.binary(min_size=32, max_size=32)),
        secret=draw(st.binary(min_size=32, max_size=32)),
        trees=trees,
        ones=draw(st.integers(0, trees)),
        trigger_size=draw(st.integers(1, size - 1)),
        scheme="paper",
        model_id=draw(texts),
        class_names=tuple(draw(st.lists(texts, min_size=2, max_size=2, unique=True))),
        feature_names=tuple(draw(st.lists(texts, min_size=features, max_size=features, unique=True))),
        preparation=MinMax(low=draw(numbers), span=draw(numbers)) if prepared else None,
    )
    return witnessed(claim, *([own_receipt()] if draw(st.booleans()) else []))


@given(claims())
@examples(1000)
def test_a_second_implementation_agrees_on_commitment_and_draw(claim):
    commitment, triggers, bits = commitment_and_draw(claim.to_json())
    found, _ = drawn(parse_pooled(claim.to_json()))
    assert claim.commitment == commitment
    assert (list(found.triggers), list(found.signature.bits)) == (triggers, bits)


# --- the format, pinned: these literals change only with the format's version

VECTOR = {
    "format": "treeproof-claim",
    "version": 3,
    "header": {
        "scheme": "paper",
        "trees": 8,
        "ones": 4,
        "trigger_size": 2,
        "pool_size": 6,
        "owner": "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c",
        "model_id": "Prüfling 1",
        "class_names": ["no", "yes"],
        "feature_names": ["age", "größe"],
        "domain": [[-1.5, 4.0], [0.0, 0.10000000149011612]],
        "preparation": {"low": [1e-07, 0.0], "span": [1e22, 3.0]},
    },
    "rows": "AADAv83MzD0AAAAAAAAAAAAAgD/NzEw9AAAAQM3MzD0AAEBAAAAAAAAAgEDNzMw8",
    "labels": "AAEAAQAB",
    "salt": "11" * 32,
    "secret": "22" * 32,
    "commitment": "a13ddff8fcd19099381849c1b0fad69f4d8eacbfd970f7fd16e2bb0beee113a7",
    "receipts": [{"kind": "none", "content": "33" * 32}],
    "source": None,
}


def test_the_format_is_pinned():
    text = json.dumps(VECTOR)
    read = parse_pooled(text)
    found, _ = drawn(read)
    assert read.X.tolist()[0] == [-1.5, 0.10000000149011612]
    assert read.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert found.triggers == (4, 5)
    assert str(found.signature) == "01110010"
    assert commitment_and_draw(text) == (VECTOR["commitment"], [4, 5], [0, 1, 1, 1, 0, 0, 1, 0])
    assert json.loads(read.to_json()) == VECTOR


def test_the_hashed_header_is_canonical_json():
    assert parse_pooled(json.dumps(VECTOR)).header.canonical() == (
        b'{"class_names":["no","yes"],"domain":[[-1.5,4.0],[0.0,0.10000000149011612]],'
        b'"feature_names":["age","gr\\u00f6\\u00dfe"],"model_id":"Pr\\u00fcfling 1","ones":4,'
        b'"owner":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c","pool_size":6,'
        b'"preparation":{"low":[1e-07,0.0],"span":[1e+22,3.0]},"scheme":"paper","trees":8,"trigger_size":2}'
    )


# --- hostile sizes are refused before they cost memory or time


def test_a_claim_that_nobody_could_read_is_refused_where_it_is_made(monkeypatch):
    X = rows_of(6)
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", 500)
    with pytest.raises(ClaimError, match=r"more than the 500 that are read: choose a smaller pool$"):
        new_claim(header_of(X), X, np.arange(6) % 2)


def test_a_claim_of_too_many_parts_is_refused_before_it_is_parsed(monkeypatch, tmp_path):
    monkeypatch.setattr("wm.claims.document.MAX_PARTS", 100)
    text = TEXT.rstrip()[:-1] + ', "more": [' + "0," * 100 + "0]}"
    assert "more than the 100" in refusal(text)
    (tmp_path / "claim.json").write_text(text)
    with pytest.raises(ClaimError, match="more than the 100"):
        read_any_claim(tmp_path / "claim.json")


@pytest.mark.parametrize("size", [MAX_ROWS + 1, 2**60])
def test_a_pool_of_too_many_rows_is_refused_even_where_few_are_opened(size):
    assert "pool_size" in refusal(changed(("header", "pool_size"), size))


def test_a_pool_of_too_many_numbers_is_refused():
    with pytest.raises(ValueError, match="more than a judge reads"):
        header_of(
            rows_of(34, 2),
            pool_size=2**18,
            feature_names=tuple(map(str, range(97))),
            domain=((0.0, 1.0),) * 97,
        )


def test_rows_of_another_number_than_the_headers_are_not_decoded():
    assert "does not hold 5 rows" in refusal(changed(("rows",), CLAIM.rows + "AAAA" * 1000))


def test_a_row_of_a_hundred_thousand_features_is_read():
    X = np.random.default_rng(0).random((3, 10**5)).astype(np.float32)
    claim = witnessed(pledge(X, [0, 1, 0], trigger_size=1))
    assert sample_of(parse_pooled(claim.to_json())).X.shape == (3, 10**5)


def test_a_preparation_of_raw_columns_is_committed_and_comes_back():
    claim = small_claim(5, trees=4, ones=2, preparation=TABLE, feature_names=TABLE.feature_names)
    text = claim.to_json()
    assert parse_pooled(text) == claim
    assert parse_pooled(text).header.preparation == TABLE
    for old, new in {'"fill": 0.5': '"fill": 0.25', '"cook"': '"chef"', '"onehot"': '"ordinal"'}.items():
        assert old in text
        with pytest.raises(ClaimError, match=r"the commitment does not fit|makes other features|domain"):
            parse_pooled(text.replace(old, new))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"ones": 0}, "both zeros and ones"),
        ({"ones": 6}, "both zeros and ones"),
        ({"trees": 100_000, "ones": 1, "trigger_size": 22}, "bits, the largest codebook"),
    ],
)
def test_a_codebook_that_says_nothing_or_takes_too_long_is_refused(changes, fault):
    header_of(rows_of(30), scheme="codebook")
    with pytest.raises(ValidationError, match=fault):
        header_of(rows_of(30), scheme="codebook", **changes)
