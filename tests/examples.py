"""How many examples of a property are tried."""

from __future__ import annotations

from hypothesis import settings

_THOROUGH, _FLOOR = 100, 20


def examples(number: int) -> settings:
    """Return the setting of a property that needs more or fewer examples than most, as a decorator.

    Parameters
    ----------
    number
        Examples in the profile ``thorough`` of `tests/conftest.py`; in another one so many fewer as it has by
        default, but no fewer than 20 for that.
    """
    share = round(number * settings.default.max_examples / _THOROUGH)
    return settings(max_examples=max(share, min(number, _FLOOR)))
