"""Job kinds: what crosses process borders is exact, frozen JSON."""

from __future__ import annotations

import inspect
import json
import pkgutil

import pytest
from pydantic import ValidationError

from wm.attacks import registry
from workers.jobs.base import AttackParameters
from workers.jobs.forging import ForgeryParameters
from workers.jobs.kinds import KINDS, JobKind

LeakageParameters = KINDS["leakage"].parameters


@pytest.mark.parametrize("kind", list(JobKind))
def test_every_kind_has_a_handler_that_takes_its_parameters(kind):
    handler = pkgutil.resolve_name(KINDS[kind].handler)
    hints = inspect.get_annotations(handler, eval_str=True)
    assert list(hints) == ["parameters", "context", "return"]
    assert hints["parameters"] is KINDS[kind].parameters
    assert KINDS[kind].result.__name__ in str(hints["return"])


@pytest.mark.parametrize("attack", registry.attacks(), ids=lambda attack: attack.kind)
def test_every_attack_is_a_kind_whose_parameters_are_its_options_and_its_seed(attack):
    parameters = KINDS[attack.kind].parameters
    if not attack.is_queried:
        assert issubclass(parameters, attack.job_options)
        assert issubclass(parameters, AttackParameters) == attack.draws
        assert set(KINDS[attack.kind].result.model_fields) == {"rows", *attack.extra}


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
