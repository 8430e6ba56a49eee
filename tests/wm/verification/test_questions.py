"""Questions: the order returns each answer to its row, and hides the trigger rows from everybody else."""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests import witness
from wm.claims.opened import challenged_rows, open_claim
from wm.claims.pooled import Header, MinMax, new_claim
from wm.embedding.claimed import owner_key
from wm.errors import ClaimError
from wm.verification.answers import Answers
from wm.verification.questions import Order, build_questions, controls_needed, read_order, sort_answers
from wm.verification.randomization import row_floor
from wm.verification.samples import sample_of

KEY = owner_key(1)


@cache
def claim_of(k, n, preparation=None):
    header = Header(
        scheme="paper",
        trees=4,
        ones=2,
        trigger_size=k,
        pool_size=n,
        owner=KEY.public_key().public_bytes_raw().hex(),
        model_id="forest",
        class_names=("no", "yes"),
        feature_names=("a", "b", "c"),
        domain=((0.0, 1.0),) * 3,
        preparation=preparation,
    )
    rng = np.random.default_rng([k, n])
    parts = {"salt": bytes(32), "secret": bytes(range(32))}
    undrawn = new_claim(header, rng.random((n, 3)).astype(np.float32), np.arange(n) % 2, **parts)
    return undrawn.model_copy(update={"receipts": (witness.witness(undrawn),)})


def sample(k, n):
    return sample_of(claim_of(k, n))


SAMPLE = sample(4, 20)
ORDER = build_questions(SAMPLE, np.random.default_rng(0), controls=9, repeats=3).order


@given(
    k=st.integers(1, 6),
    n=st.integers(7, 30),
    controls=st.integers(1, 40),
    repeats=st.integers(0, 50),
    seed=st.integers(0, 2**32),
)
def test_every_answer_goes_back_to_its_row(k, n, controls, repeats, seed):
    asked = sample(k, n)
    questions = build_questions(asked, np.random.default_rng(seed), controls=controls, repeats=repeats)
    size = k + min(controls, n - k)
    assert len(questions.X) == len(questions.order.asked) == size + min(repeats, size)
    rows = Answers("votes", questions.X)  # each row is its own answer
    labels = Answers("labels", questions.X[:, 0])
    found = sort_answers({"votes": rows, "labels": labels}, questions.order, asked)
    np.testing.assert_array_equal(found.answers["votes"].values, asked.X[found.asked])
    np.testing.assert_array_equal(found.answers["labels"].values, asked.X[found.asked, 0])
    assert len(set(found.asked.tolist())) == size
    assert int(asked.is_trigger[found.asked].sum()) == k
    assert (found.asked_twice, found.answered_differently) == (min(repeats, size), 0)
    assert Order.model_validate_json(questions.order.to_line()) == questions.order


def test_the_order_hides_the_trigger_rows_and_depends_on_the_judges_generator_alone():
    def asked(seed):
        return build_questions(SAMPLE, np.random.default_rng(seed), controls=16)

    np.testing.assert_array_equal(asked(7).X, asked(7).X)
    assert asked(7).order != asked(8).order
    # Each place is as likely for a trigger row as any other.
    places = [np.flatnonzero(np.isin(asked(seed).order.asked, SAMPLE.draw.triggers)) for seed in range(300)]
    assert stats.chisquare(np.bincount(np.concatenate(places), minlength=20)).pvalue > 1e-4


@pytest.mark.parametrize("kind", ["votes", "labels"])
@pytest.mark.parametrize("repeats", [0, 6])
def test_answers_that_differ_are_counted(kind, repeats):
    asked = build_questions(SAMPLE, np.random.default_rng(0), controls=9, repeats=repeats)
    values = asked.X.copy()
    order = asked.order.asked
    again = [place for place, row in enumerate(order) if row in order[:place]]
    values[again[:2], 0] += 1
    given_answers = Answers(kind, values if kind == "votes" else values[:, 0])
    found = sort_answers({kind: given_answers}, asked.order, SAMPLE)
    assert (found.asked_twice, found.answered_differently) == (repeats, min(2, repeats))


def test_answers_of_one_kind_that_differ_are_counted_once():
    asked = build_questions(SAMPLE, np.random.default_rng(0), controls=9, repeats=6)
    order = asked.order.asked
    place = next(place for place, row in enumerate(order) if row in order[:place])
    values = asked.X.copy()
    values[place] += 1
    both = {"votes": Answers("votes", values), "labels": Answers("labels", values[:, 0])}
    assert sort_answers(both, asked.order, SAMPLE).answered_differently == 1


def test_answers_to_other_questions_are_refused():
    rows = Answers("votes", np.zeros((len(ORDER.asked), 4), dtype=np.int64))
    with pytest.raises(ClaimError, match="another claim's rows"):
        sort_answers({"votes": rows}, ORDER, sample(3, 20))
    with pytest.raises(ClaimError, match="16 rows were asked, but 15 are answered by labels"):
        sort_answers({"votes": rows, "labels": rows.take(range(15))}, ORDER, SAMPLE)
    beyond = ORDER.model_copy(update={"asked": (*ORDER.asked[:-1], 20)})
    with pytest.raises(ClaimError, match="rows that the claim does not show"):
        sort_answers({"votes": rows}, beyond, SAMPLE)


@given(st.integers(0, 2**32 - 1))
def test_numbered_answers_may_come_in_any_order(seed):
    asked = build_questions(SAMPLE, np.random.default_rng(0), controls=9, repeats=6)
    in_order = sort_answers({"votes": Answers("votes", asked.X)}, asked.order, SAMPLE)
    places = np.random.default_rng(seed).permutation(len(asked.X))
    moved = Answers("votes", asked.X[places], places + 1)
    found = sort_answers({"votes": moved}, asked.order, SAMPLE)
    np.testing.assert_array_equal(found.answers["votes"].values, in_order.answers["votes"].values)
    assert (found.asked_twice, found.answered_differently) == (6, 0)


@pytest.mark.parametrize(
    ("ids", "word"),
    [
        ([*range(1, 8), *range(9, 17)], "these ids are not answered by labels: 8$"),
        ([1], r"not answered by labels: 2, 3, 4, 5, 6 and 10 more$"),
        ([*range(18)], "answered by labels, but were not asked: 0, 17$"),
        ([*range(1, 17), 3], "answered by labels more than once: 3$"),
    ],
)
def test_questions_that_are_not_answered_once_are_named(ids, word):
    given_answers = Answers("labels", np.zeros(len(ids), dtype=np.int64), np.array(ids))
    with pytest.raises(ClaimError, match=word):
        sort_answers({"labels": given_answers}, ORDER, SAMPLE)


@pytest.mark.parametrize("spare", [0, 3, 15, 16, 40])
def test_spare_controls_are_none_of_the_questions(spare):
    asked = build_questions(SAMPLE, np.random.default_rng(1), controls=16, spare=spare)
    rows = {row.tobytes() for row in asked.X}
    controls = {row.tobytes() for row in SAMPLE.X[~SAMPLE.is_trigger]}
    aside = {row.tobytes() for row in asked.spare}
    assert len(aside) == min(spare, 15)
    assert aside <= controls
    assert not aside & rows
    assert rows | aside == {row.tobytes() for row in SAMPLE.X}


def test_an_opening_is_asked_by_its_rows():
    claim = claim_of(4, 20)
    triggers = SAMPLE.draw.triggers
    shown = challenged_rows(claim.commitment, "case 17", triggers, 20, shown=2, controls=5)
    opened = sample_of(open_claim(claim, KEY, "case 17", shown))
    asked = build_questions(opened, np.random.default_rng(0), controls=5)
    assert sorted(asked.order.asked) == list(shown)
    found = sort_answers({"votes": Answers("votes", asked.X)}, asked.order, opened)
    np.testing.assert_array_equal(found.answers["votes"].values, claim.X[list(shown)])
    np.testing.assert_array_equal(found.asked, np.arange(7))
    whole = build_questions(SAMPLE, np.random.default_rng(0), controls=16)
    with pytest.raises(ClaimError, match="rows that the claim does not show"):
        sort_answers({"votes": Answers("votes", whole.X)}, whole.order, opened)


def test_rows_are_asked_in_raw_units():
    prepared = claim_of(4, 20, MinMax(low=(0.0, -5.0, 100.0), span=(1.0, 10.0, 0.0)))
    asked = build_questions(sample_of(prepared), np.random.default_rng(0), controls=16, units="raw")
    X = prepared.X[list(asked.order.asked)]
    expected = np.column_stack([X[:, 0], X[:, 1] * 10 - 5, np.full(20, 100)])
    np.testing.assert_allclose(asked.X, expected, rtol=1e-6)
    assert (asked.X.dtype, asked.order.units) == (np.float32, "raw")
    with pytest.raises(ClaimError, match="raw units already"):
        build_questions(SAMPLE, np.random.default_rng(0), controls=5, units="raw")


@given(k=st.integers(1, 6), n=st.integers(7, 60), exponent=st.integers(1, 12))
def test_as_few_controls_as_make_the_level_possible(k, n, exponent):
    asked, level = sample(k, n), 10.0**-exponent
    count = controls_needed(asked, level)
    assert 1 <= count <= n - k
    assert count >= min(5 * k, n - k)
    goal = np.log10(level / 2) - 2  # with a margin
    if count < n - k:
        assert row_floor(k + count, k) < goal + 1e-9
    if min(5 * k, n - k) < count:
        assert row_floor(k + count - 1, k) > goal - 1e-9


def edited(**changes):
    return json.dumps(json.loads(ORDER.to_line()) | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a valid order"),
        ("[]", "not a valid order"),
        ("[" * 100_000, "not a valid order"),
        (edited(format="other"), "format"),
        (edited(version=1), "version"),
        (edited(commitment="00"), "commitment"),
        (edited(units="metres"), "units"),
        (edited(asked=[]), "asked"),
        (edited(asked=[-1]), "asked.0"),
        (edited(asked=[0, 2**70]), "asked.1"),
        (edited(asked=[True]), "asked.0"),
        (edited(extra=1), "extra"),
    ],
    ids=itertools.count(),
)
def test_a_faulty_order_is_refused(tmp_path, text, reason):
    file = tmp_path / "order.json"
    file.write_text(text)
    with pytest.raises(ClaimError) as refused:
        read_order(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert reason in str(refused.value)


def test_an_order_cannot_be_changed(tmp_path):
    file = tmp_path / "order.json"
    file.write_text(ORDER.to_line())
    assert read_order(file) == ORDER
    with pytest.raises(ValueError, match="frozen"):
        ORDER.asked = ()
