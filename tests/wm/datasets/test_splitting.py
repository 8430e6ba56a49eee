import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from wm.datasets import Dataset, Source, Split, load, split, split_sizes
from wm.errors import DataError
from wm.formats.npz import pack, unpack


def dataset_of(X, y=None, test_mask=None):
    X = np.asarray(X, dtype=np.float64)
    y = np.arange(len(X)) % 2 if y is None else np.asarray(y)
    names = tuple(f"f{index}" for index in range(X.shape[1]))
    return Dataset("rows", X, y, ("n", "p"), names, None if test_mask is None else np.array(test_mask))


@pytest.fixture(scope="module")
def breast_cancer():
    return load(Source(name="breast-cancer"))


def test_the_papers_split_of_breast_cancer(breast_cancer):
    X = MinMaxScaler().fit_transform(breast_cancer.X)
    X_train, X_test, y_train, y_test = train_test_split(X, breast_cancer.y, test_size=0.3, random_state=2)
    ours = split(breast_cancer, seed=2, scaling="paper")
    assert np.array_equal(ours.X_train, X_train.astype(np.float32))
    assert np.array_equal(ours.X_test, X_test.astype(np.float32))
    assert np.array_equal(ours.y_train, y_train)
    assert np.array_equal(ours.y_test, y_test)
    assert (len(ours.y_train), len(ours.y_test)) == (398, 171)


def test_scaling_is_fitted_on_the_training_rows_by_default(breast_cancer):
    X_train, X_test = train_test_split(breast_cancer.X, test_size=0.3, random_state=5)
    scaler = MinMaxScaler().fit(X_train)
    ours = split(breast_cancer, seed=5)
    assert ours.scaling == "train"
    assert np.array_equal(ours.X_train, scaler.transform(X_train).astype(np.float32))
    assert np.array_equal(ours.X_test, scaler.transform(X_test).astype(np.float32))
    assert (ours.X_train.min(), ours.X_train.max()) == (0, 1)
    assert ours.X_test.max() > 1


@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 12), st.integers(1, 4)),
        elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]),
    ),
    test_share=st.floats(0.2, 0.6),
    seed=st.integers(0, 2**32 - 1),
    scaling=st.sampled_from(["train", "paper"]),
)
def test_a_split_holds_all_rows_once_scaled_to_the_unit_interval(X, test_share, seed, scaling):
    dataset = dataset_of(X)
    train, _ = train_test_split(dataset.y, test_size=test_share, random_state=seed)
    assume(len(set(train)) == 2)
    result = split(dataset, test_share=test_share, seed=seed, scaling=scaling)
    assert sorted([*result.train_rows, *result.test_rows]) == list(range(len(X)))
    assert np.array_equal(result.y_train, dataset.y[result.train_rows])
    assert np.array_equal(result.y_test, dataset.y[result.test_rows])
    assert result.X_train.min() >= 0
    assert result.X_train.max() <= 1
    if scaling == "paper":
        assert result.X_test.min() >= 0
        assert result.X_test.max() <= 1
    fitted = X if scaling == "paper" else X[result.train_rows]
    assert result.constant_features == sum(len(set(column)) == 1 for column in fitted.T.tolist())


def test_a_feature_that_is_constant_in_training_becomes_0_in_the_test_rows_too():
    dataset = dataset_of([[5, 0], [5, 1], [5, 2], [9, 3]], test_mask=[False, False, False, True])
    result = split(dataset, seed=0)
    assert result.X_train[:, 0].tolist() == [0, 0, 0]
    assert result.X_test.tolist() == [[0, 1.5]]
    assert result.constant_features == 1


def test_rows_that_the_source_reserves_are_the_test_rows():
    dataset = dataset_of(
        np.arange(8)[:, np.newaxis], test_mask=[False, True, False, False, True, False, False, True]
    )
    for seed in (0, 1):
        result = split(dataset, test_share=0.1, seed=seed)
        assert result.test_rows.tolist() == [1, 4, 7]
        assert result.train_rows.tolist() == [0, 2, 3, 5, 6]
        assert result.test_share == 3 / 8
    assert np.array_equal(split(dataset, seed=0, scaling="paper").X_test, result.X_test)


@given(rows=st.integers(40, 700), seed=st.integers(0, 99), scaling=st.sampled_from(["train", "paper"]))
def test_a_part_of_the_rows_is_split_like_a_data_set_of_its_own(breast_cancer, rows, seed, scaling):
    result = split(breast_cancer, seed=seed, rows=rows, scaling=scaling)
    used = np.concatenate([result.train_rows, result.test_rows])
    assert len(set(used.tolist())) == len(used) == min(rows, 569)
    assert split_sizes(breast_cancer, test_share=0.3, rows=rows) == (len(result.y_train), len(result.y_test))
    fitted = breast_cancer.X[used if scaling == "paper" else result.train_rows]
    spread = np.where(np.ptp(fitted, axis=0) == 0, np.inf, np.ptp(fitted, axis=0))
    expected = (breast_cancer.X[result.test_rows] - fitted.min(axis=0)) / spread
    np.testing.assert_allclose(result.X_test, expected, rtol=1e-5, atol=1e-6)
    if rows >= 569:
        assert result.sha256 == split(breast_cancer, seed=seed, scaling=scaling).sha256


def test_a_part_keeps_the_share_of_reserved_test_rows():
    mask = np.arange(60) % 3 == 0
    dataset = dataset_of(np.arange(60)[:, np.newaxis], np.arange(60) % 2, test_mask=mask)
    result = split(dataset, seed=4, rows=30)
    assert (len(result.train_rows), len(result.test_rows)) == split_sizes(dataset, test_share=0.3, rows=30)
    assert len(result.test_rows) == 10
    assert mask[result.test_rows].all()
    assert not mask[result.train_rows].any()


def test_without_scaling_values_stay_as_they_are():
    dataset = dataset_of([[0.25, 0.3], [1, 0.3], [0, 0.3], [0.5, 0.3]])
    result = split(dataset, seed=1, scaling="none")
    assert np.array_equal(result.X_train, dataset.X[result.train_rows].astype(np.float32))
    assert result.constant_features == 1
    with pytest.raises(
        DataError, match=r'rows: row 3, column \'f1\': 1.5 is outside \[0, 1\], which scaling = "none"'
    ):
        split(dataset_of([[0, 0], [0, 1], [0, 1.5], [0, 0]]), seed=1, scaling="none")


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (dataset_of(np.eye(4)), {"test_share": 0.0}, "test_share = 0.0 is not between 0 and 1"),
        (dataset_of(np.eye(4)), {"test_share": 1.0}, "test_share = 1.0 is not between 0 and 1"),
        (dataset_of(np.eye(4)), {"test_share": float("nan")}, "test_share = nan is not between 0 and 1"),
        (dataset_of(np.eye(4)), {"seed": -1}, "seed = -1 is not in"),
        (
            dataset_of(np.eye(4)),
            {"scaling": "robust"},
            "unknown scaling 'robust': known are train, paper, none",
        ),
        (dataset_of(np.eye(2)), {"test_share": 0.9}, "2 rows are too few to split"),
        (
            dataset_of(np.eye(4), [0, 0, 0, 1], [False, False, False, True]),
            {},
            "class 'p' is not among the 3 training",
        ),
        (
            dataset_of([[0], [1e-300], [1e300]], None, [False, False, True]),
            {},
            "row 3, column 'f0': 1e.300 is too far",
        ),
        (dataset_of([[-1.7e308], [1.7e308], [0]]), {}, "column 'f0': its values span more than"),
    ],
)
def test_data_that_cannot_be_split_is_refused(dataset, options, message):
    with pytest.raises(DataError, match=message):
        split(dataset, **({"seed": 2} | options))


@pytest.fixture
def cut(breast_cancer):
    return split(breast_cancer, seed=2)


def test_a_split_is_restored_from_its_bytes(cut):
    again = Split.from_bytes(cut.to_bytes())
    assert again.to_bytes() == cut.to_bytes()
    assert again.sha256 == cut.sha256
    for name in ("X_train", "X_test", "y_train", "y_test", "train_rows", "test_rows"):
        assert np.array_equal(getattr(again, name), getattr(cut, name))
        assert getattr(again, name).dtype == getattr(cut, name).dtype
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[0] = 0
    for name in (
        "class_names",
        "feature_names",
        "scaling",
        "seed",
        "test_share",
        "dataset_sha256",
        "constant_features",
    ):
        assert getattr(again, name) == getattr(cut, name)


def test_different_splits_have_different_hashes(breast_cancer, cut):
    others = [
        split(breast_cancer, seed=3),
        split(breast_cancer, seed=2, test_share=0.31),
        split(breast_cancer, seed=2, scaling="paper"),
        split(load(Source(name="breast-cancer", positive="malignant")), seed=2),
    ]
    assert len({cut.sha256, *(other.sha256 for other in others)}) == 5
    assert split(breast_cancer, seed=2).sha256 == cut.sha256
    assert cut.dataset_sha256 == breast_cancer.sha256


def repacked(cut, **changes):
    arrays = unpack(cut.to_bytes(), error=DataError, what="split")
    return pack({name: array for name, array in (arrays | changes).items() if array is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "array 'y_test' is missing"),
        ({"X_train": np.zeros((398, 30))}, "array 'X_train' is float64"),
        ({"y_train": np.zeros((398, 1), dtype=np.int64)}, r"array 'y_train' is int64 of shape \(398, 1\)"),
        ({"y_train": np.zeros(397, dtype=np.int64)}, "differ in number"),
        ({"X_test": np.zeros((171, 29), dtype=np.float32)}, "differ in number"),
        ({"facts": np.frombuffer(b"{", dtype=np.uint8)}, "unreadable facts"),
        ({"facts": np.frombuffer(b"{}", dtype=np.uint8)}, "unreadable facts"),
        ({"facts": np.frombuffer(b'{"schema": 99}', dtype=np.uint8)}, "schema 99 is not 1"),
    ],
)
def test_other_bytes_are_refused(cut, changes, message):
    with pytest.raises(DataError, match=f"split: .*{message}"):
        Split.from_bytes(repacked(cut, **changes))


def test_damaged_bytes_are_refused(cut):
    data = bytearray(cut.to_bytes())
    data[len(data) // 2] ^= 0xFF
    for damaged in (bytes(data), cut.to_bytes()[:1000], b""):
        with pytest.raises(DataError, match="split: not a readable npz"):
            Split.from_bytes(damaged)
