import numpy as np
from sklearn.datasets import load_breast_cancer

from wm.datasets import Source, load


def test_breast_cancer_is_scikit_learns(tmp_path):
    dataset = load(Source(name="breast-cancer"), data_dir=tmp_path / "not needed", download=False)
    bunch = load_breast_cancer()
    assert np.array_equal(dataset.X, bunch.data)
    assert np.array_equal(dataset.y, bunch.target)
    assert dataset.name == "breast-cancer"
    assert dataset.class_names == ("malignant", "benign")
    assert dataset.feature_names == tuple(bunch.feature_names)
    assert dataset.X.shape == (569, 30)
    assert not (tmp_path / "not needed").exists()


def test_the_other_class_can_be_the_positive_one():
    usual = load(Source(name="breast-cancer"))
    other = load(Source(name="breast-cancer", positive="malignant"))
    assert np.array_equal(other.y, 1 - usual.y)
    assert other.class_names == ("benign", "malignant")
    assert other.sha256 != usual.sha256
