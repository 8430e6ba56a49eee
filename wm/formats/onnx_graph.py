"""The parts of an ONNX file that readers of its operators need, without onnx.

Fields are numbered as in onnx.proto.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.forest_checks import InputDtype
from wm.formats.protobuf import Message

_GRAPH, _METADATA, _NODES, _INPUTS = 7, 14, 1, 11
_OP_TYPE, _ATTRIBUTE = 4, 5
_NAME, _TENSOR, _REALS, _INTEGERS, _STRINGS, _INTEGER, _STRING = 1, 5, 7, 8, 9, 3, 4
_FLOAT, _DOUBLE = 1, 11
_TYPES: dict[int, InputDtype] = {_FLOAT: "float32", 6: "float32", 7: "float32", _DOUBLE: "float64"}
"""Input types: float, int32, int64, double."""


class Attributes:
    """An operator's attributes by name."""

    def __init__(self, node: Message) -> None:
        self._named = {each.text(_NAME): each for each in node.messages(_ATTRIBUTE)}

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return a list of whole numbers, empty without it."""
        found = self._named[name].integers(_INTEGERS) if name in self._named else []
        return np.array(found, dtype=np.int64)

    def integer(self, name: str, default: int) -> int:
        """Return a whole number."""
        return self._named[name].integer(_INTEGER, default) if name in self._named else default

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, empty without it."""
        return self._named[name].texts(_STRINGS) if name in self._named else []

    def text(self, name: str, default: str) -> str:
        """Return a text."""
        return self._named[name].text(_STRING) if name in self._named else default

    def reals(self, name: str) -> NDArray[np.float64]:
        """Return numbers in single precision, or those in double precision that replace them."""
        if f"{name}_as_tensor" not in self._named:
            return self._named[name].reals(_REALS) if name in self._named else np.zeros(0)
        tensors = self._named[f"{name}_as_tensor"].messages(_TENSOR)
        if len(tensors) != 1 or tensors[0].integer(2) not in (_FLOAT, _DOUBLE):
            raise ModelError(f"{name}_as_tensor is not a tensor of real numbers")
        single = tensors[0].integer(2) == _FLOAT
        raw = tensors[0].reals(9, "<f4" if single else "<f8")
        return raw if len(raw) else tensors[0].reals(4 if single else 10, "<f4" if single else "<f8")


def matrix_input(graph: Message) -> tuple[InputDtype, int]:
    """Return the type of the graph's input and its columns, 0 if it does not say."""
    inputs = graph.messages(_INPUTS)
    if len(inputs) != 1:
        raise ModelError(f"its graph has {len(inputs)} inputs: one matrix of numbers is read")
    tensors = [tensor for kind in inputs[0].messages(2) for tensor in kind.messages(1)]
    element = tensors[0].integer(1) if tensors else 0
    if element not in _TYPES:
        raise ModelError("its graph's input is not a matrix of numbers")
    sizes = [size.integer(1) for shape in tensors[0].messages(2) for size in shape.messages(1)]
    return _TYPES[element], max(0, sizes[1]) if len(sizes) == 2 else 0


def metadata(data: bytes, name: str) -> str:
    """Return what a file's metadata say under a name, "" without it."""
    entries = Message(data).messages(_METADATA)
    return next((each.text(2) for each in entries if each.text(1) == name), "")


def operators(data: bytes) -> tuple[Message, dict[str, list[Attributes]]]:
    """Return a file's graph, and the attributes of its operators by type.

    Raises
    ------
    ModelError
        Bytes that are not an ONNX file.
    """
    graphs = Message(data).messages(_GRAPH)
    if not graphs:
        raise ModelError("not an ONNX file: it holds no graph")
    found: dict[str, list[Attributes]] = {}
    for node in graphs[0].messages(_NODES):
        found.setdefault(node.text(_OP_TYPE), []).append(Attributes(node))
    return graphs[0], found
