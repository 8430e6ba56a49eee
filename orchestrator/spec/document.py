"""Document campaign files as JSON Schema, and attacks as a page of options and columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.spec.campaign import CampaignSpec
from wm.attacks import registry
from wm.attacks.base import Attack

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}

INTRODUCTION = """\
# Attacks: options and columns

Written by `wm campaign schema --markdown`. Each `[[attack]]` table of a [campaign file](campaigns.md) has the
`kind`, these options and, but for `calibration`, `only`, which restricts it to part of the grid.
`wm results KIND` has these columns, after the watermark's coordinates in the grid.
"""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a campaign file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | CampaignSpec.model_json_schema()


def markdown() -> str:
    """Return the page of all attacks."""
    return "\n".join([INTRODUCTION, *(line for attack in registry.attacks() for line in _attack(attack))])


def _attack(attack: Attack) -> Iterator[str]:
    yield f"## `{attack.kind}`"
    yield f"{attack.options.__doc__}\n"
    schema = attack.options.model_json_schema()
    if schema.get("properties"):
        yield "| option | values | default | meaning |\n| --- | --- | --- | --- |"
        for name, field in schema["properties"].items():
            default = json.dumps(field["default"]) if "default" in field else "required"
            default = "" if field.get("default", 0) is None else f"`{default}`"
            yield f"| `{name}` | {_values(field)} | {default} | {_table_cell(field.get('description', ''))} |"
        yield ""
    yield "| column | meaning |\n| --- | --- |"
    for name, meaning in attack.columns.items():
        yield f"| `{name}` | {_table_cell(meaning)} |"
    yield ""


def _values(field: Mapping[str, Any]) -> str:
    """Return the allowed values of an option as text."""
    if "anyOf" in field or "oneOf" in field:
        parts = [part for part in field.get("anyOf", field.get("oneOf")) if part.get("type") != "null"]
        items = [part["items"] for part in parts if part.get("type") == "array"]  # one alone needs no list
        return " or ".join(_values(part) for part in parts if part not in items)
    if "const" in field:
        return f'`"{field["const"]}"`'
    if "enum" in field:
        return ", ".join(f'`"{value}"`' for value in field["enum"])
    if field.get("type") == "array":
        return f"one or more of: {_values(field['items'])}"
    bounds = " and ".join(f"{sign} {field[name]:g}" for name, sign in _BOUNDS.items() if name in field)
    names = {
        "number": "number",
        "integer": "whole number",
        "boolean": "`true` or `false`",
        "string": "text",
        "object": "table",
    }
    return f"{names[field['type']]} {bounds}".strip()


def _table_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
