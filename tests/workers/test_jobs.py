"""Job kinds: what crosses process borders is exact, frozen JSON."""

from __future__ import annotations

import importlib
import inspect
import json

import pytest
from pydantic import ValidationError

from workers.jobs import KINDS, ForgeryParameters, JobKind, LeakageParameters


@pytest.mark.parametrize("kind", list(JobKind))
def test_every_kind_has_a_handler_that_takes_its_parameters(kind):
    handler = importlib.import_module(KINDS[kind].handler).run
    hints = inspect.get_annotations(handler, eval_str=True)
    assert list(hints) == ["parameters", "context", "return"]
    assert hints["parameters"] is KINDS[kind].parameters
    assert KINDS[kind].result.__name__ in str(hints["return"])


def test_parameters_survive_json():
    given = LeakageParameters(limit_s=5.0, memory_mb=100)
    text = json.dumps(given.model_dump(mode="json"))
    assert LeakageParameters.model_validate(json.loads(text)) == given


@pytest.mark.parametrize("change", [{"limit_s": 0}, {"memory_mb": 0}, {"strange": 1}, {"limit_s": "long"}])
def test_wrong_parameters_are_refused(change):
    with pytest.raises(ValidationError):
        LeakageParameters.model_validate(change)


def test_parameters_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        LeakageParameters().limit_s = 3.0


@pytest.mark.parametrize(
    "name", ["engine", "signature", "ones_share", "eps", "first", "count", "seed", "timeout_s"]
)
def test_nothing_about_a_forgery_batch_is_left_to_a_default(name):
    assert ForgeryParameters.model_fields[name].is_required()
