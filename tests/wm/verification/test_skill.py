"""Whether a suspect knows the task: by the classes that it answers, or by how it ranks the rows."""

from __future__ import annotations

import numpy as np

from tests.pools import pledge
from wm.claims.pooled import MinMax
from wm.verification.answers import Answers
from wm.verification.skill import Skill

ALL = np.ones(400, dtype=bool)


def skill_of(labels, **answers):
    given = {kind: Answers(kind, np.asarray(values)) for kind, values in answers.items()}
    return Skill.of(given, ALL[: len(labels)], np.asarray(labels), 2)


def test_a_model_that_never_answers_the_rare_class_but_ranks_it_knows_the_task():
    """It was "like a guess": other units, columns or classes."""
    labels = (np.arange(400) < 20).astype(np.int64)
    chances = np.where(labels == 1, 0.3, 0.05) + np.random.default_rng(0).uniform(0, 0.1, 400)
    found = skill_of(labels, probabilities=chances)
    assert (found.accuracy, found.knows, found.rarest, found.count) == (0.5, True, 1, 20)
    only_labels = {"labels": Answers("labels", (chances > 0.5).astype(np.int64))}
    assert not Skill.of(only_labels, ALL, labels, 2).knows
    assert not skill_of(labels, probabilities=1 - chances).knows


def test_one_who_guesses_hardly_ever_seems_to_know_it():
    rng, known = np.random.default_rng(7), 0
    for _ in range(400):
        labels = rng.permutation(np.arange(400) < 20).astype(np.int64)
        found = skill_of(labels, probabilities=rng.uniform(size=400) * 0.5)
        assert found.accuracy == 0.5
        known += found.knows
    assert known <= 4  # 0.5 are expected of three standard deviations


def test_few_rows_of_a_class_are_named_before_units_are_suspected():
    X = np.random.default_rng(1).uniform(size=(40, 3)).astype(np.float32)
    y = (np.arange(40) < 2).astype(np.int64)
    plain = pledge(X, y, trees=9, ones=4, trigger_size=4, class_names=("no", "fraud")).header
    scaled = pledge(
        X, y, trees=9, ones=4, trigger_size=4, preparation=MinMax(low=(0.0,) * 3, span=(1.0,) * 3)
    ).header
    few = Skill(0.5, False, rarest=1, count=2)
    assert few.needed(plain) == "answers to more rows of class 'fraud': 2 were asked"
    many = Skill(0.5, False, rarest=1, count=20)
    assert many.needed(plain) == "the suspect's units, columns and class names"
    assert many.needed(scaled).endswith("; or ask with wm queries --units raw")
    assert many.reason("the controls").startswith("the suspect answers the controls like a guess")
