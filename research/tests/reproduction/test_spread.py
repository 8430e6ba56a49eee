"""A few numbers about a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.reproduction.spread import Spread


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_spread_is_ordered_and_single_values_have_none(values: list[float]) -> None:
    spread = Spread.of(values)
    assert min(values) <= spread.low + 1e-9
    assert spread.low <= np.median(values) + 1e-9
    assert np.median(values) <= spread.high + 1e-9
    assert spread.high <= spread.most + 1e-9
    assert spread.most == max(values)
    assert (spread.sd is None) == (len(values) == 1)
    if spread.sd is not None:
        assert spread.sd == pytest.approx(np.std(values, ddof=1))
