"""What the models of a campaign file share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class SpecModel(BaseModel):
    """Immutable; nothing unknown, nothing of another type, no number that is not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _as_list(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _no_value_twice(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if twice := [value for number, value in enumerate(values) if value in values[:number]]:
        raise ValueError(f"lists {twice[0]!r} twice")
    return values


def known(kind: str, names: list[str]) -> BeforeValidator:
    """Return a validator that refuses a name which is not in a registry, and says what is."""

    def check(value: object) -> object:
        if value not in names:
            raise ValueError(f"unknown {kind} {value!r}; known are: {', '.join(names)}")
        return value

    return BeforeValidator(check)


OneOrMore = BeforeValidator(_as_list)
Distinct = AfterValidator(_no_value_twice)
Several = Field(min_length=1)
Distance = Annotated[float, Field(ge=0, le=1)]
