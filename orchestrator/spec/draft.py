"""Find every fault of a campaign's tables at once, and keep the right parts to look for further faults.

pydantic checks a table as a whole only when all of its keys are right. Here each key is checked on its own,
and then each check of the table that reads right keys only: one that reads another is skipped. In the same
way conflicts between tables are looked for in their right parts.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ValidationError, create_model

from orchestrator.spec.attacks import TABLES, AttackSpec, OnlySpec
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.toml_lines import Path
from wm.attacks.base import AttackOptions

Fault = tuple[Path, str]
"""Path of a key, and what is wrong with it."""

_GRID = ("scheme", "trigger_share", "ones_share")


class _NoAttack(AttackSpec):
    """Stands for an attack that is wrong or left out: it conflicts neither with others nor with the data."""

    kind: str = ""
    only: OnlySpec = OnlySpec()

    @property
    def options(self) -> AttackOptions:
        """Options of no attack."""
        return AttackOptions()


def check_campaign(
    data: Mapping[str, Any], *, numbers: Sequence[int] | None = None, also: Sequence[str] = ()
) -> tuple[CampaignSpec, list[Fault]]:
    """Check a campaign file's data.

    Parameters
    ----------
    numbers
        Number of each attack in faults, ascending; by default its place in the list.
    also
        Further keys that the file may have, to suggest for misspelt ones.

    Returns
    -------
    draft
        The campaign with its right parts; wrong ones are no attributes of it, or of its tables. An attack
        is at its number.
    faults
        Everything that is wrong.
    """
    faults: list[Fault] = []
    tables = {key: value for key, value in data.items() if key != "attack"}
    draft = _check_table(CampaignSpec, tables, (), faults, also=(*also, "attack"))
    assert isinstance(draft, CampaignSpec)  # noqa: S101 - it has no check of the whole
    attacks: dict[int, BaseModel] = {}
    given = data.get("attack", [])
    if are_tables(given):
        for number, table in zip(numbers or range(len(given)), given, strict=True):
            attack = _check_attack(table, ("attack", number), faults)
            attacks[number] = attack if attack and is_whole(attack) else _NoAttack(only=_only(attack))
    else:
        faults.append((("attack",), "must be a valid list of tables: begin each by [[attack]]"))
    length = max(attacks, default=-1) + 1
    draft.__dict__["attack"] = tuple(attacks.get(number, _NoAttack()) for number in range(length))
    return draft, faults + _conflicts(draft)


def are_tables(value: object) -> bool:
    """Return whether a value is a list of tables."""
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def is_whole(table: BaseModel) -> bool:
    """Return whether every key of a table of a draft is right, and of the tables in it."""
    return type(table).model_fields.keys() <= table.__dict__.keys() and all(
        is_whole(inner) for inner in table.__dict__.values() if isinstance(inner, BaseModel)
    )


def _check_table(
    model: type[BaseModel],
    data: Mapping[str, Any],
    path: Path,
    faults: list[Fault],
    *,
    also: Iterable[str] = (),
) -> BaseModel | None:
    """Check one table, and add what is wrong to `faults`.

    Returns
    -------
    BaseModel or None
        The table's model with the right keys; others, and those that do not go together, are no attributes
        of it. None if nothing of it can be used.
    """
    wrong: set[str] = set()
    for key in data.keys() - model.model_fields.keys():
        meant = closest(key, [*model.model_fields, *also])
        advice = "remove it or fix its spelling" if meant is None else f"did you mean `{meant}`?"
        faults.append(((*path, key), f"unknown key: {advice}"))
        if meant is not None and meant not in data:
            wrong.add(meant)  # it is given, under another name
    right: dict[str, Any] = {}
    for name in model.model_fields.keys() - wrong:
        if name in data:
            right |= _check_value(model, name, data[name], (*path, name), faults)
        elif model.model_fields[name].is_required():
            faults.append(((*path, name), "is missing: add it"))
            wrong.add(name)
    table = model.model_construct(**right)
    for name in wrong | (data.keys() - right.keys()):
        table.__dict__.pop(name, None)
    unsure: set[str] = set()
    for name, check in model.__pydantic_decorators__.model_validators.items():
        if check.info.mode != "after":
            continue
        try:
            getattr(table, name)()
        except (AttributeError, ValueError) as reason:  # AttributeError: it reads a key that is wrong
            unsure |= _keys_read(name, table)
            if isinstance(reason, ValueError):
                faults.append((path, readable(str(reason))))
    if unsure - model.model_fields.keys():
        return None
    for name in unsure:
        table.__dict__.pop(name, None)
    return table


class _Reader:
    """Passes on the attributes of a table, and records which were read."""

    def __init__(self, table: BaseModel) -> None:
        self._table = table
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name != "model_fields_set":
            self.read.add(name)
        return getattr(self._table, name)


def _keys_read(check: str, table: BaseModel) -> set[str]:
    """Return the attributes that a failing check reads: keys of which one may be wrong, or a method."""
    reader = _Reader(table)
    with contextlib.suppress(AttributeError, ValueError):
        getattr(type(table), check)(reader)
    return reader.read


def _check_attack(data: Mapping[str, Any], path: Path, faults: list[Fault]) -> BaseModel | None:
    kind = data.get("kind")
    if kind is None:
        meant = next((key for key in data if closest(key, ["kind"])), None)
        if meant is None:
            faults.append((path, "kind is missing: add it"))
        else:
            faults.append(((*path, meant), "unknown key: did you mean `kind`?"))
        return None
    if not isinstance(kind, str) or kind not in TABLES:
        message = f"unknown kind {kind!r}; known are: {', '.join(map(repr, TABLES))}"
        faults.append(((*path, "kind"), readable(message)))
        return None
    return _check_table(TABLES[kind], data, path, faults)


def _check_value(
    model: type[BaseModel], name: str, value: Any, path: Path, faults: list[Fault]
) -> dict[str, Any]:
    """Return a key with its value, nothing if that cannot be used, and add what is wrong to `faults`."""
    annotation = model.model_fields[name].annotation
    inner = _table_of(annotation)
    if inner is not None and isinstance(value, dict):
        table = _check_table(inner, value, path, faults)
        return {} if table is None else {name: table}
    inner = _table_of(get_args(annotation)[0] if get_args(annotation)[1:] == (...,) else None)
    if inner is not None and are_tables(value):
        tables = [_check_table(inner, each, (*path, place), faults) for place, each in enumerate(value)]
        return {} if None in tables else {name: tuple(tables)}
    try:
        # TOML has lists only; pydantic's strict mode would insist on tuples, so it gets them as JSON.
        found = _single_field(model, name).model_validate_json(json.dumps({name: value}, default=str))
    except ValidationError as reason:
        errors = reason.errors(include_url=False)
        faults += [((*path, *_places(error["loc"][1:])), _explain(error)) for error in errors]
        return {}
    return {name: getattr(found, name)}


def _table_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a key that is a table, optional or not; None for other keys."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each if annotation is each or type(None) in get_args(annotation) else None
    return None


@functools.cache
def _single_field(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return a model with one field of another, without its checks of the whole."""
    field = model.model_fields[name]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    fields: dict[str, Any] = {name: (kind, ...)}
    config = model.model_config | {"use_attribute_docstrings": False}
    return create_model(model.__name__, __config__=config, **fields)


def _places(location: tuple[str | int, ...]) -> Path:
    """Return the part of a path inside a value, without the tags that pydantic adds for unions."""
    return tuple(part for part in location if isinstance(part, int) or not part.startswith("<"))


def _conflicts(draft: CampaignSpec) -> list[Fault]:
    """Return the conflicts between parts that are right."""
    embedding = getattr(draft, "embedding", None)
    if embedding is None or not hasattr(embedding, "grid"):  # without which the three lists are not known
        return []
    # A wrong list may have any value: those that attacks name are assumed to be in it.
    unknown = [name for name in _GRID if not hasattr(embedding, name)]
    named = {
        name: tuple(value for attack in draft.attack for value in getattr(_only(attack), name) or ())
        or type(embedding).model_fields[name].default
        for name in unknown
    }
    whole = embedding.model_copy(update=named)
    return list(draft.model_copy(update={"embedding": whole}).conflicts())


def _only(attack: object) -> OnlySpec:
    """Return an attack's `only`, without its wrong keys."""
    only = getattr(attack, "only", None)
    return OnlySpec.model_construct(**only.__dict__) if isinstance(only, OnlySpec) else OnlySpec()


def _explain(error: Any) -> str:
    """Return the message for one of pydantic's errors."""
    message = str(error["msg"]).removeprefix("Value error, ")
    value = error.get("input")
    if isinstance(value, str | int | float) and repr(value) not in message:
        message += f" (got {value!r})"
    message = readable(message)
    if error["type"] == "literal_error":
        return suggest(message, str(value), re.findall("'([^']*)'", error["ctx"]["expected"]))
    return message


def closest(given: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most similar to the given one; None if none is similar."""
    return next(iter(difflib.get_close_matches(given, known, n=1, cutoff=0.7)), None)


def suggest(message: str, given: str, known: Sequence[str]) -> str:
    """Return a message, followed by the most similar known name if there is one."""
    meant = closest(given, known)
    return message if meant is None else f"{message}; did you mean `{meant}`?"


def readable(message: str) -> str:
    """Return a message in lower case to follow a path, with a suggestion from the names that it lists."""
    message = message[:1].lower() + message[1:]
    named = re.search(r"unknown [^']*'(.*?)'[:;] known are:? (.*)", message)
    return message if named is None else suggest(message, named[1], re.findall(r"[\w.<>:-]+", named[2]))
