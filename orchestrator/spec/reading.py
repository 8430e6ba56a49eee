"""From the text of a campaign file to its model, or to every fault with its line."""

from __future__ import annotations

import json
import pathlib
import tomllib
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.spec.attacks import NUMBERS, WORD
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.toml_lines import Path, line_of, lines_of_keys


def parse_spec(text: str, *, what: str = "campaign") -> CampaignSpec:
    """Validate a campaign file's text; `what` names the file in errors.

    Raises
    ------
    SpecError
        Everything that is wrong with it, each with its line.
    """
    try:
        # TOML has lists only; pydantic's strict mode would insist on tuples, so it gets them as JSON.
        data = json.dumps(tomllib.loads(text), default=str)
    except (ValueError, RecursionError) as reason:  # also numbers of thousands of digits, endless nesting
        raise SpecError([f"{what}: not valid TOML: {reason}"]) from reason
    try:
        spec = CampaignSpec.model_validate_json(data)
    except ValidationError as reason:
        faults = [(_path(error["loc"]), _explain(error)) for error in reason.errors()]
        raise SpecError(_located(faults, text, what)) from reason
    if conflicts := list(spec.conflicts()):
        raise SpecError(_located(conflicts, text, what))
    return spec


def _path(location: tuple[str | int, ...]) -> Path:
    """Return the file's path of a fault: pydantic adds the kind of an attack, and the tag of distances."""
    is_attack = location[:1] == ("attack",) and len(location) > 2
    path = location[:2] + location[3:] if is_attack else location
    return tuple(part for part in path if part not in (WORD, NUMBERS))


def _located(faults: list[tuple[Path, str]], text: str, what: str) -> list[str]:
    """Return a line for each fault, in the order of the file."""
    lines = lines_of_keys(text)
    problems = []
    for path, message in faults:
        line = line_of(lines, path)
        where = f"{what}:{line}" if line else what
        name = ".".join(map(str, path)) or "file"
        problems.append((line or 0, f"{where}: {name}: {message}"))
    return [problem for _, problem in sorted(problems)]


def read_spec(path: str | pathlib.Path) -> CampaignSpec:
    """Read and validate a campaign file.

    Raises
    ------
    SpecError
        No such file, or as in `parse_spec`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise SpecError([f"{path}: cannot be read ({reason})"]) from reason
    return parse_spec(text, what=str(path))


def _explain(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key: remove it or mend its spelling"
    if error["type"] == "missing":
        return "is missing: add it"
    if error["type"] == "union_tag_not_found":
        return "kind is missing: add it"
    if error["type"] == "union_tag_invalid":
        return f"unknown kind {error['ctx']['tag']!r}; known are: {error['ctx']['expected_tags']}"
    message = str(error["msg"]).removeprefix("Value error, ")
    value = error.get("input")
    if isinstance(value, str | int | float) and repr(value) not in message:
        message += f" (got {value!r})"
    return message[:1].lower() + message[1:]
