"""Reads damaged inputs and reports those that are not handled.

A damaged input must be refused with one clear line of a `WmError`, or be accepted with its original meaning.
Anything else is a failure. Used by `tests/test_damaged_inputs.py` and `research/benchmarks/fuzz_inputs.py`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.damage.damaging import Form, damaged
from wm.errors import WmError

LONGEST_LINE = 600
"""Largest number of characters of an error's text."""


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes
    ----------
    name
        Its name, with which errors must start.
    content
        A valid input.
    form
        How it can be damaged.
    read
        Reads an input, or raises a `WmError`.
    fault
        Returns the fault in the result of reading a damaged input, None if there is none.
    """

    name: str
    content: bytes
    form: Form
    read: Callable[[bytes], Any]
    fault: Callable[[Any], str | None]


@dataclass(frozen=True)
class Failure:
    """A damaged input that was not handled; seed and number reproduce it."""

    target: str
    seed: int
    number: int
    reason: str
    content: bytes


@dataclass(frozen=True)
class Tally:
    """Results of the damaged inputs of one kind."""

    refused: int
    accepted: int
    failures: tuple[Failure, ...]


def run(target: Target, count: int, seed: int) -> Tally:
    """Read `count` damaged inputs; each depends on its seed and number alone."""
    refused, accepted, failures = 0, 0, []
    for number in range(count):
        content = damaged(target.content, target.form, np.random.default_rng([seed, number]))
        reason: str | None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = target.read(content)
        except WmError as error:
            refused += 1
            reason = unclear(str(error), target.name)
        except Exception:  # the failures that are looked for
            reason = traceback.format_exc()
        else:
            accepted += 1
            reason = target.fault(found)
        if reason is not None:
            failures.append(Failure(target.name, seed, number, reason, content))
    return Tally(refused, accepted, tuple(failures))


def unclear(line: str, name: str) -> str | None:
    """Return the fault in an error's text, None if there is none."""
    if not line.startswith(f"{name}: ") or not line.isprintable() or len(line) > LONGEST_LINE:
        return f"not one clear line: {line[: 2 * LONGEST_LINE]!r}"
    return None
