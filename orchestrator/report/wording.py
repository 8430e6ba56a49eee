"""How a report writes numbers, p-values, dates and counted things."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec

import pandas as pd

from wm.statistics import clopper_pearson

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"
_CONFIDENCE = 0.95


P = ParamSpec("P")


@cache
def declared() -> dict[str, Any]:
    """Return what the TOML files next to the sections declare, all together.

    By section its first sentences (`lead`) and `terms` with their meanings; ``tables`` by name: caption, the
    frame of results whose column documentation the headings show, and columns (format, column of the
    aggregated frame, title, role); ``figures`` by name: title, caption and alt text.
    """
    found: dict[str, Any] = {"tables": {}, "figures": {}}
    for file in sorted((Path(__file__).parent / "sections").glob("*.toml")):
        for name, content in tomllib.loads(file.read_text(encoding="utf-8")).items():
            found.setdefault(name, {}).update(content)
    return found


def _or_dash(write: Callable[P, str]) -> Callable[P, str]:
    """Let a function write a dash for a number that is missing."""

    @wraps(write)
    def written(*values: P.args, **options: P.kwargs) -> str:
        first: Any = values[0]
        return MISSING if first is None or pd.isna(first) else write(*values, **options)

    return written


@_or_dash
def percent(share: float, digits: int | None = None) -> str:
    """Return a share in [0, 1] as a percentage, with as many decimals as asked for, or as needed."""
    return f"{share * 100:g}%" if digits is None else f"{share * 100:.{digits}f}%"


@_or_dash
def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


@_or_dash
def p_value(p: float) -> str:
    """Return a p-value in [0, 1]."""
    return p_value_of_log10(math.log10(p)) if p > 0 else "0"


@_or_dash
def p_value_of_log10(log10_p: float) -> str:
    """Return the p-value whose decimal logarithm is given: three decimals, or a power of ten."""
    if log10_p >= -3:
        return f"{10 ** min(log10_p, 0.0):.3f}"
    exponent = math.floor(log10_p)
    mantissa = f"{10 ** (log10_p - exponent):.1f}"
    if mantissa == "10.0":
        mantissa, exponent = "1.0", exponent + 1
    return f"{mantissa} \N{MULTIPLICATION SIGN} 10{str(exponent).translate(_SUPERSCRIPT)}"


@_or_dash
def seconds(value: float) -> str:
    """Return a duration in seconds with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"


@_or_dash
def number(value: float) -> str:
    """Return a mean of counts: whole if it is whole, else with two decimals."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def moment(seconds_since_1970: float) -> str:
    """Return a moment in UTC."""
    return datetime.fromtimestamp(seconds_since_1970, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a count with its noun; the plural is formed with an s unless it is given."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def listed(items: Iterable[str]) -> str:
    """Return a list in words: "a, b and c"."""
    parts = list(items)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def ranged(values: Iterable[float], write: str = "{:g}") -> str:
    """Return "a", or "a to b", from the smallest and the largest value; a dash without any."""
    known = [value for value in values if not pd.isna(value)]
    if not known:
        return MISSING
    low, high = write.format(min(known)), write.format(max(known))
    return low if low == high else f"{low} to {high}"


def percent_of(value: float) -> str:
    """Return a share as a percentage with a decimal only where it is not whole."""
    return percent(round(value, 3))


def across(sample: Iterable[float], write: Callable[[float], str], centre: str = "mean") -> str:
    """Return a sample's mean, or its median, with its ends where these read otherwise."""
    values = pd.Series(list(sample), dtype=float).dropna()
    if values.empty:
        return MISSING
    middle, low, high = (write(float(getattr(values, name)())) for name in (centre, "min", "max"))
    return middle if low == high else f"{middle} ({low} to {high})"


def interval(hits: int, trials: int) -> str:
    """Return the exact 95% interval of the chance of something that happened so often.

    A narrow one has more decimals: none of many trials does not mean a chance of 0%.
    """
    rate = clopper_pearson(hits, trials, _CONFIDENCE)
    width = rate.high - rate.low
    digits = 0 if width > 0.1 else 1 if width > 0.01 else 2
    return f"95% interval {percent(rate.low, digits)} to {percent(rate.high, digits)}"


def times(hits: int, trials: int, thing: str) -> str:
    """Return how often something happened, with the exact 95% interval of its chance."""
    return f"{hits:,} of {counted(trials, thing)} ({interval(hits, trials)})"


def sampled(
    name: str,
    middle: float,
    ends: tuple[float, float] | None = None,
    *,
    what: str = "",
    n: int | None = None,
    thing: str = "repeat",
    write: Callable[[float], str] = "{:.4g}".format,
) -> str:
    """Return what a mark of a chart shows: "mean 0.95 (0.93 to 0.96), n = 3 repeats".

    Parameters
    ----------
    name, middle
        What is shown, and its value.
    ends
        Low and high of its spread; left out where they are missing or read as the value does.
    what
        What the ends are, where they are not the smallest and the largest value.
    n, thing
        Size of the sample, and what it consists of.
    write
        Returns the text of a value.
    """
    known = ends is not None and not any(pd.isna(end) for end in ends)
    texts = [write(middle), *(write(end) for end in ends or () if known)]
    spread = f" ({f'{what}: ' if what else ''}{texts[1]} to {texts[2]})" if len(set(texts)) > 1 else ""
    return f"{name} {texts[0]}{spread}{'' if n is None else f', n = {counted(n, thing)}'}"
