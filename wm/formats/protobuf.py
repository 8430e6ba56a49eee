"""Reader of the wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding).

It knows no schema: a message is a list of values for each field number, which callers read as what they are.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FAULT = "not a readable ONNX file"


class Message:
    """The fields of one message.

    Raises
    ------
    ModelError
        Bytes that are not one; also by the methods, for a field of another type.
    """

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = defaultdict(list)
        place = 0
        while place < len(data):
            tag, place = _varint(data, place)
            kind, value = tag & 7, b""
            if kind == _VARINT:
                number, place = _varint(data, place)
                self._fields[tag >> 3].append(number)
                continue
            if kind == _BYTES:
                size, place = _varint(data, place)
            elif kind in (_FIXED32, _FIXED64):
                size = 4 if kind == _FIXED32 else 8
            else:
                raise ModelError(f"{_FAULT} (a field of unknown type {kind})")
            value, place = data[place : place + size], place + size
            if place > len(data):
                raise ModelError(f"{_FAULT} (it ends too early)")
            self._fields[tag >> 3].append(value)

    def messages(self, number: int) -> list[Message]:
        """Return the messages in a field."""
        return [Message(each) for each in self.bytes_of(number)]

    def bytes_of(self, number: int) -> list[bytes]:
        """Return the byte strings in a field."""
        found = self._fields.get(number, [])
        texts = [each for each in found if isinstance(each, bytes)]
        if len(texts) < len(found):
            raise ModelError(f"{_FAULT} (a number in place of bytes)")
        return texts

    def texts(self, number: int) -> list[str]:
        """Return the texts in a field."""
        try:
            return [each.decode() for each in self.bytes_of(number)]
        except UnicodeDecodeError as reason:
            raise ModelError(f"{_FAULT} (a text that is not UTF-8)") from reason

    def text(self, number: int) -> str:
        """Return the last text in a field, empty without one."""
        return (self.texts(number) or [""])[-1]

    def integers(self, number: int) -> list[int]:
        """Return the signed integers in a field, whether packed or not."""
        found: list[int] = []
        for each in self._fields.get(number, []):
            if isinstance(each, int):
                found.append(each)
                continue
            place = 0
            while place < len(each):
                value, place = _varint(each, place)
                found.append(value)
        return [each - (1 << 64) if each >> 63 else each for each in found]

    def integer(self, number: int, default: int = 0) -> int:
        """Return the last integer in a field."""
        return (self.integers(number) or [default])[-1]

    def reals(self, number: int, dtype: Any = "<f4") -> NDArray[np.float64]:
        """Return the floating-point numbers in a field, whether packed or not, as float64."""
        try:
            return np.frombuffer(b"".join(self.bytes_of(number)), dtype).astype(np.float64)
        except ValueError as reason:
            raise ModelError(f"{_FAULT} (a list of numbers that ends too early)") from reason


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if place >= len(data):
            raise ModelError(f"{_FAULT} (it ends too early)")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), place
        shift += 7
    raise ModelError(f"{_FAULT} (a number of more than 64 bits)")
