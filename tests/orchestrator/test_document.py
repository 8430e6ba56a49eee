"""The page of attacks and the schema agree with the models."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from orchestrator.spec import document
from wm.attacks import registry

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = sorted((ROOT / "campaigns").glob("*.toml"))


def test_the_page_in_docs_equals_the_output_of_the_command():
    assert (ROOT / "docs" / "attack-options.md").read_text().rstrip() == document.markdown().rstrip()


@pytest.mark.parametrize("attack", registry.attacks(), ids=lambda attack: attack.kind)
def test_every_option_and_column_is_on_the_page(attack):
    page = document.markdown()
    for name in (*attack.options.model_fields, *attack.columns):
        assert f"| `{name}` |" in page


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_every_campaign_file_of_ours_fits_the_schema(path):
    data = tomllib.loads(path.read_text())
    data.pop("profile", None)
    validator = Draft202012Validator(json.loads(json.dumps(document.json_schema())))
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors(data | {"misspelt": 1}))
