"""npz bytes: equal bytes for equal arrays, and hostile bytes are refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.examples import examples
from wm.errors import DataError, ModelError
from wm.formats import npz

array_types = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="="),
    hnp.floating_dtypes(endianness="=", sizes=(32, 64)),
    hnp.unicode_string_dtypes(endianness="=", min_len=1, max_len=4),
)
some_arrays = st.dictionaries(
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    array_types.flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))),
    max_size=4,
)


def unpack(data, **options):
    return npz.unpack(data, error=ModelError, what="it", **options)


def npy(descr, shape, body=b"", version=(1, 0)):
    """Return an npy member with any header."""
    member = io.BytesIO()
    write = {(1, 0): np.lib.format.write_array_header_1_0, (2, 0): np.lib.format.write_array_header_2_0}
    write[version](member, {"descr": descr, "fortran_order": False, "shape": shape})
    return member.getvalue() + body


def archive(compression=zipfile.ZIP_STORED, **members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def peak_bytes(function):
    """Return the peak of Python's memory while the function runs."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@examples(50)
@given(some_arrays)
def test_round_trip(arrays):
    unpacked = unpack(npz.pack(arrays))
    assert unpacked.keys() == arrays.keys()
    for name, array in arrays.items():
        assert unpacked[name].dtype == array.dtype
        np.testing.assert_array_equal(unpacked[name], array)
    assert npz.content_hash(unpacked) == npz.content_hash(arrays)
    assert npz.pack(unpacked) == npz.pack(arrays)


def test_bytes_do_not_depend_on_memory_layout():
    array = np.arange(12.0).reshape(3, 4)
    strided = np.repeat(array, 2, axis=1)[:, ::2]
    assert npz.pack({"a": np.asfortranarray(array)}) == npz.pack({"a": strided}) == npz.pack({"a": array})


def test_numpy_reads_what_is_packed(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(npz.pack({"a": np.arange(3), "b": np.array(2)}))
    with np.load(path, allow_pickle=False) as file:
        assert file["a"].tolist() == [0, 1, 2]
        assert file["b"].shape == ()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_unpacked(save):
    buffer = io.BytesIO()
    save(buffer, a=np.asfortranarray(np.arange(6).reshape(2, 3)), b=np.array(["x", "yz"]))
    arrays = unpack(buffer.getvalue())
    assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["b"].tolist() == ["x", "yz"]


def test_npy_version_2_is_unpacked():
    arrays = unpack(archive(a=npy("<i4", (2,), struct.pack("<2i", 7, -1), version=(2, 0))))
    assert arrays["a"].tolist() == [7, -1]


def test_the_content_hash_depends_on_names_types_shapes_and_values():
    base = {"a": np.arange(4, dtype=np.int32)}
    variants = [
        base,
        {"b": base["a"]},
        {"a": base["a"].astype(np.int64)},
        {"a": base["a"].reshape(2, 2)},
        {"a": base["a"][::-1]},
        {"a": base["a"], "b": np.array(0)},
        {},
    ]
    assert len({npz.content_hash(arrays) for arrays in variants}) == len(variants)


def test_the_content_hash_ignores_byte_order_and_order_of_names():
    a, b = np.arange(6.0).reshape(2, 3), np.array(["x"])
    expected = npz.content_hash({"a": a, "b": b})
    assert npz.content_hash({"b": b, "a": np.asfortranarray(a.astype(">f8"))}) == expected


def test_pinned_content_hash():
    """Files of earlier versions must stay readable: change this only with a new schema version."""
    arrays = {"n": np.array(3, dtype=np.int64), "x": np.array([0.5, -1.0]), "s": np.array(["a", "bc"])}
    assert npz.content_hash(arrays) == "0229a2b438317ffc953ffea16cc638dfe62c026ccddf6532f1d6f35867f94178"


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_line(data):
    with pytest.raises(ModelError, match="it: not a readable npz file") as caught:
        unpack(data)
    assert "\n" not in str(caught.value)


def test_errors_are_of_the_callers_kind_and_name_the_file():
    with pytest.raises(DataError, match=r"^rows\.npz: not a readable npz file"):
        npz.unpack(b"", error=DataError, what="rows.npz")


def test_pickled_objects_are_never_loaded():
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([Trap()], dtype=object))
    with pytest.raises(ModelError, match="array 'a': holds Python objects, which are never unpickled"):
        unpack(buffer.getvalue())
    with pytest.raises(ValueError, match="allow_pickle"):
        npz.pack({"a": np.array([Trap()], dtype=object)})


def test_objects_inside_a_record_are_refused():
    with pytest.raises(ModelError, match="holds Python objects"):
        unpack(archive(a=npy([("x", "|O")], (1,), b"\0" * 8)))


def test_a_zip_bomb_is_refused_before_it_unpacks():
    size = 2**24
    bomb = archive(zipfile.ZIP_DEFLATED, a=npy("|u1", (size,), bytes(size)))
    assert len(bomb) < size / 500

    def refuse():
        with pytest.raises(
            ModelError, match=f"it: unpacks to {size + 128} bytes, more than the 1000000 allowed"
        ):
            unpack(bomb, max_bytes=10**6)

    assert peak_bytes(refuse) < 2**20
    assert len(unpack(bomb, max_bytes=size + 128)["a"]) == size


def test_the_bound_holds_for_all_members_together():
    data = npz.pack({"a": np.zeros(100), "b": np.zeros(100)})
    with pytest.raises(ModelError, match="more than the 1500 allowed"):
        unpack(data, max_bytes=1500)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_with_a_false_size_in_its_directory_is_refused_before_it_unpacks(compression):
    size = 2**24
    bomb = bytearray(archive(compression, a=npy("|u1", (size,), bytes(size))))
    entry = bomb.rfind(b"PK\x01\x02")
    bomb[entry + 24 : entry + 28] = struct.pack("<I", 200)  # the size that the central directory states

    def refuse():
        with pytest.raises(ModelError):
            unpack(bytes(bomb), max_bytes=10**6)

    assert peak_bytes(refuse) < 2**22


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_the_compressions_that_numpy_writes_are_unpacked(compression):
    with pytest.raises(ModelError, match="array 'a'"):
        unpack(archive(compression, a=npy("|u1", (1,), b"\0")))


@pytest.mark.parametrize("shape", [(2**40,), (3, 2**61), (2**70,), (1,), (5,), (-4,), (-1, -4), (2, -2)])
def test_a_header_with_a_false_shape_is_refused(shape):
    def refuse():
        with pytest.raises(ModelError, match="it"):
            unpack(archive(a=npy("<i4", shape, bytes(16))))

    assert peak_bytes(refuse) < 2**20


@pytest.mark.parametrize("descr", ["|S0", "<U0", "|V0"])
def test_items_without_a_size_are_refused(descr):
    with pytest.raises(ModelError, match="array 'a'"):
        unpack(archive(a=npy(descr, (2**50,))))


def test_an_array_that_occurs_twice_is_refused():
    twice = archive(a=npy("|u1", (0,)), b=npy("|u1", (0,))).replace(b"b.npy", b"a.npy")
    with pytest.raises(ModelError, match="array 'a' occurs twice"):
        unpack(twice)


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"plain text, no array at all",
        b"\x93NUMPY\x03\x00" + npy("|u1", (0,))[8:],
        b"\x93NUMPY\x01\x00\x04\x00os.x",
        npy("|u1", (0,))[:20],
        npy("<i4", (1,), b"\0\0\0"),
        npy("<i4", (1,), b"\0\0\0\0\0"),
    ],
    ids=["empty", "text", "version 3", "code", "truncated", "too little data", "too much data"],
)
def test_a_damaged_member_is_refused(member):
    with pytest.raises(ModelError, match="it") as caught:
        unpack(archive(a=member))
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_refused():
    data = npz.pack({"a": np.arange(3), "b": np.array(["x"])})
    for length in range(len(data)):
        with pytest.raises(ModelError, match="not a readable npz file"):
            unpack(data[:length])


@given(some_arrays, st.data())
def test_only_the_wanted_arrays_are_read(arrays, data):
    wanted = data.draw(st.sets(st.sampled_from([*arrays, "none"])))
    found = unpack(npz.pack(arrays), only=wanted)
    assert found.keys() == wanted & arrays.keys()
    assert not any(array.flags.writeable for array in found.values() if array.nbytes)


def test_columns_first_and_odd_places_are_read_as_they_were_written():
    array = np.arange(12.0).reshape(3, 4)
    member = io.BytesIO()
    np.lib.format.write_array(member, np.asfortranarray(array))
    assert (unpack(archive(x=member.getvalue()))["x"] == array).all()
    # A header of any length puts the numbers where no processor would have them.
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }   \n"
    assert (10 + len(header)) % 8
    odd = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + np.array([0.5, 2.0]).tobytes()
    found = unpack(archive(x=odd))["x"]
    assert found.flags.aligned
    assert found.tolist() == [0.5, 2.0]
