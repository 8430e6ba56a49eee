"""Apply the profiles of a campaign file: named changes, as `[profile.quick]`, that scale it down or up.

A profile has the shape of the file. Its tables change the keys that they name and keep the others; its other
values replace those of the file, lists and the table `forest` as a whole. Grids of watermarks replace lists
of shares, and such lists replace grids. `attack` is a table by kind: `[profile.quick.attack.forgery]` changes
all attacks of that kind. `without` lists kinds to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.spec.draft import are_tables, suggest
from orchestrator.toml_lines import Path

PROFILES = "profile"
"""The table of profiles in a campaign file."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REPLACED = {"forest"}
"""Tables whose keys exclude one another: a profile's table replaces the file's."""

_LISTS = {"scheme", "trigger_share", "ones_share"}
"""Keys of `embedding` that span one grid if no grids are given."""

_FIXED = {"name", "seed", PROFILES}
"""Keys that a profile cannot change: it would be another campaign."""


@dataclass(frozen=True)
class Profiled:
    """A campaign file's data under a profile."""

    data: dict[str, Any]
    """The file without its profiles, with the changes of this profile."""
    faults: tuple[tuple[Path, str], ...] = ()
    """Faults of the profile itself: path in the file, and why."""
    profile: str = ""
    """Its name; empty for the file as it is."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The profile's table."""
    kept: tuple[int, ...] | None = None
    """Numbers of the file's attacks that are left; None if `attack` is no list of tables."""

    def given(self, path: Path) -> Any:
        """Return the profile's own value at a path of its data; None if it has none."""
        found: Any = self.changes
        for part in self._placed(path):
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def place(self, path: Path) -> Path:
        """Return the path in the file of a key of the data under the profile."""
        return (PROFILES, self.profile, *self._placed(path)) if self.profile else path

    def _placed(self, path: Path) -> Path:
        """Return a path with the kind of an attack instead of its number, as in profiles."""
        if path[:1] != ("attack",) or len(path) < 2 or self.kept is None:
            return path
        kind = self.data["attack"][self.kept.index(int(path[1]))].get("kind")
        return ("attack", str(kind), *path[2:])


def profiled(data: Mapping[str, Any]) -> dict[str, Profiled]:
    """Return a campaign file's data, as read by `tomllib`, under each profile; under "" without any."""
    plain = {key: value for key, value in data.items() if key != PROFILES}
    found = data.get(PROFILES, {})
    if not isinstance(found, dict):
        fault = (PROFILES,), "must be a table of profiles, as in [profile.quick]"
        return {"": Profiled(plain, (fault,))}
    return {"": Profiled(plain)} | {name: _apply(plain, str(name), found[name]) for name in found}


def _apply(plain: Mapping[str, Any], name: str, changes: Any) -> Profiled:
    """Return the file's data under one profile."""
    here: Path = (PROFILES, name)
    if not isinstance(changes, dict):
        return Profiled(dict(plain), ((here, "must be a table of changes"),), name)
    faults: list[tuple[Path, str]] = []
    if not _NAME.fullmatch(name):
        faults.append((here, f"{name!r} is no name for a profile: letters, digits, dot, dash, underscore"))
    data: dict[str, Any] = dict(plain)
    for key, value in changes.items():
        if key in _FIXED:
            faults.append(((*here, key), "cannot be changed by a profile: remove it"))
        elif key not in ("attack", "without"):
            old = _without_replaced_points(data.get(key), value) if key == "embedding" else data.get(key)
            data[key] = value if key in _REPLACED else _merged(old, value)
    attacks, kept = _attacks(plain.get("attack", []), changes, here, faults)
    if "attack" in plain:
        data["attack"] = attacks
    if isinstance(data.get("name"), str) and _NAME.fullmatch(name):
        data["name"] = f"{data['name']}-{name}"
    return Profiled(data, tuple(faults), name, changes, kept)


def _attacks(
    attacks: Any, changes: Mapping[str, Any], here: Path, faults: list[tuple[Path, str]]
) -> tuple[Any, tuple[int, ...] | None]:
    """Return the attacks under a profile, and their numbers in the file."""
    by_kind, without = changes.get("attack", {}), changes.get("without", [])
    if not isinstance(by_kind, dict) or not all(isinstance(value, dict) for value in by_kind.values()):
        message = f"must be a table by kind, as in [profile.{here[1]}.attack.forgery]"
        faults.append(((*here, "attack"), message))
        by_kind = {}
    if not isinstance(without, list) or not all(isinstance(kind, str) for kind in without):
        faults.append(((*here, "without"), 'must be a list of kinds of attacks, as in ["forgery"]'))
        without = []
    if not are_tables(attacks):
        return attacks, None  # a fault of the file itself
    kinds = sorted({attack["kind"] for attack in attacks if isinstance(attack.get("kind"), str)})
    places = [(kind, (*here, "attack", kind)) for kind in by_kind]
    for kind, path in [*places, *((kind, (*here, "without")) for kind in without)]:
        if kind not in kinds:
            there = ", ".join(kinds) or "none at all"
            message = f"the file has no attack of kind {kind!r}; there are: {there}"
            faults.append((path, suggest(message, kind, kinds)))
    kept = tuple(number for number, attack in enumerate(attacks) if attack.get("kind") not in without)
    merged = [_merged(attacks[number], by_kind.get(str(attacks[number].get("kind")), {})) for number in kept]
    return merged, kept


def _without_replaced_points(embedding: Any, changes: Any) -> Any:
    """Return the file's `embedding` without the lists or grids that a profile replaces."""
    if not isinstance(embedding, dict) or not isinstance(changes, dict):
        return embedding
    dropped = _LISTS if "grid" in changes else {"grid"} if changes.keys() & _LISTS else set()
    return {key: value for key, value in embedding.items() if key not in dropped}


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {key: _merged(old.get(key), value) for key, value in new.items()}
