"""Keeps an estimator's secrets out of what is printed, logged and pickled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, cast

from wm.signature import Signature


class _Hidden:
    """Mixin for a value that does not show when it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


class _HiddenText(_Hidden, str):
    __slots__ = ()


class _HiddenBytes(_Hidden, bytes):
    __slots__ = ()


class _HiddenList(_Hidden, list[Any]):
    __slots__ = ()


def hidden_signature(value: Signature | Sequence[Any] | str | None) -> Any:
    """Return a signature, or a sequence of such, that does not show when it is printed."""
    if value is None or isinstance(value, _HiddenText | _HiddenList):
        return value
    if isinstance(value, str | Signature):
        return _HiddenText(value)
    return _HiddenList(value) if isinstance(value, Iterable) else value


def hidden_key(value: bytes | str | PathLike[str] | None) -> Any:
    """Return a key that does not show when it is printed; a path is no secret."""
    return _HiddenBytes(value) if isinstance(value, bytes) and not isinstance(value, _HiddenBytes) else value


_HIDDEN = {"signature": hidden_signature, "owner_key": hidden_key}
"""Secret parameters, and what hides them."""


class Secretive:
    """Mixin for an estimator with attribute `claim_` and perhaps parameters `signature` and `owner_key`.

    Parameters do not show when they are printed. The pickle of a fitted estimator has neither them nor the
    claim: a copy predicts, but proves nothing.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those that are secret do not show when they are printed."""
        found: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]  # of BaseEstimator
        return found | {name: hide(found[name]) for name, hide in _HIDDEN.items() if name in found}

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(cast(dict[str, Any], super().__getstate__()))
        if "claim_" in state:
            del state["claim_"]
            if "signature" in state:
                state["signature"] = None
            if isinstance(state.get("owner_key"), bytes):
                state["owner_key"] = None
        return state
