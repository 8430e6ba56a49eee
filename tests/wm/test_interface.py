"""The interface in a model's file: it is kept, checked, and in nobody's way."""

from __future__ import annotations

import numpy as np
import pytest

from wm.datasets.preparation import NumberColumn, Preparation
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import npz
from wm.formats.sklearn_metadata import read_arrays
from wm.interface import Interface, model_bytes, read_interface
from wm.testing import forest_of

FOREST = forest_of([(0, 0.5, 0, 1), (1, 0.5, 1, 0)], n_features=2, classes=[0, 1])
COLUMNS = tuple(NumberColumn(name=name) for name in "ab")
INTERFACE = Interface(class_names=("no", "yes"), preparation=Preparation(columns=COLUMNS))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "forest.npz"
    path.write_bytes(model_bytes(FOREST, INTERFACE))
    return path


def test_it_comes_back_and_readers_of_forests_do_not_see_it(file):
    assert read_interface(file, FOREST) == INTERFACE
    assert Forest.load(file).content_hash == FOREST.content_hash
    assert read_arrays(file).threshold.tolist() == FOREST.threshold.tolist()


def test_without_one_a_file_is_that_of_the_forest(tmp_path):
    path = tmp_path / "forest.npz"
    path.write_bytes(model_bytes(FOREST, None))
    assert path.read_bytes() == FOREST.to_bytes()
    assert read_interface(path, FOREST) is None
    assert read_interface(tmp_path / "forest.skops", FOREST) is None


def test_it_must_fit_the_forest(tmp_path, file):
    other = forest_of([0, 1], n_features=3, classes=[0, 1])
    with pytest.raises(ModelError, match="of 2 features and 2 classes, its trees are of 3 and 2"):
        model_bytes(other, INTERFACE)
    with pytest.raises(ModelError, match=r"forest\.npz: its interface is of 2 features"):
        read_interface(file, other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros(3), "is no text"),
        (np.frombuffer(b"{}", dtype=np.uint8), "is not valid: class_names: Field required"),
        (np.frombuffer(b"\xff\xfe", dtype=np.uint8), "is not valid"),
    ],
)
def test_a_damaged_one_is_refused_in_one_line(tmp_path, file, content, message):
    arrays = npz.unpack(file.read_bytes(), error=ModelError, what="w") | {"interface": content}
    file.write_bytes(npz.pack(arrays))
    with pytest.raises(ModelError, match=message) as caught:
        read_interface(file, FOREST)
    assert "\n" not in str(caught.value)
