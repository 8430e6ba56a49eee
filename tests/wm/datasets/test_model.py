import sys

import numpy as np
import pytest

from tests import ending
from wm.datasets import Dataset, Source, load


@pytest.fixture
def dataset():
    return Dataset("a", np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), ("n", "p"), ("f", "g"))


@pytest.mark.parametrize(
    "change",
    [
        {"X": np.array([[1.0, 2.0], [3.0, 5.0]])},
        {"y": np.array([1, 0])},
        {"class_names": ("p", "n")},
        {"feature_names": ("g", "f")},
        {"test_mask": np.array([False, True])},
    ],
)
def test_the_hash_covers_everything_except_the_name(dataset, change):
    facts = {
        "name": "b",
        "X": dataset.X.copy(order="F"),
        "y": dataset.y,
        "class_names": dataset.class_names,
        "feature_names": dataset.feature_names,
    }
    assert Dataset(**facts).sha256 == dataset.sha256
    assert Dataset(**(facts | change)).sha256 != dataset.sha256


def test_arrays_cannot_be_written_to():
    loaded = load(Source(name="breast-cancer"))
    for array in (loaded.X, loaded.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_importing_the_package_does_not_import_the_heavy_libraries():
    heavy = {"sklearn", "pandas", "scipy"}
    script = f"import sys, wm.datasets, wm.embedding.tuning; print({heavy} & set(sys.modules))"
    answer = ending.run([sys.executable, "-c", script])
    assert answer.stdout.strip() == "set()"
