"""Numbers in words and figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report import wording

_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@given(st.floats(-3000, 0))
def test_written_p_value_reads_back(log10_p: float) -> None:
    text = wording.p_value_of_log10(log10_p)
    if "10" not in text or " " not in text:
        assert float(text) == pytest.approx(10**log10_p, abs=0.00051)
        return
    mantissa, _, power = text.partition(" \N{MULTIPLICATION SIGN} 10")
    assert 1 <= float(mantissa) < 10
    back = math.log10(float(mantissa)) + int(power.translate(_PLAIN))
    assert back == pytest.approx(log10_p, abs=0.025)


def test_p_values_at_the_ends() -> None:
    assert wording.p_value(0.0) == "0"
    assert wording.p_value(1.0) == "1.000"
    assert wording.p_value_of_log10(1e-16) == "1.000"
    assert wording.p_value_of_log10(math.log10(9.99e-6)) == "1.0 × 10⁻⁵"  # noqa: RUF001 - as it is written


@given(st.floats(1e-6, 1e6))
def test_seconds_keep_three_digits_and_no_exponent(value: float) -> None:
    text = wording.seconds(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, rel=0.0051, abs=5.1e-7)


@pytest.mark.parametrize(("share", "text"), [(0.07, "7%"), (0.015, "1.5%"), (0.29, "29%"), (1.0, "100%")])
def test_shares_show_no_rounding_noise(share: float, text: str) -> None:
    assert wording.percent(share) == text


def test_differences_carry_their_sign() -> None:
    assert wording.signed(0.5) == "+0.50"
    assert wording.signed(-0.5) == "\N{MINUS SIGN}0.50"
    assert wording.signed(-0.001) == "0.00"


def test_lists_counts_and_moments() -> None:
    assert wording.listed([]) == ""
    assert wording.listed("a") == "a"
    assert wording.listed("abc") == "a, b and c"
    assert wording.counted(1, "query", "queries") == "1 query"
    assert wording.counted(2000, "query", "queries") == "2,000 queries"
    assert wording.ranged([3, 1, 2]) == "1 to 3"
    assert wording.moment(0.0) == "1970-01-01 00:00:00 UTC"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.5], "50%"),
        ([0.5, 0.5], "50%"),
        ([0.25, 0.75], "50% (25% to 75%)"),
        ([None, np.nan], "\N{EN DASH}"),
    ],
)
def test_samples_are_written_with_their_ends(values: list[float], text: str) -> None:
    assert wording.across(values, wording.percent_of) == text
    assert wording.across([*values, np.nan], wording.percent_of) == text


def test_a_narrow_interval_has_decimals() -> None:
    assert wording.interval(0, 1503) == "95% interval 0.00% to 0.25%"
    assert wording.interval(3, 10) == "95% interval 7% to 65%"
