"""Reader of UBJSON, the binary JSON of XGBoost's ``.ubj`` files.

Types and layout as in https://ubjson.org (draft 12); numbers are big-endian. Typed arrays become numpy
arrays.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from wm.errors import ModelError

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "N": None, "T": True, "F": False}

_DEEPEST = 64
"""Nesting that is followed; a model file has about ten levels."""


def parse(data: bytes) -> Any:
    """Return the content of a UBJSON document: dicts, lists, numpy arrays, texts and numbers.

    Raises
    ------
    ModelError
        Anything else, or bytes after it.
    """
    reader = _Reader(data)
    try:
        found = reader.value(reader.letter(), 0)
    except (struct.error, UnicodeDecodeError) as reason:
        raise ModelError(f"not a readable UBJSON file ({reason})") from reason
    if reader.place != len(data):
        raise ModelError("not a readable UBJSON file (more bytes follow its end)")
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def take(self, count: int) -> bytes:
        end = self.place + count
        if count < 0 or end > len(self._data):
            raise ModelError("not a readable UBJSON file (it ends too early)")
        found, self.place = self._data[self.place : end], end
        return found

    def letter(self) -> str:
        return self.take(1).decode("latin-1")

    def _next_is(self, letter: str) -> bool:
        found = self._data[self.place : self.place + 1] == letter.encode()
        self.place += found
        return found

    def value(self, kind: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ModelError("not a readable UBJSON file (nested too deeply)")
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        match kind:
            case "S" | "H":
                return self._text()
            case "C":
                return self.letter()
            case "[":
                return self._array(depth)
            case "{":
                return self._object(depth)
        raise ModelError(f"not a readable UBJSON file (unknown type {kind!r})")

    def _count(self) -> int:
        number = self.value(self.letter(), 0)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= len(self._data):
            raise ModelError("not a readable UBJSON file (a length that its bytes cannot hold)")
        return number

    def _text(self) -> str:
        return self.take(self._count()).decode()

    def _array(self, depth: int) -> Any:
        if self._next_is("$"):
            kind = self.letter()
            if not self._next_is("#") or kind not in _NUMBERS:
                raise ModelError("not a readable UBJSON file (a typed array that is not of numbers)")
            dtype = np.dtype(_NUMBERS[kind])
            found = np.frombuffer(self.take(self._count() * dtype.itemsize), dtype)
            return found.astype(dtype.newbyteorder("="))
        if self._next_is("#"):
            return [self.value(self.letter(), depth + 1) for _ in range(self._count())]
        items = []
        while not self._next_is("]"):
            items.append(self.value(self.letter(), depth + 1))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._next_is("#"):
            for _ in range(self._count()):
                name = self._text()
                found[name] = self.value(self.letter(), depth + 1)
            return found
        while not self._next_is("}"):
            name = self._text()
            found[name] = self.value(self.letter(), depth + 1)
        return found
