"""How a report writes numbers, p-values, dates and counted things."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"


def percent(share: float, digits: int | None = None) -> str:
    """Return a share in [0, 1] as a percentage, with as many decimals as asked for, or as needed."""
    return f"{share * 100:g}%" if digits is None else f"{share * 100:.{digits}f}%"


def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def p_value(p: float) -> str:
    """Return a p-value in [0, 1]."""
    return p_value_of_log10(math.log10(p)) if p > 0 else "0"


def p_value_of_log10(log10_p: float) -> str:
    """Return the p-value whose decimal logarithm is given: three decimals, or a power of ten."""
    if log10_p >= -3:
        return f"{10 ** min(log10_p, 0.0):.3f}"
    exponent = math.floor(log10_p)
    mantissa = f"{10 ** (log10_p - exponent):.1f}"
    if mantissa == "10.0":
        mantissa, exponent = "1.0", exponent + 1
    return f"{mantissa} \N{MULTIPLICATION SIGN} 10{str(exponent).translate(_SUPERSCRIPT)}"


def seconds(value: float) -> str:
    """Return a duration in seconds with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"


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


def ranged(values: Collection[float], write: str = "{:g}") -> str:
    """Return "a", or "a to b", from the least and the greatest value."""
    least, most = write.format(min(values)), write.format(max(values))
    return least if least == most else f"{least} to {most}"
