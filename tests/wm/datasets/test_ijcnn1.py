import bz2
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils import resample

from wm.datasets import Dataset, split
from wm.datasets.ijcnn1 import git_blob_sha1, read_ijcnn1
from wm.errors import DataError


def offer(server, case):
    """Put the two files where the recipe's site has them."""
    for name, text in zip((case.recipe.train_file, case.recipe.test_file), case.texts, strict=True):
        server.files[f"/{name}"] = bz2.compress(text, 1)
    return replace(case.recipe, site=server.url)


def test_the_papers_rows_are_drawn(ijcnn1):
    table = read_ijcnn1(ijcnn1.folder, download=False, recipe=ijcnn1.recipe)
    n = ijcnn1.recipe.n_drawn
    assert table.X.shape == (2 * n, 22)
    assert table.labels.classes == ("-1", "1")
    assert (table.labels.codes[:n].sum(), table.labels.codes[n:].sum()) == ijcnn1.positives
    assert table.test_mask is not None
    assert table.test_mask.tolist() == [False] * n + [True] * n
    with np.load(ijcnn1.folder / "ijcnn1.npz", allow_pickle=False) as arrays:
        drawn = resample(
            arrays["X_train"][: ijcnn1.recipe.n_train], n_samples=n, replace=False, random_state=7
        )
    assert np.array_equal(table.X[:n].astype(np.float32), drawn)


def test_the_sites_text_gives_the_same_rows_and_is_kept(ijcnn1, server, tmp_path):
    recipe = offer(server, ijcnn1)
    from_npz = read_ijcnn1(ijcnn1.folder, download=False, recipe=ijcnn1.recipe)
    for download in (True, False):
        from_text = read_ijcnn1(tmp_path / "cache", download=download, recipe=recipe)
        assert from_text.X.tobytes() == from_npz.X.tobytes()
        assert np.array_equal(from_text.labels.codes, from_npz.labels.codes)
    assert server.asked == ["/ijcnn1.tr.bz2", "/ijcnn1.t.bz2"]


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-20], lambda packed: b"BZh9 and more", bz2.compress]
)
def test_a_tampered_download_is_refused_and_not_kept(ijcnn1, server, tmp_path, damage):
    recipe = offer(server, ijcnn1)
    server.files["/ijcnn1.tr.bz2"] = damage(server.files["/ijcnn1.tr.bz2"])
    with pytest.raises(DataError, match=r"ijcnn1\.tr\.bz2: (not the known file|damaged compressed file)"):
        read_ijcnn1(tmp_path / "cache", download=True, recipe=recipe)
    assert not (tmp_path / "cache").exists()


def test_a_kept_file_that_was_damaged_later_is_named(ijcnn1, tmp_path):
    path = tmp_path / "ijcnn1.tr.bz2"
    path.write_bytes(bz2.compress(b"something else"))
    with pytest.raises(DataError, match=re.escape(f"{path}: not the known file")):
        read_ijcnn1(tmp_path, download=False, recipe=ijcnn1.recipe)


def test_an_npz_with_other_values_is_refused(ijcnn1, tmp_path):
    with np.load(ijcnn1.folder / "ijcnn1.npz", allow_pickle=False) as arrays:
        contents = {name: arrays[name] for name in arrays}
    contents["y_test"][0] *= -1
    np.savez(tmp_path / "ijcnn1.npz", allow_pickle=False, **contents)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/ijcnn1.npz: not the known rows")):
        read_ijcnn1(tmp_path, download=False, recipe=ijcnn1.recipe)


def test_offline_says_where_to_put_the_file(closed_url, tmp_path):
    with pytest.raises(DataError, match=re.escape(f"put ijcnn1.npz or ijcnn1.tr.bz2 into {tmp_path}")):
        read_ijcnn1(tmp_path, download=False)


def test_both_scalings_are_fitted_on_the_training_file(ijcnn1):
    table = read_ijcnn1(ijcnn1.folder, download=False, recipe=ijcnn1.recipe)
    dataset = Dataset(
        "ijcnn1", table.X, table.labels.codes, ("-1", "1"), table.feature_names, table.test_mask
    )
    ours, theirs = (split(dataset, seed=1, scaling=scaling) for scaling in ("train", "paper"))
    assert np.array_equal(ours.X_test, theirs.X_test)
    assert (ours.X_test.min() < 0) or (ours.X_test.max() > 1)
    assert ours.test_share == 0.5
    assert ours.train_rows.tolist() == list(range(ijcnn1.recipe.n_drawn))


def test_git_blob_hash():
    # `printf hello | git hash-object --stdin`
    assert git_blob_sha1(b"hello") == "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"
