"""Options of engines: declared once per engine, for Python, campaigns and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from wm.errors import QueryError


class EngineOptions(BaseModel):
    """Options of an engine, each with a default; an engine without options has this model itself.

    Immutable and strict: no unknown names, no other types, no numbers that are not finite. The text below a
    field is its description.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @classmethod
    def of(cls, options: Mapping[str, Any], *, engine: str = "", texts: bool = False) -> Self:
        """Return checked options.

        Parameters
        ----------
        options
            Values by name.
        engine
            Its name, for the error.
        texts
            Whether the values are texts to be parsed.

        Raises
        ------
        QueryError
            An unknown option, or a value out of its range.
        """
        try:
            if texts:
                return cls.model_validate_strings(dict(options), strict=False)
            return cls.model_validate(dict(options))
        except ValidationError as reason:
            raise QueryError(cls._message(reason, engine)) from reason

    @classmethod
    def _message(cls, reason: ValidationError, engine: str) -> str:
        error = reason.errors()[0]
        name = str(error["loc"][0])
        known = ", ".join(
            f"{each} ({_range_of(field)}; default {field.default})"
            for each, field in cls.model_fields.items()
        )
        if name in cls.model_fields:
            wanted = _range_of(cls.model_fields[name])
            return f"option {name} must be {wanted}, not {error['input']!r}; options: {known}"
        known = f"its options are: {known}" if known else "it has none"
        return f"engine {engine!r} has no option {name!r}; {known}"


def plain_type(field: FieldInfo) -> Any:
    """Return the type of a field, without limits and without the None of an optional field."""
    kind = _present(field)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _present(field: FieldInfo) -> Any:
    kinds = get_args(field.annotation)
    if type(None) not in kinds:
        return field.annotation
    return next(kind for kind in kinds if kind is not type(None))


def limits_of(field: FieldInfo) -> dict[str, Any]:
    """Return those of ``ge``, ``gt``, ``le`` and ``lt`` that limit a number."""
    nested = getattr(_present(field), "__metadata__", ())
    parts = [*field.metadata, *(part for each in nested for part in getattr(each, "metadata", [each]))]
    return {
        name: value
        for name in ("ge", "gt", "le", "lt")
        for part in parts
        if (value := getattr(part, name, None)) is not None
    }


def _range_of(field: FieldInfo) -> str:
    """Return the allowed values of an option in words."""
    kind = plain_type(field)
    if kind is bool:
        return "True or False"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    limits = [f"{words[name]} {value:g}" for name, value in limits_of(field).items()]
    return ", ".join(["a whole number" if kind is int else "a finite number", *limits])
