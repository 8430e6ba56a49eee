import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.datasets.labels import Labels, chosen_classes, encode_labels
from wm.errors import DataError


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=30))
def test_codes_name_every_rows_class_in_numeric_order(values):
    labels = encode_labels(np.array(values, dtype=np.int64), where="w")
    assert [int(labels.classes[code]) for code in labels.codes] == values
    assert [int(name) for name in labels.classes] == sorted(set(values))


@given(st.lists(st.sampled_from(["cat", "dog", "Eel", "10", "9"]), min_size=1, max_size=30))
def test_text_labels_keep_their_names_and_sort_alphabetically(values):
    values = [*values, "cat"]
    labels = encode_labels(np.array(values), where="w")
    assert [labels.classes[code] for code in labels.codes] == values
    assert list(labels.classes) == sorted(set(values))


def test_spellings_of_one_number_are_one_class():
    labels = encode_labels(np.array(["+1", "-1.0", "1", " 1.00", "-1", "2.5"]), where="w")
    assert labels.classes == ("-1", "1", "2.5")
    assert labels.codes.tolist() == [1, 0, 1, 1, 0, 2]


def test_numbers_sort_as_numbers_not_as_text():
    assert encode_labels(np.array(["10", "9"]), where="w").classes == ("9", "10")
    assert encode_labels(np.array([10.0, 9.0]), where="w").classes == ("9", "10")


def test_booleans_are_classes():
    assert encode_labels(np.array([True, False]), where="w").classes == ("False", "True")


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (np.array([1.0, np.nan]), 2),
        (np.array([np.inf, 0.0]), 1),
        (np.array(["a", "b", " "]), 3),
        (np.array(["a", "NaN", "b"]), 2),
        *((np.array(["a", "b", text]), 3) for text in ("?", "na", "N/A", "null", "#N/A", "<NA>")),
    ],
)
def test_a_missing_label_is_refused_with_its_row(values, row):
    with pytest.raises(DataError, match=f"w: row {row}: the label is missing"):
        encode_labels(values, where="w")


def test_labels_of_other_types_are_refused():
    with pytest.raises(DataError, match="complex128 are neither numbers nor text"):
        encode_labels(np.array([1j, 2j]), where="w")


def test_chosen_classes_take_their_order_or_the_wanted_one():
    labels = Labels(np.array([0, 1, 1]), ("no", "yes"))
    y, names = chosen_classes(labels, positive=None, where="w")
    assert (y.tolist(), names) == ([0, 1, 1], ("no", "yes"))
    y, names = chosen_classes(labels, positive="no", where="w")
    assert (y.tolist(), names) == ([1, 0, 0], ("yes", "no"))


@given(st.lists(st.integers(0, 4), min_size=5, max_size=30).filter(lambda codes: len(set(codes)) > 2))
def test_one_class_against_all_others(codes):
    labels = encode_labels(np.array(codes), where="w")
    wanted = codes[0]
    y, names = chosen_classes(labels, positive=f"{wanted}.0", where="w")
    assert y.tolist() == [int(code == wanted) for code in codes]
    assert names == (f"not {wanted}", str(wanted))
    y, names = chosen_classes(labels, positive=None, where="w")
    assert names == tuple(map(str, sorted(set(codes))))
    assert [names[code] for code in y] == list(map(str, codes))


def test_a_class_that_no_row_has_does_not_count():
    labels = Labels(np.array([0, 2]), ("a", "b", "c"))
    y, names = chosen_classes(labels, positive=None, where="w")
    assert (y.tolist(), names) == ([0, 1], ("a", "c"))
    with pytest.raises(DataError, match=re.escape("positive = 'b' is not one of the classes 'a', 'c'")):
        chosen_classes(labels, positive="b", where="w")


def test_labels_that_are_quantities_are_no_classes():
    labels = encode_labels(np.arange(101), where="w")
    with pytest.raises(DataError, match=r"w: 101 classes, '0', .*: a model has at most 100; .*positive ="):
        chosen_classes(labels, positive=None, where="w")
    assert chosen_classes(labels, positive="7", where="w")[1] == ("not 7", "7")


def test_one_class_only_is_refused():
    with pytest.raises(DataError, match="w: all rows have the same label 'a'"):
        chosen_classes(Labels(np.array([0, 0]), ("a",)), positive=None, where="w")
