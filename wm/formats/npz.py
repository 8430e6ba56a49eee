"""Arrays to and from npz bytes: never pickled, bounded in size, equal bytes for equal arrays.

An npz file is a zip of .npy members. A hostile one may hold pickled objects, unpack to gigabytes (a zip bomb)
or have a false header; it is refused before memory is spent on it.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import WmError

MAX_BYTES = 2**30
"""Default of the largest total size of one file's members when unpacked."""


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the arrays as an uncompressed npz; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            # A fixed date: the bytes depend on the content alone.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), member.getvalue())
    return buffer.getvalue()


def unpack(
    data: bytes,
    *,
    error: type[WmError],
    what: str,
    max_bytes: int = MAX_BYTES,
    only: Collection[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz, which cannot be written to.

    Parameters
    ----------
    data
        The file's bytes.
    error
        Type of the exception, with one line of text, for a damaged or hostile file.
    what
        Name of the file in errors.
    max_bytes
        Largest total size of all members when unpacked.
    only
        Names of the arrays that are wanted; None: all.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > max_bytes:
                raise error(f"{what}: unpacks to {total} bytes, more than the {max_bytes} allowed")
            arrays: dict[str, NDArray[Any]] = {}
            names = [member.filename.removesuffix(".npy") for member in members]
            name, count = Counter(names).most_common(1)[0] if names else ("", 0)
            if count > 1:
                raise error(f"{what}: array {name!r} occurs twice")
            for name, member in zip(names, members, strict=True):
                if only is not None and name not in only:
                    continue
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    # zipfile unpacks these without a bound, whatever size the directory states.
                    raise error(f"{what}: array {name!r}: its compression is neither none nor deflate")
                with archive.open(member) as stream:
                    # A stated length bounds what is unpacked; ZipFile.read would unpack up to 2 GiB first.
                    raw = stream.read(member.file_size)
                arrays[name] = _read_member(raw, f"{what}: array {name!r}", error)
            return arrays
    except WmError:
        raise
    except Exception as reason:  # zipfile and zlib raise a dozen kinds on damaged input
        # Shortened: such texts may quote the whole file.
        text = f"{type(reason).__name__}: {reason}"[:120]
        raise error(f"{what}: not a readable npz file ({text})") from reason


def _read_member(raw: bytes, what: str, error: type[WmError]) -> NDArray[Any]:
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise error(f"{what}: npy format {version} is not supported")
    if dtype.hasobject:
        raise error(f"{what}: holds Python objects, which are never unpickled")
    if not dtype.itemsize:
        raise error(f"{what}: its items have no size, so that its length would be unbounded")
    expected = dtype.itemsize * int(np.prod([int(side) for side in shape], dtype=object))
    if expected != len(raw) - stream.tell():
        raise error(f"{what}: its header states {expected} bytes, it holds {len(raw) - stream.tell()}")
    if not expected:
        return np.empty(shape, dtype=dtype)
    # The bytes themselves, which nobody else has: a copy of a large model costs as much as its checks.
    flat = np.frombuffer(raw, dtype=dtype, offset=stream.tell())
    array = flat.reshape(shape, order="F" if is_fortran else "C")
    return array if array.flags.aligned else array.copy()


def content_hash(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 (hex) of names, types, shapes and values, independent of memory layout."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name}|{little.dtype.str}|{little.shape}|".encode())
        if little.nbytes:
            digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
