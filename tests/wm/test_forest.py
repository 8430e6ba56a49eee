"""Forest: voting rules, immutability, files. For scikit-learn's votes see formats/test_sklearn_trees.py."""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from tests.examples import examples
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import npz

# The paper's Figure 1, in the order: tree 1 (7 nodes), tree 2 (5 nodes).
#   x1 <= 5 ? (x2 <= 3 ? + : -) : (x3 <= 7 ? - : +)
#   x1 <= 2 ? + : (x3 <= 6 ? - : +)
ARRAYS = {
    "offset": [0, 7, 12],
    "left": [1, 2, -1, -1, 5, -1, -1, 1, -1, 3, -1, -1],
    "right": [4, 3, -1, -1, 6, -1, -1, 2, -1, 4, -1, -1],
    "feature": [0, 1, -1, -1, 2, -1, -1, 0, -1, 2, -1, -1],
    "threshold": [5, 3, 0, 0, 7, 0, 0, 2, 0, 6, 0, 0],
    "value": [[4, 4], [2, 2], [0, 2], [2, 0], [2, 2], [2, 0], [0, 2], [1, 2], [0, 1], [1, 1], [1, 0], [0, 1]],
    "n_features": 3,
    "classes": [-1, 1],
}


@pytest.fixture
def small():
    return Forest.from_arrays(**ARRAYS)


def leaves(*values, classes=(0, 1)):
    """Return a forest of single leaves, one for each row of class weights."""
    m = len(values)
    return Forest.from_arrays(
        offset=np.arange(m + 1),
        left=[-1] * m,
        right=[-1] * m,
        feature=[-1] * m,
        threshold=[0.0] * m,
        value=values,
        n_features=1,
        classes=classes,
    )


# ---- votes and predictions ----


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((5, 3, 0), (1, -1)),
        ((5, 3.001, 6.5), (-1, 1)),
        ((5.001, 0, 7), (-1, 1)),
        ((6, 0, 7.5), (1, 1)),
        ((2, 9, 0), (-1, 1)),
        ((2, 3, 0), (1, 1)),
    ],
)
def test_votes_by_hand(small, point, expected):
    assert small.votes([point]).tolist() == [list(expected)]


def test_votes_have_a_row_for_each_instance_however_many(small):
    X = np.random.default_rng(0).uniform(0, 10, size=(10_000, 3))
    votes = small.votes(X)
    assert votes.shape == (10_000, 2)
    for start in (0, 4095, 4096, 9999):
        assert np.array_equal(small.votes(X[start : start + 1]), votes[start : start + 1])
    assert small.votes(np.empty((0, 3))).shape == (0, 2)
    assert small.predict(np.empty((0, 3))).shape == (0,)


def test_apply_returns_leaves(small):
    assert small.apply([[5, 3, 0], [6, 0, 8]]).tolist() == [[2, 10], [6, 11]]


def test_a_tie_between_trees_goes_to_the_first_class():
    tied = leaves([1, 0], [0, 1], classes=["no", "yes"])
    assert tied.votes([[0]]).tolist() == [["no", "yes"]]
    assert tied.predict([[0]]).tolist() == ["no"]
    assert leaves([0, 1], [1, 0], classes=["no", "yes"]).predict([[0]]).tolist() == ["no"]


def test_a_tie_within_a_leaf_goes_to_the_first_class():
    assert leaves([3, 3]).votes([[0]]).tolist() == [[0]]
    assert leaves([1, 2, 2], classes=[0, 1, 2]).votes([[0]]).tolist() == [[1]]


def test_majority_of_votes_and_mean_of_shares_can_differ():
    forest = leaves([0.4, 0.6], [4, 6], [1.0, 0.0])
    assert forest.votes([[0]]).tolist() == [[1, 1, 0]]
    assert forest.predict([[0]]).tolist() == [1]
    np.testing.assert_allclose(forest.predict_proba([[0]]), [[0.6, 0.4]])
    np.testing.assert_allclose(forest.vote_shares([[0]]), [[1 / 3, 2 / 3]])
    assert forest.accuracy([[0], [0]], [1, 0]) == 0.5
    assert forest.accuracy([[0]], [1]) == 1.0
    assert forest.accuracy_of_mean([[0]], [1]) == 0.0


def test_predict_is_the_majority_of_votes_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(11, max_depth=3, random_state=0).fit(X, y))
    ones = (forest.votes(X) == 1).sum(axis=1)
    assert np.array_equal(forest.predict(X), (ones > 5).astype(int))
    assert np.array_equal(forest.vote_shares(X)[:, 1], ones / 11)
    assert forest.accuracy(X, y) == np.mean((ones > 5) == y)


@pytest.mark.parametrize(
    "method", ["apply", "votes", "vote_codes", "vote_shares", "predict", "predict_proba"]
)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 0, 0], [0, np.nan, 0]], "instance 1, feature 1: not a finite float32 number"),
        ([[0, 0, np.inf]], "instance 0, feature 2: not a finite float32 number"),
        ([[-np.inf, 0, 0]], "instance 0, feature 0: not a finite float32 number"),
        ([[3.5e38, 0, 0]], "instance 0, feature 0: not a finite float32 number"),
        ([[0, 0, 0, 0]], r"instances have shape \(1, 4\); the forest needs \(n, 3\)"),
        ([[0, 0]], r"instances have shape \(1, 2\)"),
        ([0, 0, 0], r"instances have shape \(3,\)"),
        ([[["a"] * 3]], "instances are not"),
        ([["1", "2", "3"]], "instances are not"),
        ([[1], [1, 2]], "instances are not numbers"),
        ([[1j, 0, 0]], "instances are not real numbers"),
        (np.zeros((1, 3), dtype="M8[D]"), "instances are not real numbers"),
    ],
)
def test_instances_that_do_not_fit_are_refused(small, method, X, message):
    with pytest.raises(ModelError, match=message):
        getattr(small, method)(X)


@pytest.mark.parametrize("method", ["accuracy", "accuracy_of_mean"])
@pytest.mark.parametrize("y", [[1], [1, 1, 1], [[1], [1]], 1])
def test_accuracy_refuses_labels_that_do_not_fit(small, method, y):
    with pytest.raises(ModelError, match="2 instances have labels of shape"):
        getattr(small, method)(np.zeros((2, 3)), y)


# ---- the trees' shapes ----


def test_shapes_by_hand(small):
    assert small.n_trees == 2
    assert small.tree_depths.tolist() == [2, 2]
    assert small.tree_leaves.tolist() == [4, 3]
    assert small.node_depth.tolist() == [0, 1, 2, 2, 1, 2, 2, 0, 1, 1, 2, 2]
    assert small.node_tree.tolist() == [0] * 7 + [1] * 5
    assert small.is_leaf.tolist() == [child < 0 for child in ARRAYS["left"]]
    assert leaves([1, 1], [1, 2]).tree_depths.tolist() == [0, 0]


def test_the_released_forests(released_forests):
    forest = released_forests.forest("watermarked")
    assert forest.n_trees == released_forests.forest("standard").n_trees == 70
    depths, n_leaves = forest.tree_depths, forest.tree_leaves
    found = (depths.mean(), depths.std(), n_leaves.mean(), n_leaves.std())
    assert found == pytest.approx(released_forests.shape, abs=0.005)


def test_the_released_standard_forest_classifies(released_forests):
    X, y = load_breast_cancer(return_X_y=True)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    for which in ("standard", "watermarked"):
        assert released_forests.forest(which).accuracy(scaled, y) > 0.95


# ---- parts ----


def test_select_takes_trees_in_the_given_order(small):
    X = np.random.default_rng(1).uniform(0, 10, size=(200, 3))
    votes = small.votes(X)
    for order in ([1], [1, 0], [0, 0, 1], (0,), np.array([1, 1])):
        part = small.select(order)
        assert np.array_equal(part.votes(X), votes[:, list(order)])
        assert part.tree_leaves.tolist() == small.tree_leaves[list(order)].tolist()
    assert small.select([0, 1]).content_hash == small.content_hash
    assert small.select([1, 0]).content_hash != small.content_hash


@pytest.mark.parametrize("trees", [[], [2], [-1], [0, 5], [0.5], [True, False], np.array([[0]])])
def test_select_refuses_anything_but_a_list_of_trees(small, trees):
    with pytest.raises(ModelError, match="select"):
        small.select(trees)


def test_parents_children_and_levels_agree(small):
    left, right = small.children
    for depth, (inner, *sides) in enumerate(small.inner_levels):
        assert (small.node_depth[inner] == depth).all()
        for side, child in zip((left, right), sides, strict=True):
            assert np.array_equal(side[inner], child)
            assert np.array_equal(small.parent[child], inner)
    found = np.sort(np.concatenate([inner for inner, *_ in small.inner_levels]))
    assert found.tolist() == np.flatnonzero(~small.is_leaf).tolist()
    assert small.parent[small.offset[:-1]].tolist() == small.offset[:-1].tolist()
    leaves = np.flatnonzero(small.is_leaf)
    assert left[leaves].tolist() == right[leaves].tolist() == leaves.tolist()


def test_a_changed_forest_is_checked(small):
    other = small.changed(threshold=small.threshold + 1)
    assert np.array_equal(other.threshold[~other.is_leaf], small.threshold[~small.is_leaf] + 1)
    assert np.array_equal(other.left, small.left)
    with pytest.raises(ModelError, match="threshold has"):
        small.changed(threshold=[0.0])


# ---- immutability ----


def test_nothing_can_be_assigned(small):
    with pytest.raises(FrozenInstanceError):
        small.threshold = np.zeros(12)
    names = ("offset", "left", "right", "feature", "threshold", "value", "classes")
    derived = ("is_leaf", "node_tree", "node_class", "node_depth", "tree_depths", "tree_leaves", "parent")
    for name in (*names, *derived):
        with pytest.raises(ValueError, match="read-only"):
            getattr(small, name)[0] = 1


def test_a_forest_does_not_share_arrays_with_the_caller():
    given_arrays = {name: np.array(value) for name, value in ARRAYS.items() if name != "n_features"}
    given_arrays["threshold"] = given_arrays["threshold"].astype(float)
    given_arrays["value"] = given_arrays["value"].astype(float)
    forest = Forest.from_arrays(**given_arrays, n_features=3)
    before = forest.votes([[5, 3, 0]]).tolist()
    for array in given_arrays.values():
        array[:] = 0
    assert forest.votes([[5, 3, 0]]).tolist() == before


# ---- files ----


def assert_equal(one, other):
    assert one.content_hash == other.content_hash
    assert one.n_features == other.n_features
    for name in ("offset", "left", "right", "feature", "threshold", "value", "classes"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)


@pytest.mark.parametrize("classes", [[-1, 1], [0, 1], [False, True], ["no", "yes"], [0.5, 2.0]])
def test_save_and_load(tmp_path, classes):
    forest = Forest.from_arrays(**ARRAYS | {"classes": classes})
    path = tmp_path / "forest.npz"
    forest.save(path)
    loaded = Forest.load(path)
    assert_equal(loaded, forest)
    assert loaded.votes([[5, 3, 0]]).tolist() == forest.votes([[5, 3, 0]]).tolist()
    assert loaded.to_bytes() == path.read_bytes() == forest.to_bytes()


def test_save_and_load_a_trained_forest(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, y))
    forest.save(str(tmp_path / "forest.npz"))
    loaded = Forest.load(str(tmp_path / "forest.npz"))
    assert_equal(loaded, forest)
    assert np.array_equal(loaded.predict_proba(X), forest.predict_proba(X))


def test_bytes_and_hash_do_not_depend_on_the_types_given(small):
    other = Forest.from_arrays(
        offset=np.array(ARRAYS["offset"], dtype=np.int32),
        left=np.array(ARRAYS["left"], dtype=np.int8),
        right=tuple(ARRAYS["right"]),
        feature=[-2 if feature < 0 else feature for feature in ARRAYS["feature"]],
        threshold=np.where(np.array(ARRAYS["left"]) < 0, -2.0, ARRAYS["threshold"]),
        value=np.asfortranarray(np.array(ARRAYS["value"], dtype=np.float32)),
        n_features=np.int32(3),
        classes=np.array([-1, 1], dtype=object),
    )
    assert other.content_hash == small.content_hash
    assert other.to_bytes() == small.to_bytes()


def test_pinned_content_hash(small):
    """Claims refer to forests by this hash: change it only with a new schema version."""
    assert small.content_hash == "a1e8f068727dd3d6fd512408a1440e5b03272bc60f44d99802ced6e136747080"


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": [5, 3, 0, 0, 7, 0, 0, 2, 0, 6.5, 0, 0]},
        {"n_features": 4},
        {"classes": [0, 1]},
        {"classes": ["-1", "1"]},
        {"value": np.array(ARRAYS["value"]) * 2},
        {"feature": [1, *ARRAYS["feature"][1:]]},
    ],
)
def test_content_hash_sees_every_change(small, change):
    assert Forest.from_arrays(**ARRAYS | change).content_hash != small.content_hash


# ---- damaged and hostile files ----


def read(data, **options):
    """Return the forest of bytes that may be damaged, or None after a ModelError of one line."""
    try:
        return Forest.from_bytes(data, what="f.npz", **options)
    except ModelError as reason:
        text = str(reason)
        assert text.startswith("f.npz: ")
        assert text.isprintable()
        assert len(text) < 300
        return None


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {member.filename: archive.read(member) for member in archive.infolist()}


def rezip(contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_arrays(forest, **changes):
    """Return the forest's file with some arrays replaced, or removed for None; the hash is unchanged."""
    arrays = npz.unpack(forest.to_bytes(), error=ModelError, what="f") | changes
    return npz.pack({name: array for name, array in arrays.items() if array is not None})


FOREST = Forest.from_arrays(**ARRAYS)
DATA = FOREST.to_bytes()
MEMBERS = members(DATA)


@given(st.integers(0, len(DATA) - 1), st.integers(0, 255))
@examples(1000)
def test_any_changed_byte_is_refused_or_harmless(position, byte):
    changed = bytearray(DATA)
    changed[position] = byte
    forest = read(bytes(changed))
    if forest is not None:
        assert_equal(forest, FOREST)


def test_every_byte_inverted_is_refused_or_harmless():
    harmless = 0
    for position in range(len(DATA)):
        changed = bytearray(DATA)
        changed[position] ^= 0xFF
        forest = read(bytes(changed))
        if forest is not None:
            harmless += 1
            assert_equal(forest, FOREST)
    # Dates, attributes and the like, on which the content does not depend.
    assert harmless < len(DATA) / 4


def test_every_truncation_is_refused():
    for length in range(len(DATA)):
        assert read(DATA[:length]) is None


@given(st.data())
@examples(1000)
def test_a_changed_member_with_a_right_checksum_is_refused_or_harmless(data):
    """Damage that passes the zip's checksum: in npy headers, arrays and content hash."""
    name = data.draw(st.sampled_from(sorted(MEMBERS)))
    changed = bytearray(MEMBERS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    length = data.draw(st.one_of(st.just(len(changed)), st.integers(0, len(changed))))
    forest = read(rezip(MEMBERS | {name: bytes(changed[:length])}))
    if forest is not None:
        assert_equal(forest, FOREST)


def test_edited_content_is_refused():
    threshold = FOREST.threshold.copy()
    threshold[0] += 1
    with pytest.raises(ModelError, match=r"f\.npz: the content does not fit its hash"):
        Forest.from_bytes(with_arrays(FOREST, threshold=threshold), what="f.npz")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (np.array(3), "forest schema 3 is not 1"),
        (np.array(2), "lacks missing_left and input_dtype"),
        (np.array(0), "forest schema 0 is not 1"),
        (np.array([1]), "is not 1"),
        (np.array(1.0), "is not 1"),
        (np.array("1\n\x1b[31m"), "is not 1"),
        (np.arange(5000), "is not 1"),
    ],
)
def test_another_schema_version_is_refused(version, message):
    data = with_arrays(FOREST, schema_version=version)
    assert read(data) is None
    with pytest.raises(ModelError, match=message):
        Forest.from_bytes(data)


def test_another_kind_of_npz_is_refused():
    with pytest.raises(ModelError, match="not a forest file: it lacks classes, content_hash, feature"):
        Forest.from_bytes(npz.pack({"X": np.zeros(3)}))
    for name in ("content_hash", "schema_version", "n_features", "value"):
        with pytest.raises(ModelError, match=f"it lacks {name}"):
            Forest.from_bytes(with_arrays(FOREST, **{name: None}))


@pytest.mark.parametrize(
    "changes",
    [
        {"left": np.array([0, *ARRAYS["left"][1:]], dtype=np.int32)},
        {"offset": np.array([0, 2**63 - 1, -2, 12])},
        {"threshold": np.full(12, np.nan)},
        {"threshold": np.full(12, np.longdouble("1e4000"))},
        {"value": np.full((12, 2), 1e308)},
        {"value": np.tile([np.inf, -np.inf], (12, 1))},
        {"classes": np.zeros((2**50, 0), dtype=np.int64)},
        {"classes": np.array([0.0, np.nan])},
        {"n_features": np.array(3.0)},
        {"n_features": np.array([3])},
        {"n_features": np.array(0)},
        {"n_features": np.array(2**64 - 1, dtype=np.uint64)},
        {"content_hash": np.zeros(32, dtype=np.uint8)},
        {"content_hash": np.zeros(0)},
    ],
)
def test_hostile_arrays_in_a_file_are_refused(changes):
    assert read(with_arrays(FOREST, **changes)) is None


def test_a_pickle_in_a_file_is_never_loaded():
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    buffer = io.BytesIO()
    arrays = npz.unpack(DATA, error=ModelError, what="f") | {"classes": np.array([Trap(), Trap()])}
    np.savez(buffer, **arrays)
    with pytest.raises(ModelError, match="holds Python objects, which are never unpickled"):
        Forest.from_bytes(buffer.getvalue())


def test_a_zip_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, left=np.zeros(10**7, dtype=np.int8))
    assert path.stat().st_size < 20_000
    with pytest.raises(
        ModelError, match=r"bomb\.npz: unpacks to 10000\d+ bytes, more than the 100000 allowed"
    ):
        Forest.load(path, max_bytes=100_000)


def test_a_zip_bomb_that_lies_about_its_size_is_refused():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, left=np.zeros(10**7, dtype=np.int8))
    bomb = bytearray(buffer.getvalue())
    entry = bomb.rfind(b"PK\x01\x02")
    bomb[entry + 24 : entry + 28] = struct.pack("<I", 500)
    assert read(bytes(bomb), max_bytes=100_000) is None


def test_a_file_that_fits_the_bound_is_read(tmp_path):
    FOREST.save(tmp_path / "f.npz")
    assert_equal(Forest.load(tmp_path / "f.npz", max_bytes=10_000), FOREST)
    with pytest.raises(ModelError, match="more than the 1000 allowed"):
        Forest.load(tmp_path / "f.npz", max_bytes=1000)


def test_a_file_too_long_is_refused(tmp_path):
    path = tmp_path / "long.npz"
    with path.open("wb") as file:
        file.truncate(2**24)  # not a zip, which an attempt to read it would report
    with pytest.raises(
        ModelError, match=r"long\.npz: larger than the 66536 bytes that a forest file may have"
    ):
        Forest.load(path, max_bytes=1000)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelError, match=r"missing\.npz: cannot be read \(No such file or directory\)"):
        Forest.load(tmp_path / "missing.npz")
    with pytest.raises(ModelError, match="cannot be read"):
        Forest.load(tmp_path)
