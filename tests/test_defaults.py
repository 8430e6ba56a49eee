"""One place for an embedding's defaults: what the estimator, `wm embed` and campaigns do is what it says."""

from __future__ import annotations

import inspect

import click
import pytest
from pydantic import ValidationError

from orchestrator.cli import cli
from orchestrator.cli.embed import embed as embed_command
from orchestrator.spec.model import EmbeddingSpec
from wm.embedding import SCHEMES
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.embedding.options import DEFAULTS, CodebookOptions, PaperOptions, TrainOptions
from wm.errors import EmbeddingError

NAMES = list(PaperOptions.model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_the_default_is_the_same_everywhere(name):
    wanted = getattr(DEFAULTS, name)
    with click.Context(
        cli, **cli.context_settings
    ) as parent:  # a command keeps the help option of its first context
        given = embed_command.make_context("embed", ["-o", "model"], parent=parent).params
    # The share of ones is the scheme's unless it is given.
    unset = None if name == "ones_share" else wanted
    assert given[name] == unset
    in_campaigns = EmbeddingSpec.model_fields[name].default
    assert in_campaigns == ((wanted,) if name.endswith("_share") else wanted)
    of_estimator = inspect.signature(WatermarkedForestClassifier).parameters
    if name in of_estimator and name != "adjust":  # "auto" starts from the default
        assert of_estimator[name].default == unset
    assert getattr(TrainOptions(), name, wanted) == wanted


def test_a_share_of_ones_that_is_left_out_is_the_schemes():
    assert {name: scheme.ones_share for name, scheme in SCHEMES.items()}.items() >= {
        ("paper", DEFAULTS.ones_share),
        ("codebook", CodebookOptions().ones_share),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(name):
    assert PaperOptions.model_fields[name].description.endswith(".")


@pytest.mark.parametrize(
    "bad",
    [
        {"trigger_share": 0},
        {"ones_share": 1},
        {"training": "fast"},
        {"adjust": "auto"},
        {"training": "paper", "weight_step": 0},
        {"training": "paper", "weight_step": -1.0},
        {"training": "paper", "weight_step": float("nan")},
        {"weight_step": 1},
        {"max_rounds": 0},
        {"trigger_size": 3},
    ],
)
def test_impossible_options_are_refused(bad):
    with pytest.raises(ValidationError):
        PaperOptions(**bad)
    with pytest.raises(EmbeddingError, match=r"^impossible options: .*$"):
        PaperOptions.of(**bad)


def test_the_smallest_weight_is_sought_by_training_per_tree_alone():
    assert TrainOptions(least_weight=True).training == "per-tree"
    with pytest.raises(EmbeddingError, match="least_weight is for training per-tree, not paper"):
        TrainOptions.of(training="paper", least_weight=True)
