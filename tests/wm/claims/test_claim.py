"""Claims: files are read as they were written; edited, damaged or false ones are refused with one line."""

from __future__ import annotations

import copy
import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.claims.claim import (
    NONCE_BYTES,
    Claim,
    TriggerSet,
    check_claim,
    commitment_of,
    make_claim,
    parse_claim,
    read_claim,
)
from wm.codebook import Codebook
from wm.errors import ClaimError
from wm.signature import Signature

NONCE = bytes(range(NONCE_BYTES))
ROWS = np.array([[0.5, 0.25, 0.1], [0.0, 1.0, 0.7], [1.0, 0.0, 0.3]], dtype=np.float32)
LABELS = np.array([0, 1, 1])


def claim_of(**changes):
    """Return one fixed claim, with changes."""
    parts = {
        "scheme": "paper",
        "signature": Signature.of("0110"),
        "X": ROWS,
        "y": LABELS,
        "model_hash": "ab" * 32,
        "model_id": "forest-1",
        "class_names": ("benign", "malignant"),
        "nonce": NONCE,
        "created": "2024-05-06T07:08:09+00:00",
    }
    return make_claim(**parts | changes)


CLAIM = claim_of(version=1)
TEXT = CLAIM.to_json()


def refusal(text):
    """Return the one line with which a claim's text is refused."""
    with pytest.raises(ClaimError) as refused:
        parse_claim(text, what="the file")
    line = str(refused.value)
    assert line.startswith("the file: ")
    assert line.isprintable()
    return line


def edited(edit):
    """Return the fixed claim's text after an edit of its JSON."""
    content = copy.deepcopy(json.loads(TEXT))
    edit(content)
    return json.dumps(content)


def check_outcome(text):
    """Check that a text is refused with one line, or commits to the same as the fixed claim."""
    try:
        claim = parse_claim(text, what="the file")
    except ClaimError:
        refusal(text)
    else:
        assert (claim.format, claim.version) == (CLAIM.format, CLAIM.version)
        assert (claim.signature, claim.nonce, claim.commitment) == (
            CLAIM.signature,
            CLAIM.nonce,
            CLAIM.commitment,
        )
        assert claim.trigger_set == CLAIM.trigger_set


# --- round trip

numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
text = st.text(st.characters(codec="utf-8"), max_size=10)


@st.composite
def made_claims(draw):
    """Draw a valid claim."""
    d = draw(st.integers(1, 4))
    row = st.tuples(*[numbers] * d)
    rows = draw(
        st.lists(row, min_size=1, max_size=5, unique_by=lambda row: tuple(value + 0.0 for value in row))
    )
    labels = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    return make_claim(
        scheme=draw(text),
        signature=Signature.of(draw(st.text("01", min_size=1, max_size=12))),
        X=np.array(rows, dtype=np.float32),
        y=np.array(labels),
        model_hash=draw(text),
        model_id=draw(text),
        class_names=draw(st.tuples(text, text)),
        nonce=draw(st.none() | st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES)),
        created=draw(st.none() | text),
        version=draw(st.sampled_from([1, 2])),
    )


@examples(50)
@given(made_claims())
def test_round_trip(claim):
    again = parse_claim(claim.to_json())
    assert again == claim
    assert again.to_json() == claim.to_json()
    assert parse_claim(claim.to_json().encode()) == claim


def test_round_trip_through_a_file(tmp_path):
    path = tmp_path / "claim.json"
    path.write_text(TEXT)
    claim = read_claim(path)
    assert claim == CLAIM
    assert read_claim(str(path)) == CLAIM
    assert claim.bits == Signature.of("0110")
    assert claim.trigger_set.X.dtype == np.float32
    np.testing.assert_array_equal(claim.trigger_set.X, ROWS)
    np.testing.assert_array_equal(claim.trigger_set.y, LABELS)


def test_equivalent_json_is_the_same_claim():
    reordered = dict(reversed(json.loads(TEXT).items()))
    assert parse_claim(json.dumps(reordered, indent=None, separators=(",", ":"))) == CLAIM
    assert parse_claim(TEXT.replace("0.25", "25e-2").replace("1.0", "1")) == CLAIM


def test_a_claim_cannot_be_changed_in_memory():
    with pytest.raises(ValueError, match="frozen"):
        CLAIM.signature = "1111"


# --- the commitment


def test_the_commitment_is_the_documented_hash():
    hashed = b"treeproof/claim/v1\x00" + b"0110" + b"\x00" + struct.pack("<qq", 3, 3)
    hashed += struct.pack("<9f", *ROWS.ravel()) + bytes([0, 1, 1]) + NONCE
    assert CLAIM.commitment == hashlib.sha256(hashed).hexdigest()
    assert CLAIM.commitment == "a0ae36c46d82b86cccc7723fa3fc3ca38973c454075e788e6f1a535f01b9a5cf"


def test_every_claim_draws_a_new_nonce():
    first, second = claim_of(nonce=None), claim_of(nonce=None)
    assert first.nonce != second.nonce
    assert first.commitment != second.commitment
    assert len(bytes.fromhex(first.nonce)) == NONCE_BYTES


def test_rows_of_other_shapes_never_share_a_commitment():
    values = np.arange(6, dtype=np.float32)
    shapes = [(1, 6), (2, 3), (3, 2), (6, 1)]
    sets = [
        TriggerSet(rows=tuple(map(tuple, values.reshape(shape).tolist())), labels=(0,) * shape[0])
        for shape in shapes
    ]
    assert len({commitment_of(Signature.of("01"), trigger_set, NONCE) for trigger_set in sets}) == len(shapes)


# --- edits


def swap_rows(content):
    rows = content["trigger_set"]["rows"]
    rows[0], rows[1] = rows[1], rows[0]


def swap_rows_and_labels(content):
    swap_rows(content)
    content["trigger_set"]["labels"] = [1, 0, 1]


def flip_bit(position):
    def edit(content):
        bits = list(content["signature"])
        bits[position] = "10"[int(bits[position])]
        content["signature"] = "".join(bits)

    return edit


def nudge_value(content):
    content["trigger_set"]["rows"][1][2] = float(np.nextafter(np.float32(0.7), np.float32(1)))


def drop_feature(content):
    for row in content["trigger_set"]["rows"]:
        del row[-1]


def drop_row(content):
    del content["trigger_set"]["rows"][0], content["trigger_set"]["labels"][0]


def flip_nonce(content):
    content["nonce"] = "ff" + content["nonce"][2:]


def flip_commitment(content):
    content["commitment"] = "0" * 64


UNFIT = "the commitment does not fit"


@pytest.mark.parametrize(
    "edit",
    [
        *(flip_bit(position) for position in range(4)),
        lambda content: content.update(signature="01100"),
        lambda content: content.update(signature="011"),
        nudge_value,
        lambda content: content["trigger_set"]["rows"][1].__setitem__(0, -0.0),
        swap_rows,
        swap_rows_and_labels,
        drop_feature,
        drop_row,
        lambda content: content["trigger_set"]["labels"].__setitem__(0, 1),
        flip_nonce,
        flip_commitment,
        lambda content: content.update(commitment=content["commitment"].upper()),
        lambda content: content.update(commitment=""),
    ],
)
def test_an_edit_breaks_the_commitment(edit):
    assert UNFIT in refusal(edited(edit))


def put(*path_and_value):
    *path, last, value = path_and_value

    def edit(content):
        for key in path:
            content = content[key]
        content[last] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("format", "other-claim"), "format"),
        (put("version", 3), "version"),
        (put("version", 2), "the commitment does not fit"),
        (put("version", "1"), "version"),
        (put("version", None), "version"),
        (put("signature", ""), "signature"),
        (put("signature", "01 0"), "signature"),
        (put("signature", "0120"), "signature"),
        (put("signature", "0110\n"), "signature"),
        (put("signature", "\u0660\u0661\u0661\u0660"), "signature"),  # digits that int() would read as 0110
        (put("signature", [0, 1, 1, 0]), "signature"),
        (put("nonce", ""), "nonce"),
        (put("nonce", "zz" * NONCE_BYTES), "nonce"),
        (put("nonce", NONCE.hex().upper()), "nonce"),
        (put("nonce", NONCE.hex() + " "), "nonce"),
        (put("nonce", NONCE.hex()[2:]), "nonce"),
        (put("commitment", None), "commitment"),
        (put("trigger_set", None), "trigger_set"),
        (put("trigger_set", "rows", []), "trigger_set.rows"),
        (put("trigger_set", "rows", [[], [], []]), "equally long, or empty"),
        (put("trigger_set", "rows", 1, [0.0]), "equally long"),
        (put("trigger_set", "rows", 1, "012"), "trigger_set.rows.1"),
        (put("trigger_set", "rows", 1, 1, None), "trigger_set.rows.1.1"),
        (put("trigger_set", "rows", 1, 1, "1.0"), "trigger_set.rows.1.1"),
        (put("trigger_set", "rows", 1, 1, True), "trigger_set.rows.1.1"),
        (put("trigger_set", "rows", 1, ROWS[0].tolist()), "occurs twice"),
        (put("trigger_set", "rows", 0, 0, 0.1), "not a float32"),  # nearest double, no float32
        (put("trigger_set", "rows", 0, 0, 1e39), "not a float32"),
        (put("trigger_set", "rows", 0, 0, 1e-60), "not a float32"),
        (put("trigger_set", "rows", 0, 0, 2**24 + 1), "not a float32"),
        (put("trigger_set", "rows", 0, 0, 10**400), "trigger_set.rows.0.0"),
        (put("trigger_set", "labels", [0, 1]), "3 trigger rows have 2 labels"),
        (put("trigger_set", "labels", []), "3 trigger rows have 0 labels"),
        (put("trigger_set", "labels", [0, 1, 1, 1]), "3 trigger rows have 4 labels"),
        *(
            (put("trigger_set", "labels", 2, label), "trigger_set.labels.2")
            for label in (-1, 0.5, True, "1", None)
        ),
        (put("trigger_set", "labels", 2, 2), "a label is none of the 2 classes that are named"),
        (put("trigger_set", "weights", [1]), "trigger_set.weights"),
        (put("class_names", ["one"]), "class_names"),
        (put("class_names", ["a", 1]), "class_names"),
        (put("created", 5), "created"),
        (put("extra", 1), "extra"),
        (put("evil\nkey\x1b[2J", 1), r"evil\nkey"),
    ],
)
def test_a_malformed_claim_is_refused_with_its_place(edit, reason):
    assert reason in refusal(edited(edit))


@pytest.mark.parametrize("key", sorted(Claim.model_fields.keys() - {"format", "version", "expected_ones"}))
def test_a_missing_key_is_refused(key):
    assert key in refusal(edited(lambda content: content.pop(key)))


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "9" * 5000, "0x1", "01", "1_0"]
)
def test_numbers_that_are_not_finite_decimals_are_refused(number):
    assert TEXT.count("0.25") == 1
    refusal(TEXT.replace("0.25", number))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "[]",
        "{}",
        "5",
        '"claim"',
        "[" * 100_000,
        '{"signature":' * 100_000,
        '{"trigger_set": {"rows": ' + "[" * 100_000 + "]" * 100_000 + "}}",
        TEXT + TEXT,
        TEXT + "x",
        TEXT.replace('"forest-1"', r'"\ud800"'),
        "\ufeff" + TEXT,
        b"\xff" + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.replace("forest-1", "forest\n1"),
    ],
)
def test_texts_that_are_no_claims_are_refused(text):
    assert "not a valid claim" in refusal(text)


def test_every_truncated_file_is_refused():
    whole = TEXT.rstrip()
    for length in range(len(whole)):
        refusal(whole[:length])


@examples(400)
@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_damaged_bytes_are_refused_or_leave_the_committed_fields_unchanged(flips):
    damaged = bytearray(TEXT.encode())
    for position, value in flips:
        damaged[position] = value
    check_outcome(bytes(damaged))


@given(
    st.integers(0, len(TEXT)), st.integers(0, len(TEXT)), st.text('0123456789.-eE[]{},:"\\ \n', max_size=4)
)
def test_spliced_text_is_refused_or_leaves_the_committed_fields_unchanged(start, end, new):
    check_outcome(TEXT[:start] + new + TEXT[end:])


@given(st.one_of(st.binary(), st.text()))
def test_arbitrary_input_is_refused(content):
    refusal(content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLACES = [
    *((name,) for name in ("format", "version", "signature", "trigger_set", "nonce", "commitment")),
    *(("trigger_set", name) for name in ("rows", "labels")),
    *(("trigger_set", name, 1) for name in ("rows", "labels")),
    ("trigger_set", "rows", 2, 0),
]


@given(st.sampled_from(PLACES), json_values)
def test_other_values_are_refused_or_leave_the_committed_fields_unchanged(place, value):
    check_outcome(edited(put(*place, value)))


# --- making and reading


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"X": ROWS.astype(np.float64) + 0.1}, "not a float32"),
        ({"X": ROWS[[0, 1, 0]]}, "occurs twice"),
        ({"X": np.empty((0, 3), dtype=np.float32), "y": LABELS[:0]}, "rows"),
        ({"X": np.empty((3, 0), dtype=np.float32)}, "empty"),
        ({"X": ROWS[:2]}, "2 trigger rows have 3 labels"),
        ({"X": np.full((1, 2), np.nan, dtype=np.float32), "y": LABELS[:1]}, "finite"),
        ({"y": np.array([0, 1, 2])}, "a label is none of the 2 classes"),
        ({"nonce": b"short"}, "nonce"),
    ],
)
def test_the_owner_cannot_make_a_claim_that_would_be_refused(changes, reason):
    with pytest.raises(ClaimError, match=reason) as refused:
        claim_of(**changes)
    assert str(refused.value).isprintable()


def test_rows_equal_but_for_the_sign_of_zero_are_the_same_row():
    with pytest.raises(ClaimError, match="occurs twice"):
        claim_of(X=np.array([[0.0], [-0.0]], dtype=np.float32), y=LABELS[:2])


def test_an_edited_copy_of_a_claim_is_refused():
    check_claim(CLAIM)
    with pytest.raises(ClaimError, match=UNFIT):
        check_claim(CLAIM.model_copy(update={"signature": "1001"}))


def test_a_missing_claim_file_is_refused(tmp_path):
    path = tmp_path / "none.json"
    with pytest.raises(ClaimError, match=r"none\.json: cannot be read \(No such file or directory\)$"):
        read_claim(path)
    with pytest.raises(ClaimError, match="cannot be read"):
        read_claim(tmp_path)


def test_a_claim_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "claim.json"
    path.write_text(TEXT)
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", len(TEXT) - 1)
    with pytest.raises(ClaimError, match=f"larger than the {len(TEXT) - 1} bytes"):
        read_claim(path)


def test_a_claim_that_nobody_could_read_is_not_written(monkeypatch):
    claim = parse_claim(TEXT)
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", len(claim.to_json()))
    assert claim.to_json()
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", len(claim.to_json()) - 1)
    with pytest.raises(ClaimError, match=r"that are read: choose a smaller pool"):
        claim.to_json()


def test_a_refused_file_is_named(tmp_path):
    path = tmp_path / "edited.json"
    path.write_text(edited(flip_bit(0)))
    with pytest.raises(ClaimError, match=r"edited\.json: the commitment does not fit"):
        read_claim(path)


def test_an_endless_file_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", 1000)
    with pytest.raises(ClaimError, match="/dev/zero: larger than the 1000 bytes that a claim may have"):
        read_claim("/dev/zero")


# --- codebooks

BOOK = Codebook.of(["0110", "0001", "1000"], expected_ones=1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_claim_holds_a_codebook(version):
    claim = make_claim(
        scheme="codebook",
        signature=BOOK,
        X=np.arange(6, dtype=np.float32).reshape(3, 2),
        y=np.array([0, 1, 1]),
        model_hash="0" * 64,
        model_id="m",
        class_names=("no", "yes"),
        nonce=bytes(32),
        version=version,
    )
    assert parse_claim(claim.to_json()).bits == BOOK
    edited = claim.model_copy(update={"expected_ones": 2}).to_json()
    with pytest.raises(ClaimError, match="the commitment does not fit"):
        parse_claim(edited)
    shorter = claim.model_copy(update={"signature": claim.signature[:-1]}).to_json()
    with pytest.raises(ClaimError, match="11 bits are not 3 rows"):
        parse_claim(shorter)


def test_a_signature_is_written_without_a_chance():
    assert "expected_ones" not in TEXT
