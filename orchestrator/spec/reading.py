"""From the text of a campaign file to its model, or to every fault with its line."""

from __future__ import annotations

import json
import pathlib
import tomllib
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.spec.profiles import place, profiled
from orchestrator.toml_lines import Path, line_of, lines_of_keys
from wm.attacks.forgery import NUMBERS, WORD


def parse_spec(text: str, *, what: str = "campaign", profile: str | None = None) -> CampaignSpec:
    """Validate a campaign file's text, with all of its profiles, and return what one of them makes of it.

    Parameters
    ----------
    what
        Names the file in errors.
    profile
        Name of a profile; None: the file as it is.

    Raises
    ------
    SpecError
        Everything that is wrong with it, each with its line; or there is no such profile.
    """
    try:
        data = tomllib.loads(text)
        # Numbers of thousands of digits and endless nesting are told here.
        json.dumps(data, default=str)
    except (ValueError, RecursionError) as reason:
        raise SpecError([f"{what}: not valid TOML: {reason}"]) from reason
    versions = profiled(data)
    faults = [fault for version in versions.values() for fault in version.faults]
    specs: dict[str, CampaignSpec] = {}
    for name, version in versions.items():  # first the file itself: if that is wrong, all are
        if faults:
            break
        spec, wrong = _validated(version.data)
        faults = [(place(path, version), message) for path, message in wrong]
        if spec is not None:
            specs[name] = spec
    if faults:
        raise SpecError(_located(faults, text, what))
    if profile not in (None, *versions) or profile == "":
        there = ", ".join(name for name in versions if name) or "none at all"
        raise SpecError([f"{what}: profile: there is no profile {profile!r}; there are: {there}"])
    return specs[profile or ""]


def _validated(data: dict[str, Any]) -> tuple[CampaignSpec | None, list[tuple[Path, str]]]:
    """Return the model of a file's data, or else what is wrong with it."""
    try:
        # TOML has lists only; pydantic's strict mode would insist on tuples, so it gets them as JSON.
        spec = CampaignSpec.model_validate_json(json.dumps(data, default=str))
    except ValidationError as reason:
        return None, [(_path(error["loc"]), _explain(error)) for error in reason.errors()]
    conflicts = list(spec.conflicts())
    return (None, conflicts) if conflicts else (spec, [])


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


def read_spec(path: str | pathlib.Path, *, profile: str | None = None) -> CampaignSpec:
    """Read and validate a campaign file; `profile` as in `parse_spec`.

    Raises
    ------
    SpecError
        No such file, or as in `parse_spec`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise SpecError([f"{path}: cannot be read ({reason})"]) from reason
    return parse_spec(text, what=str(path), profile=profile)


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
