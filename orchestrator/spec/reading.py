"""Parse the text of a campaign file, and report every fault with its line."""

from __future__ import annotations

import json
import pathlib
import tomllib
from collections.abc import Callable, Iterable, Sequence

from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.spec.campaign import CampaignSpec
from orchestrator.spec.draft import Fault, check_campaign, suggest
from orchestrator.spec.profiles import PROFILES, Profiled, profiled
from orchestrator.toml_lines import line_of, lines_of_keys

Examine = Callable[[CampaignSpec], Iterable[Fault]]
"""Yields further faults of a draft, see `check_campaign`."""


def parse_spec(
    text: str, *, what: str = "campaign", profile: str | None = None, examine: Examine | None = None
) -> CampaignSpec:
    """Validate a campaign file's text with all of its profiles, and return the campaign under one of them.

    Parameters
    ----------
    what
        Name of the file in errors.
    profile
        Name of a profile; None: the file as it is.
    examine
        Yields further faults of the campaign under that profile: those against its data.

    Raises
    ------
    SpecError
        All faults, each with its line; or there is no such profile.
    """
    try:
        data = tomllib.loads(text)
        json.dumps(data, default=str)  # refuses numbers of thousands of digits and endless nesting
    except (ValueError, RecursionError) as reason:
        raise SpecError([f"{what}: not valid TOML: {reason}"]) from reason
    versions = profiled(data)
    faults: list[Fault] = []
    of_file: list[Fault] = []
    for name, version in versions.items():  # first the file itself
        further_key = "without" if name else PROFILES
        draft, found = check_campaign(version.data, numbers=version.kept, also=(further_key,))
        faults += version.faults
        own = [fault for fault in found if not name or _is_own(fault, version, of_file)]
        faults += [(version.place(path), message) for path, message in own]
        of_file = of_file if name else found
        if examine is not None and name == (profile or ""):
            faults += [
                (path if version.given(path) is None else version.place(path), message)
                for path, message in examine(draft)
            ]
    if faults:
        raise SpecError(_located(faults, text, what))
    if profile not in (None, *versions) or profile == "":
        names = [name for name in versions if name]
        message = f"there is no profile {profile!r}; there are: {', '.join(names) or 'none at all'}"
        raise SpecError([f"{what}: profile: {suggest(message, str(profile), names)}"])
    try:
        return CampaignSpec.model_validate_json(json.dumps(versions[profile or ""].data, default=str))
    except ValidationError as reason:  # by a check that `check_campaign` cannot do
        wrong = [(tuple(error["loc"]), str(error["msg"])) for error in reason.errors()]
        raise SpecError(_located(wrong, text, what)) from reason


def _is_own(fault: Fault, version: Profiled, of_file: Sequence[Fault]) -> bool:
    """Return whether a fault under a profile is the profile's, and not already one of the file."""
    given = version.given(fault[0])
    if given is None:
        return fault[0] not in [place for place, _ in of_file]
    return not isinstance(given, dict) or fault not in of_file


def _located(faults: Sequence[Fault], text: str, what: str) -> list[str]:
    """Return a line of text for each fault, in the order of the file."""
    lines = lines_of_keys(text)
    problems = []
    for path, message in faults:
        line = line_of(lines, path)
        where = f"{what}:{line}" if line else what
        name = ".".join(map(str, path)) or "file"
        problems.append((line or 0, f"{where}: {name}: {message}"))
    return [problem for _, problem in sorted(problems)]


def read_spec(
    path: str | pathlib.Path, *, profile: str | None = None, examine: Examine | None = None
) -> CampaignSpec:
    """Read and validate a campaign file; `profile` and `examine` as in `parse_spec`.

    Raises
    ------
    SpecError
        The file cannot be read, or as in `parse_spec`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise SpecError([f"{path}: cannot be read ({reason})"]) from reason
    return parse_spec(text, what=str(path), profile=profile, examine=examine)
