"""Every fault of a campaign's tables at once, and what of them can be used to look for more.

pydantic checks a table as a whole only when all of its keys are right. Here each key is checked by itself,
and then each check of the table that needs right keys only: one that asks for another finds none.
In the same way faults between tables are looked for in what is right of them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ValidationError, create_model

from orchestrator.spec.attacks import TABLES, AttackSpec, OnlySpec
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.spec.suggestions import closest, readable, suggest
from orchestrator.toml_lines import Path
from wm.attacks.base import AttackOptions

Fault = tuple[Path, str]
"""Path of a key, and what is wrong with it."""

_GRID = ("scheme", "trigger_share", "ones_share")


@dataclass(frozen=True)
class Checked:
    """A table that was checked.

    Attributes
    ----------
    table
        Its model with the keys that are right; others, and those that do not go together, are no attributes
        of it. None where nothing of it can be used.
    faults
        What is wrong with it.
    """

    table: BaseModel | None
    faults: tuple[Fault, ...] = ()


class _NoAttack(AttackSpec):
    """Stands where an attack is wrong, or left out: it conflicts with nothing, nor with the data."""

    kind: str = ""
    only: OnlySpec = OnlySpec()

    @property
    def options(self) -> AttackOptions:
        """None."""
        return AttackOptions()


def attack_kinds() -> list[str]:
    """Return the kinds of attacks that there are."""
    return list(TABLES)


def attack_model(kind: str) -> type[BaseModel] | None:
    """Return the model of an attack's table; None where there is no such kind."""
    return TABLES.get(kind)


def check_campaign(
    data: Mapping[str, Any], *, numbers: Sequence[int] | None = None, also: Sequence[str] = ()
) -> tuple[CampaignSpec, list[Fault]]:
    """Check a campaign file's data.

    Parameters
    ----------
    numbers
        What each attack is called in faults, ascending; by default it is its place.
    also
        Keys that the file may have beside those of the model, to suggest for misspelt ones.

    Returns
    -------
    draft
        The campaign with what is right; whatever is wrong is no attribute of it, or of its tables. An attack
        stands at its number.
    faults
        Everything that is wrong.
    """
    tables = {key: value for key, value in data.items() if key != "attack"}
    checked = check_table(CampaignSpec, tables, (), also=(*also, "attack"))
    draft = checked.table
    assert isinstance(draft, CampaignSpec)  # noqa: S101 - it has no check of the whole
    faults = list(checked.faults)
    attacks: dict[int, BaseModel] = {}
    given = data.get("attack", [])
    if isinstance(given, list) and all(isinstance(each, dict) for each in given):
        for number, table in zip(numbers or range(len(given)), given, strict=True):
            found = _check_attack(table, ("attack", number))
            faults += found.faults
            if found.table is not None and is_whole(found.table):
                attacks[number] = found.table
            else:  # where it is run may be wrong as well
                attacks[number] = _NoAttack(only=_only(found.table))
    else:
        faults.append((("attack",), "must be a valid list of tables: begin each by [[attack]]"))
    length = max(attacks, default=-1) + 1
    draft.__dict__["attack"] = tuple(attacks.get(number, _NoAttack()) for number in range(length))
    return draft, faults + _conflicts(draft)


def is_whole(table: BaseModel | None) -> bool:
    """Return whether every key of a table of a draft is right, and of the tables in it."""
    return (
        table is not None
        and type(table).model_fields.keys() <= table.__dict__.keys()
        and all(is_whole(inner) for inner in table.__dict__.values() if isinstance(inner, BaseModel))
    )


def check_table(
    model: type[BaseModel], data: Mapping[str, Any], path: Path, *, also: Iterable[str] = ()
) -> Checked:
    """Check one table by itself; arguments as in `check_campaign`."""
    faults: list[Fault] = []
    wrong: set[str] = set()
    for key in data.keys() - model.model_fields.keys():
        meant = closest(key, [*model.model_fields, *also])
        if meant is None:
            faults.append(((*path, key), "unknown key: remove it or fix its spelling"))
        else:
            faults.append(((*path, key), f"unknown key: did you mean `{meant}`?"))
            if meant not in data:
                wrong.add(meant)  # it is given, under another name
    right: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in wrong:
            continue
        if name in data:
            value, found = _check_value(model, name, data[name], (*path, name))
            faults += found
            if value is None and found:
                wrong.add(name)
            else:
                right[name] = value
        elif field.is_required():
            faults.append(((*path, name), "is missing: add it"))
            wrong.add(name)
    table = model.model_construct(**right)
    for name in wrong:
        table.__dict__.pop(name, None)
    unsure: set[str] = set()
    for name, check in model.__pydantic_decorators__.model_validators.items():
        if check.info.mode != "after":
            continue
        try:
            getattr(table, name)()
        except AttributeError:  # it needs a key that is wrong
            unsure |= _keys_of(name, table)
        except ValueError as reason:
            unsure |= _keys_of(name, table)
            faults.append((path, readable(str(reason))))
    if unsure - model.model_fields.keys():
        return Checked(None, tuple(faults))
    for name in unsure:
        table.__dict__.pop(name, None)
    return Checked(table, tuple(faults))


class _Reader:
    """Passes on what is read of a table, and remembers it."""

    def __init__(self, table: BaseModel) -> None:
        self._table = table
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name != "model_fields_set":
            self.read.add(name)
        return getattr(self._table, name)


def _keys_of(check: str, table: BaseModel) -> set[str]:
    """Return what a check that fails reads of its table: the keys of which one may be wrong, or a method."""
    reader = _Reader(table)
    with contextlib.suppress(AttributeError, ValueError):
        getattr(type(table), check)(reader)
    return reader.read


def _check_attack(data: Mapping[str, Any], path: Path) -> Checked:
    kind = data.get("kind")
    if kind is None:
        meant = next((key for key in data if closest(key, ["kind"])), None)
        if meant is not None:
            return Checked(None, (((*path, meant), "unknown key: did you mean `kind`?"),))
        return Checked(None, ((path, "kind is missing: add it"),))
    model = attack_model(kind) if isinstance(kind, str) else None
    if model is None:
        known = ", ".join(map(repr, attack_kinds()))
        message = f"unknown kind {kind!r}; known are: {known}"
        return Checked(None, (((*path, "kind"), readable(message)),))
    return check_table(model, data, path)


def _check_value(model: type[BaseModel], name: str, value: Any, path: Path) -> tuple[Any, list[Fault]]:
    """Return a key's value, None if it cannot be used at all, and what is wrong with it."""
    annotation = model.model_fields[name].annotation
    inner = _table_of(annotation)
    if inner is not None and isinstance(value, dict):
        checked = check_table(inner, value, path)
        return checked.table, list(checked.faults)
    several = get_args(annotation)[0] if get_args(annotation)[1:] == (...,) else None
    inner = _table_of(several)
    if inner is not None and isinstance(value, list) and all(isinstance(each, dict) for each in value):
        parts = [check_table(inner, each, (*path, place)) for place, each in enumerate(value)]
        faults = [fault for part in parts for fault in part.faults]
        tables = tuple(part.table for part in parts)
        return None if None in tables else tables, faults
    try:
        # TOML has lists only; pydantic's strict mode would insist on tuples, so it gets them as JSON.
        found = _alone(model, name).model_validate_json(json.dumps({name: value}, default=str))
    except ValidationError as reason:
        return None, [
            ((*path, *_places(error["loc"][1:])), _explain(error))
            for error in reason.errors(include_url=False)
        ]
    return getattr(found, name), []


def _table_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a key that is a table, or may be left out as one."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each if annotation is each or type(None) in get_args(annotation) else None
    return None


@functools.cache
def _alone(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return a model with one field of another, and none of its checks of the whole."""
    field = model.model_fields[name]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    fields: dict[str, Any] = {name: (kind, ...)}
    config = model.model_config | {"use_attribute_docstrings": False}
    return create_model(model.__name__, __config__=config, **fields)


def _places(location: tuple[str | int, ...]) -> Path:
    """Return the part of a path inside a value, without the tags that pydantic adds where types differ."""
    return tuple(part for part in location if isinstance(part, int) or not part.startswith("<"))


def _conflicts(draft: CampaignSpec) -> list[Fault]:
    """Return what does not go together though each part is right."""
    embedding = getattr(draft, "embedding", None)
    if embedding is None or not hasattr(embedding, "grid"):  # without which the three lists are not known
        return []
    # A list that is wrong may have any value: those that attacks name are taken to be in it.
    unknown = [name for name in _GRID if not hasattr(embedding, name)]
    named = {
        name: tuple(value for attack in draft.attack for value in getattr(_only(attack), name) or ())
        or type(embedding).model_fields[name].default
        for name in unknown
    }
    whole = embedding.model_copy(update=named)
    return list(draft.model_copy(update={"embedding": whole}).conflicts())


def _only(attack: object) -> OnlySpec:
    """Return the part of the grid that an attack names; what is wrong in it restricts nothing."""
    only = getattr(attack, "only", None)
    return OnlySpec.model_construct(**only.__dict__) if isinstance(only, OnlySpec) else OnlySpec()


def _explain(error: Any) -> str:
    """Return one of pydantic's errors in our words."""
    if error["type"] == "extra_forbidden":
        return "unknown key: remove it or fix its spelling"
    if error["type"] == "missing":
        return "is missing: add it"
    message = str(error["msg"]).removeprefix("Value error, ")
    value = error.get("input")
    if isinstance(value, str | int | float) and repr(value) not in message:
        message += f" (got {value!r})"
    message = readable(message)
    if error["type"] == "literal_error":
        return suggest(message, str(value), re.findall("'([^']*)'", error["ctx"]["expected"]))
    return message
