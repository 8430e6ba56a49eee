"""Signatures: exact share of ones, uniform, reproducible; attackers' independent of the owner's."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.attacks.forgery import attacker_signature
from wm.errors import SignatureError
from wm.signature import MIN_KEY_BYTES, Signature, count_of_ones, keyed_signature, random_signature
from wm.streams import Role, generator

KEY = b"0123456789abcdef"
lengths = st.integers(1, 120)
shares = st.floats(0, 1)
bits = st.lists(st.integers(0, 1), min_size=1, max_size=50)


# --- the record itself


@given(bits)
def test_every_form_of_the_bits_gives_the_same_signature(ones_and_zeros):
    signature = Signature.of(ones_and_zeros)
    assert signature.bits == tuple(ones_and_zeros)
    assert Signature.of(str(signature)) == signature
    assert Signature.of(signature.array) == signature
    assert Signature.of(np.array(ones_and_zeros, dtype=float)) == signature
    assert all(type(bit) is int for bit in Signature.of(np.array(ones_and_zeros)).bits)
    assert len(signature) == len(ones_and_zeros)
    assert signature.ones == ones_and_zeros.count(1)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        [],
        "012",
        "0 1",
        "0.1",
        "\u0660\u0661",  # digits of another script, which int() would take
        [0, 2],
        [-1],
        [0.5],
        [float("nan")],
        [None],
        [[0, 1]],
        np.zeros((2, 2)),
        5,
    ],
)
def test_anything_but_zeros_and_ones_is_refused(wrong):
    with pytest.raises(SignatureError, match=r"^a signature.*\bbit"):
        Signature.of(wrong)


@pytest.mark.parametrize("wrong", [(), (True,), (1.0,), ("1",), (2,), (np.int64(1),)])
def test_the_constructor_takes_plain_integers_only(wrong):
    with pytest.raises(SignatureError):
        Signature(wrong)


def test_the_bits_as_an_array_cannot_be_changed():
    array = Signature.of("011").array
    assert array.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_agreement_is_the_share_of_equal_bits():
    assert Signature.of("0110").agreement(Signature.of("0101")) == 0.5
    assert Signature.of("0110").agreement(Signature.of("0110")) == 1.0
    assert Signature.of("0110").agreement(Signature.of("1001")) == 0.0
    with pytest.raises(SignatureError, match="3 and 4 bits"):
        Signature.of("011").agreement(Signature.of("0110"))


# --- the share of ones


@given(length=lengths, share=shares, seed=st.integers(0, 2**32))
def test_the_share_of_ones_is_exact(length, share, seed):
    ones = count_of_ones(length, share)
    assert abs(ones - share * length) <= 0.5
    assert random_signature(length, share, np.random.default_rng(seed)).ones == ones
    keyed = keyed_signature(length, share, KEY, str(seed))
    assert (len(keyed), keyed.ones) == (length, ones)


def test_halves_of_a_bit_round_up():
    assert [count_of_ones(5, 0.5), count_of_ones(7, 0.5), count_of_ones(70, 0.5)] == [3, 4, 35]
    assert [count_of_ones(9, 0.0), count_of_ones(9, 1.0)] == [0, 9]


@pytest.mark.parametrize("draw", [lambda n, s: random_signature(n, s, np.random.default_rng(0)),
                                  lambda n, s: keyed_signature(n, s, KEY, "m")])  # fmt: skip
@pytest.mark.parametrize(
    ("length", "share", "reason"),
    [(0, 0.5, "0 bits"), (-3, 0.5, "-3 bits"), (4, -0.1, "-0.1"), (4, 1.1, "1.1"), (4, math.nan, "nan")],
)
def test_impossible_lengths_and_shares_are_refused(draw, length, share, reason):
    with pytest.raises(SignatureError, match=reason):
        draw(length, share)


# --- uniformity


def random_ones(number, length, ones_share):
    return random_signature(length, ones_share, np.random.default_rng(number))


def keyed_ones(number, length, ones_share):
    return keyed_signature(length, ones_share, KEY, f"model {number}")


@pytest.mark.parametrize("draw", [random_ones, keyed_ones])
def test_every_position_is_a_one_equally_often(draw):
    draws, length, share = 1500, 40, 0.3
    counts = np.sum([draw(number, length, share).array for number in range(draws)], axis=0, dtype=int)
    # The number of ones is fixed, which removes one degree of freedom and scales the variance.
    expected = draws * share
    statistic = np.sum((counts - expected) ** 2) / (expected * (1 - share)) * (length - 1) / length
    assert 0.001 < stats.chi2.sf(statistic, length - 1) < 0.999


@pytest.mark.parametrize("draw", [random_ones, keyed_ones])
def test_all_signatures_of_a_share_are_equally_likely(draw):
    draws = 4000
    counts = Counter(draw(number, 6, 0.5).bits for number in range(draws))
    assert len(counts) == math.comb(6, 3)
    assert 0.001 < stats.chisquare(list(counts.values())).pvalue < 0.999


# --- keyed signatures


def test_a_keyed_signature_never_changes():
    assert str(keyed_signature(24, 0.5, KEY, "forest-1")) == "110001001100001101101110"
    assert str(keyed_signature(10, 0.2, KEY * 4, "forêt")) == "0000001010"


@given(length=lengths, share=shares, key=st.binary(min_size=MIN_KEY_BYTES, max_size=64), model=st.text(
    st.characters(codec="utf-8"), max_size=8))  # fmt: skip
def test_a_keyed_signature_is_reproducible(length, share, key, model):
    assert keyed_signature(length, share, key, model) == keyed_signature(length, share, key, model)


def test_key_model_and_length_each_change_the_signature():
    keys = [KEY, KEY + b"\1", bytes(reversed(KEY)), b"\1" * MIN_KEY_BYTES]
    models = ["", "a", "b", "a\x1f60", "a\x1f61"]
    signatures = [keyed_signature(60, 0.5, key, model) for key, model in itertools.product(keys, models)]
    assert len(set(signatures)) == len(keys) * len(models)
    assert keyed_signature(60, 0.5, KEY, "a").bits != keyed_signature(61, 0.5, KEY, "a").bits[:60]


@pytest.mark.parametrize("size", [0, 1, MIN_KEY_BYTES - 1])
def test_a_short_key_is_refused(size):
    with pytest.raises(SignatureError, match=f"{size} bytes; at least {MIN_KEY_BYTES} are needed"):
        keyed_signature(10, 0.5, b"k" * size, "model")


# --- attackers


TREES, SHARE, CAMPAIGNS = 70, 0.5, 3000


def owner_signature(seed, repeat=0):
    return random_signature(TREES, SHARE, generator(seed, Role.OWNER_SIGNATURE, repeat))


def attacker_signature_of(seed, number, repeat=0):
    return attacker_signature(seed, number=number, length=TREES, ones_share=SHARE, repeat=repeat)


def independence_p_value(pairs):
    """Test the number of common ones of two signatures for its hypergeometric law, by chi-square."""
    shared = [int((one.array & other.array).sum()) for one, other in pairs]
    ones = count_of_ones(TREES, SHARE)
    law = stats.hypergeom(TREES, ones, ones)
    # Tails are pooled, so that each class is expected at least five times.
    low, high = int(law.ppf(6 / len(shared))), int(law.ppf(1 - 6 / len(shared)))
    values = np.arange(low + 1, high)
    expected = np.array([law.cdf(low), *law.pmf(values), law.sf(high - 1)]) * len(shared)
    assert expected.min() >= 5
    observed = Counter(int(np.clip(count, low, high)) for count in shared)
    return stats.chisquare([observed[value] for value in range(low, high + 1)], expected).pvalue


@pytest.fixture(scope="module")
def owners():
    return [owner_signature(seed) for seed in range(CAMPAIGNS)]


@pytest.mark.parametrize(("number", "repeat"), [(0, 0), (1, 0), (0, 1)])
def test_attacker_and_owner_agree_as_independent_signatures_do(owners, number, repeat):
    attackers = [attacker_signature_of(seed, number, repeat) for seed in range(CAMPAIGNS)]
    assert 0.001 < independence_p_value(zip(owners, attackers, strict=True)) < 0.999
    assert all(attacker != owner for attacker, owner in zip(attackers, owners, strict=True))


def test_attackers_signatures_are_independent_of_one_another():
    pairs = [(attacker_signature_of(seed, 0), attacker_signature_of(seed, 1)) for seed in range(CAMPAIGNS)]
    assert 0.001 < independence_p_value(pairs) < 0.999


def test_the_test_of_independence_detects_one_stream_for_owner_and_attacker():
    """The authors' artifact uses one seed for both: its first "random" signature is the owner's."""
    shared = [random_signature(TREES, SHARE, np.random.default_rng(seed)) for seed in range(CAMPAIGNS)]
    again = [random_signature(TREES, SHARE, np.random.default_rng(seed)) for seed in range(CAMPAIGNS)]
    assert shared == again
    assert independence_p_value(zip(shared, again, strict=True)) < 1e-100


def test_the_test_of_independence_detects_one_leak_in_twenty(owners):
    leaky = [owner if seed % 20 == 0 else attacker_signature_of(seed, 0) for seed, owner in enumerate(owners)]
    assert independence_p_value(zip(owners, leaky, strict=True)) < 1e-100


def test_no_attacker_ever_draws_the_owners_signature():
    for seed, repeat in itertools.product(range(40), range(3)):
        owners_bits = owner_signature(seed, repeat)
        numbers = range(10)
        attackers = {attacker_signature_of(seed, number, repeat) for number in numbers}
        assert len(attackers) == len(numbers)
        assert owners_bits not in attackers


def test_an_attackers_signature_does_not_depend_on_the_others():
    alone = attacker_signature_of(7, 5)
    for number in range(5):
        attacker_signature_of(7, number)
    assert attacker_signature_of(7, 5) == alone
