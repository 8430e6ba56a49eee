"""Damages valid inputs: bytes flipped, cut and moved, JSON and arrays with other values in some places."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Form = Literal["json", "npz", "skops", "text"]
"""Ways to damage an input besides its bytes."""


def damaged(content: bytes, form: Form, rng: np.random.Generator) -> bytes:
    """Return a damaged input; rarely it equals the valid one."""
    inner = {"json": _damaged_json, "npz": _damaged_npz, "skops": _damaged_skops}.get(form)
    if inner is not None and rng.random() < 0.6:
        content = inner(content, rng)
        if rng.random() < 0.8:
            return content
    return _damaged_bytes(content, rng)


def _damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    if not content:
        return rng.bytes(8)
    changed = bytearray(content)
    start, end = sorted(int(place) for place in rng.integers(0, len(changed) + 1, size=2))
    match int(rng.integers(7)):
        case 0:
            for place in rng.integers(0, len(changed), size=rng.integers(1, 5)):
                changed[place] ^= 1 << int(rng.integers(8))
        case 1:
            changed = changed[:start]
        case 2:
            del changed[start:end]
        case 3:
            changed[start:start] = rng.bytes(int(rng.integers(1, 9)))
        case 4:
            changed[start:start] = changed[start:end]
        case 5:
            changed[start : start + 4] = b"\xff" * 4
        case _:
            changed += content
    return bytes(changed)


_DEEP: Any = "deep"
_ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        "0",
        "1.0",
        "NaN",
        "\u0660",
        "\n",
        "\x1b[2J",
        "\ud800",
        [],
        {},
        [[]],
        {"": None},
    ),
    *(0, 1, -1, 2, 0.5, 0.1, -0.0, 1e39, 1e308, 1e-320, 2**31, 2**63, -(2**63) - 1, 10**400),
    *(float("nan"), float("inf"), -float("inf"), "x" * 10_000, list(range(1000)), _DEEP),
)
"""Values that replace others."""


def _damaged_json(content: bytes, rng: np.random.Generator) -> bytes:
    document = json.loads(content)
    holder: Any = [document]
    place: Any = 0
    while rng.random() < 0.8 and isinstance(holder[place], list | dict) and holder[place]:
        holder = holder[place]
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        place = keys[int(rng.integers(len(keys)))]
    match int(rng.integers(6)):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, dict):
            holder[str(_ODD[int(rng.integers(len(_ODD)))])] = holder[place]
        case 1:
            holder.insert(place, holder[place])
        case 2 if isinstance(holder, dict):
            other = list(holder)[int(rng.integers(len(holder)))]
            holder[place], holder[other] = holder[other], holder[place]
        case 2:
            other = int(rng.integers(len(holder)))
            holder[place], holder[other] = holder[other], holder[place]
        case 3 if isinstance(holder[place], int | float):
            holder[place] = holder[place] + float(rng.normal())
        case _:
            holder[place] = _ODD[int(rng.integers(len(_ODD)))]
    text = json.dumps(document) if holder != [] else ""
    deep = int(rng.integers(2, 6))
    return text.replace('"deep"', "[" * 10**deep + "]" * 10**deep).encode(errors="surrogatepass")


def _damaged_skops(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage the document that describes the object; its arrays stay."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            member = source.read(name)
            target.writestr(name, _damaged_json(member, rng) if name == "schema.json" else member)
    return buffer.getvalue()


def _damaged_npz(content: bytes, rng: np.random.Generator) -> bytes:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays: dict[str, NDArray[Any]] = dict(archive)
    name = list(arrays)[int(rng.integers(len(arrays)))]
    match int(rng.integers(5)):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = _reshaped(arrays[name], rng)
        case 2:
            arrays["\x1b\n" if rng.random() < 0.5 else "more"] = arrays[name]
        case _:
            arrays[name] = _revalued(arrays[name], rng)
    buffer = io.BytesIO()
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(buffer, **arrays)
    return _repacked(buffer.getvalue(), rng) if rng.random() < 0.3 else buffer.getvalue()


def _reshaped(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    return (
        array.reshape(-1),
        array[None],
        array[..., None],
        array[:1] if array.ndim else array,
        array[:0] if array.ndim else array,
        np.concatenate([array, array]) if array.ndim else array,
        np.array(5),
        array.T,
    )[int(rng.integers(8))]


def _revalued(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    kinds = ("i1", "u8", "f2", "f4", "f8", "c16", "U3", "S2", "M8[s]", "O", "?", ">i4", [("a", "f8")], "V4")
    if rng.random() < 0.4:
        kind = kinds[int(rng.integers(len(kinds)))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # losses in the cast are intended
            try:
                return array.astype(kind)
            except (TypeError, ValueError):
                return np.zeros(array.shape, dtype=kind)
    changed = array.astype(np.float64) if array.dtype.kind in "iuf" and rng.random() < 0.5 else array.copy()
    odd = (-1, 0, 1, 2, 2**31, -(2**31), 2**62, 0.5, 1e300, np.nan, np.inf, -np.inf)
    if changed.size and changed.dtype.kind in "iuf":
        value = odd[int(rng.integers(len(odd)))]
        if changed.dtype.kind in "iu":
            limits = np.iinfo(changed.dtype)
            value = int(np.clip(np.nan_to_num(value), limits.min, limits.max // 2))
        with np.errstate(over="ignore"):  # 1e300 as a float32 is infinite, which is odd too
            changed.flat[int(rng.integers(changed.size))] = value
    return changed


def _repacked(content: bytes, rng: np.random.Generator) -> bytes:
    """Pack the members again, one with a false header or an unusual compression."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w") as target:
        names = source.namelist()
        if not names:
            return content
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            member = source.read(name)
            how = zipfile.ZIP_STORED
            if name == chosen:
                match int(rng.integers(5)):
                    case 0:
                        member = member.replace(
                            b"'shape': (", b"'shape': (9" + b"9" * int(rng.integers(9)), 1
                        )
                    case 1:
                        member = member.replace(b"'descr': '<", b"'descr': '|", 1)
                    case 2:
                        member = member.replace(b"False", b"True ", 1)
                    case 3:
                        how = zipfile.ZIP_BZIP2
                    case _:
                        member = member[: int(rng.integers(len(member)))]
            target.writestr(name, member, how)
            if name == chosen and rng.random() < 0.2:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # zipfile warns that the name occurs twice
                    target.writestr(name, member)
    return buffer.getvalue()
