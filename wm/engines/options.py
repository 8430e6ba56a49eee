"""Options of engines: declared once beside each engine, for campaigns and the command line too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from wm.errors import QueryError


class EngineOptions(BaseModel):
    """Options of an engine, each with a default; an engine without any has this model itself.

    Immutable; nothing unknown, nothing of another type, no number that is not finite. The text under each
    field is its description.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @classmethod
    def of(cls, options: Mapping[str, Any], *, engine: str = "") -> Self:
        """Return checked options.

        Parameters
        ----------
        options
            Values by name; texts are read as what they stand for only by `of_texts`.
        engine
            Its name, for the error.

        Raises
        ------
        QueryError
            An option that there is not, or a value out of its range.
        """
        try:
            return cls.model_validate(dict(options))
        except ValidationError as reason:
            raise QueryError(cls._refusal(reason, engine)) from reason

    @classmethod
    def of_texts(cls, texts: Mapping[str, str], *, engine: str = "") -> Self:
        """Return checked options that are given as texts; otherwise as `of`."""
        try:
            return cls.model_validate_strings(dict(texts), strict=False)
        except ValidationError as reason:
            raise QueryError(cls._refusal(reason, engine)) from reason

    @classmethod
    def listing(cls) -> str:
        """Return all options with their ranges and defaults, in words."""
        return ", ".join(
            f"{name} ({range_of(field)}; default {field.default})" for name, field in cls.model_fields.items()
        )

    @classmethod
    def _refusal(cls, reason: ValidationError, engine: str) -> str:
        error = reason.errors()[0]
        name = str(error["loc"][0])
        if name in cls.model_fields:
            wanted = range_of(cls.model_fields[name])
            return f"option {name} must be {wanted}, not {error['input']!r}; options: {cls.listing()}"
        known = f"its options are: {cls.listing()}" if cls.model_fields else "it has none"
        return f"engine {engine!r} has no option {name!r}; {known}"


def plain_type(field: FieldInfo) -> Any:
    """Return the type of a field, without its limits and the None of one that may be left out."""
    kind = _present(field)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _present(field: FieldInfo) -> Any:
    kinds = get_args(field.annotation)
    if type(None) not in kinds:
        return field.annotation
    return next(kind for kind in kinds if kind is not type(None))


def limits_of(field: FieldInfo) -> dict[str, Any]:
    """Return the limits of a number, of ``ge``, ``gt``, ``le`` and ``lt`` those that it has."""
    nested = getattr(_present(field), "__metadata__", ())
    parts = [*field.metadata, *(part for each in nested for part in getattr(each, "metadata", [each]))]
    return {
        name: value
        for name in ("ge", "gt", "le", "lt")
        for part in parts
        if (value := getattr(part, name, None)) is not None
    }


def range_of(field: FieldInfo) -> str:
    """Return which values an option may have, in words."""
    kind = plain_type(field)
    if kind is bool:
        return "True or False"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    limits = [f"{words[name]} {value:g}" for name, value in limits_of(field).items()]
    return ", ".join(["a whole number" if kind is int else "a finite number", *limits])
