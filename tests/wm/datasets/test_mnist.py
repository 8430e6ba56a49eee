import re

import numpy as np
import pytest

from wm.datasets.mnist import read_mnist26
from wm.errors import DataError


def test_twos_are_class_0_and_sixes_class_1_in_file_order(mnist):
    table = read_mnist26(mnist.folder, download=False, expected_sha256=mnist.sha256)
    with np.load(mnist.folder / "mnist26.npz", allow_pickle=False) as arrays:
        assert np.array_equal(table.X, arrays["X"])
        assert np.array_equal(table.labels.codes, arrays["y"] == 6)
    assert table.X.shape == mnist.shape
    assert table.labels.codes.sum() == mnist.sixes
    assert table.labels.classes == ("2", "6")
    assert table.feature_names[0] == "pixel1"
    assert table.feature_names[-1] == "pixel784"
    assert table.test_mask is None


def test_other_images_are_refused(mnist, tmp_path):
    with np.load(mnist.folder / "mnist26.npz", allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    X[3, 300] ^= 1
    path = tmp_path / "mnist26.npz"
    np.savez_compressed(path, X=X, y=y)
    with pytest.raises(DataError, match=re.escape(f"{path}: not the known 13,866 images")):
        read_mnist26(tmp_path, download=False, expected_sha256=mnist.sha256)


def test_without_file_and_download_the_error_names_the_directory(tmp_path):
    with pytest.raises(DataError, match=re.escape(f"downloads are off: put mnist26.npz into {tmp_path}")):
        read_mnist26(tmp_path, download=False)
